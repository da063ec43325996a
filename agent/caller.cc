#include "agent/caller.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#include "agent/first_words.h"
#include "base/clock.h"
#include "native/agent_places.h"
#include "os/socket.h"

namespace atl::agent {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);
constexpr int kPauseMs = 20;
// What an engine adds to what the image says.
constexpr std::string_view kOfTheEngine[] = {"HOME", "HOSTNAME", "TERM", "container"};

Micros now() { return system_clock().boot(); }

Result<Fd> call(const std::string& path, char greeting) {
  // While nobody waits there is no socket of ours, either, which somebody who keeps our memory just
  // then would have to keep.
  if (access(path.c_str(), F_OK) != 0) return os_error("calling", path);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error(Code::invalid_argument, "the socket's path is too long");
  std::memcpy(address.sun_path, path.data(), path.size());
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return os_error("making a socket");
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return os_error("calling", path);
  TRY(const size_t sent, os::send_some(fd.get(), {&greeting, 1}));
  if (sent != 1) return Error(Code::unavailable, "the greeting was not taken");
  return fd;
}

}  // namespace

Result<> call_first(const std::string& socket) {
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const Micros until = now() + kPatience;
  auto called = call(socket, native::kCallNew);
  while (!called && now() < until) {
    poll(nullptr, 0, kPauseMs);
    called = call(socket, native::kCallNew);
  }
  if (!called) return std::move(called).error();
  return take_first_words(*std::move(called), until);
}

std::map<std::string, std::string> image_environment() {
  std::map<std::string, std::string> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    if (std::ranges::find(kOfTheEngine, name) == std::end(kOfTheEngine))
      found.emplace(name, text.substr(equals + 1));
  }
  return found;
}

Result<Fd> call_again(const std::string& socket) { return call(socket, native::kCallAgain); }

}  // namespace atl::agent
