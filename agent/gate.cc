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

}  // namespace

Result<> come_in_by_gate() {
  Fd gate(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, kAside));
  pollfd wait{STDIN_FILENO, POLLIN, 0};
  if (!gate || poll(&wait, 1, kPatienceMs) <= 0)
    return Error(Code::deadline_exceeded, "nothing came through the gate");
  std::array<char, 16> word;
  TRY(auto received, os::receive_some(gate.get(), word));
  if (received.descriptors.size() != native::kGateDescriptors)
    return Error(Code::invalid_argument, "the wrong things came through the gate");
  for (auto& fd : received.descriptors) fd.move_up(kAside);
  TRY_OK(place(received.descriptors[0].get(), native::kAgentConnection));
  TRY_OK(place(received.descriptors[1].get(), native::kAgentConfig));
  TRY_OK(place(received.descriptors[2].get(), native::kAgentToken));
  TRY_OK(place(gate.get(), native::kAgentListener));
  TRY(const auto nothing, os::open_at(AT_FDCWD, "/dev/null", O_RDONLY));
  TRY_OK(place(nothing.get(), STDIN_FILENO));
  TRY_OK(os::send_some(native::kAgentListener, native::kGateWord));
  return {};
}

Result<Fd> take_from_gate(const Fd& gate) {
  std::array<char, 16> word;
  auto received = os::receive_some(gate.get(), word);
  if (!received && received.error().os_errno() == EAGAIN) return Fd();
  if (!received || received->bytes == 0) return Error(Code::unavailable, "the gate has closed");
  if (received->descriptors.size() != 1) return Fd();
  return std::move(received->descriptors[0]);
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
