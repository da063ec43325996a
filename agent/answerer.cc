#include "agent/answerer.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/first_words.h"
#include "agent/relay_name.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "native/agent_places.h"
#include "os/socket.h"

namespace atl::agent {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);
constexpr int kBacklog = 16;
constexpr int kHeardMs = 1000;
// Above every place that something is put into.
constexpr int kAside = 64;

Micros now() { return system_clock().boot(); }

std::string greeting(char first) {
  ByteWriter words;
  words.u8(static_cast<uint8_t>(first));
  words.i64(now().count());
  return std::move(words).bytes();
}

bool say(const Fd& connection, const std::string& words) {
  const auto sent = os::send_some(connection.get(), words);
  return sent && *sent == words.size();
}

Result<Fd> listen_by_name() {
  Fd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return os_error("making a socket");
  listener.move_up(kAside);
  const auto [address, size] = relay_address();
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      listen(listener.get(), kBacklog) != 0)
    return os_error("listening for a relay");
  return listener;
}

Result<Fd> await_relay(const Fd& listener, Micros until) {
  for (;;) {
    const auto left = std::chrono::duration_cast<Millis>(until - now()).count();
    pollfd wait{listener.get(), POLLIN, 0};
    if (left <= 0 || poll(&wait, 1, static_cast<int>(left)) == 0)
      return Error(Code::deadline_exceeded, "nobody has come in time");
    auto come = os::accept_from(listener);
    if (come) return come;
  }
}

}  // namespace

Result<> answer_first() {
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const Micros until = now() + kPatience;
  TRY(const auto listener, listen_by_name());
  for (;;) {
    TRY(auto come, await_relay(listener, until));
    if (!say(come, greeting(native::kCallNew))) continue;
    auto told = take_first_words(std::move(come), until);
    // One that was broken off comes again.
    if (!told && told.error().code() == Code::unavailable) continue;
    TRY_OK(told);
    break;
  }
  if (dup2(listener.get(), native::kAgentListener) < 0) return os_error("placing the listener");
  return {};
}

bool greet_again(const Fd& connection) { return say(connection, greeting(native::kCallAgain)); }

void wait_until_heard(const Fd& connection) {
  pollfd wait{connection.get(), POLLRDHUP, 0};
  poll(&wait, 1, kHeardMs);
}

}  // namespace atl::agent
