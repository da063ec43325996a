#include "agent/gate.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "native/agent_places.h"
#include "native/oci/gate.h"
#include "os/file.h"
#include "os/socket.h"

namespace atl::agent {
namespace {

constexpr int kPatienceMs = 20'000;
// Above the places that they go to.
constexpr int kAside = 64;

Result<> place(int fd, int number) {
  if (dup2(fd, number) < 0) return os_error("placing the agent's descriptors");
  return {};
}

Result<FirstPacket> receive_first(int gate) {
  std::array<char, 16> word;
  TRY(auto received, os::receive_some(gate, word));
  auto& given = received.descriptors;
  if (given.size() + 1 < native::kGateDescriptors || given.size() > native::kGateDescriptors)
    return Error(Code::invalid_argument, "the wrong things came through the gate");
  FirstPacket first;
  for (auto& fd : given) fd.move_up(kAside);
  first.config = std::move(given[0]);
  first.token = std::move(given[1]);
  if (given.size() == native::kGateDescriptors) first.connection = std::move(given[2]);
  return first;
}

}  // namespace

Result<> come_in_by_gate() {
  Fd gate(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, kAside));
  pollfd wait{STDIN_FILENO, POLLIN, 0};
  if (!gate || poll(&wait, 1, kPatienceMs) <= 0)
    return Error(Code::deadline_exceeded, "nothing came through the gate");
  TRY(const auto first, receive_first(gate.get()));
  if (!first.connection) return Error(Code::invalid_argument, "nobody waits for the agent");
  TRY_OK(place(first.connection.get(), native::kAgentConnection));
  TRY_OK(place(first.config.get(), native::kAgentConfig));
  TRY_OK(place(first.token.get(), native::kAgentToken));
  TRY_OK(place(gate.get(), native::kAgentListener));
  TRY(const auto nothing, os::open_at(AT_FDCWD, "/dev/null", O_RDONLY));
  TRY_OK(place(nothing.get(), STDIN_FILENO));
  TRY_OK(os::send_some(native::kAgentListener, native::kGateWord));
  return {};
}

Result<FromGate> take_from_gate(const Fd& gate) {
  std::array<char, 16> word;
  auto received = os::receive_some(gate.get(), word);
  if (!received && received.error().os_errno() == EAGAIN) return FromGate();
  if (!received || received->bytes == 0) return Error(Code::unavailable, "the gate has closed");
  FromGate brought;
  brought.is_rest = std::string_view(word.data(), received->bytes) == native::kRestWord;
  if (received->descriptors.size() == 1) brought.connection = std::move(received->descriptors[0]);
  return brought;
}

Result<FirstPacket> rest_at_gate(const Fd& gate) {
  TRY_OK(os::send_some(gate.get(), native::kRestWord));
  for (;;) {
    pollfd wait{gate.get(), POLLIN, 0};
    // Its gatekeeper is the one who waits with a deadline.
    if (poll(&wait, 1, -1) < 0 && errno != EINTR) return os_error("resting at the gate");
    auto first = receive_first(gate.get());
    if (first || first.error().os_errno() != EAGAIN) return first;
  }
}

Result<> answer_at_gate(const Fd& gate) {
  TRY_OK(os::send_some(gate.get(), native::kGateWord));
  return {};
}

Result<> check_second_kernel(const std::string& outer_kernel) {
  if (outer_kernel.empty()) return {};
  utsname name{};
  uname(&name);
  if (std::string(name.release) + " " + name.version != outer_kernel) return {};
  return Error(Code::unavailable, "the sandbox is in the host's own kernel, not in a second one")
      .with_hint("is runsc what it should be? reinstall the package");
}

}  // namespace atl::agent
