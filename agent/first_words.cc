#include "agent/first_words.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/bytes.h"
#include "native/agent_config.h"
#include "os/file.h"

namespace atl::agent {
namespace {

constexpr size_t kLargestFacts = 64 * 1024;
// Above every place that something is put into.
constexpr int kAside = 64;

Micros now() { return system_clock().boot(); }

Result<std::string> read_exactly(int socket, size_t size, Micros until) {
  std::string bytes(size, '\0');
  size_t have = 0;
  while (have < size) {
    const auto left = std::chrono::duration_cast<Millis>(until - now()).count();
    pollfd wait{socket, POLLIN, 0};
    if (left <= 0 || poll(&wait, 1, static_cast<int>(left)) <= 0)
      return Error(Code::deadline_exceeded, "the configuration did not come in time");
    const ssize_t got = read(socket, bytes.data() + have, size - have);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return os_error("reading the configuration");
    if (got == 0) return Error(Code::unavailable, "the caller has gone");
    have += static_cast<size_t>(got);
  }
  return bytes;
}

Result<std::string> read_part(int socket, size_t limit, Micros until) {
  TRY(const auto head, read_exactly(socket, sizeof(uint32_t), until));
  const uint32_t size = ByteReader(head).u32();
  if (size > limit) return Error(Code::too_large, "the configuration is too large");
  return read_exactly(socket, size, until);
}

Result<> place_bytes(int place, const std::string& bytes) {
  const Fd file(memfd_create("atoll-agent", MFD_CLOEXEC));
  if (!file) return os_error("making a memory file");
  TRY_OK(os::write_all(file.get(), bytes));
  if (lseek(file.get(), 0, SEEK_SET) != 0) return os_error("rewinding a memory file");
  if (dup2(file.get(), place) < 0) return os_error("placing the configuration");
  return {};
}

}  // namespace

Result<> check_rights() {
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  __user_cap_data_struct held[2]{};
  if (syscall(SYS_capget, &header, held) != 0) return os_error("looking at our capabilities");
  const bool is_bare = getuid() != 0 && (held[0].permitted | held[1].permitted) == 0 &&
                       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
  if (is_bare) return {};
  return Error(Code::permission_denied,
               "the engine has given the sandbox more rights than were asked for")
      .with_hint("look for defaults in the engine's own configuration that add capabilities");
}

Result<> take_first_words(Fd connection, Micros until) {
  connection.move_up(kAside);
  TRY(const auto config, read_part(connection.get(), native::kLargestConfig, until));
  TRY(const auto facts, read_part(connection.get(), native::kTokenBytes + kLargestFacts, until));
  // Before anything can be refused: the refusal goes over it.
  if (dup2(connection.get(), native::kAgentConnection) < 0)
    return os_error("placing the connection");
  TRY_OK(check_rights());
  TRY_OK(place_bytes(native::kAgentConfig, config));
  return place_bytes(native::kAgentToken, facts);
}

}  // namespace atl::agent
