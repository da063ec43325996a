#include "agent/sudo/door.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "native/plan.h"
#include "os/socket.h"

namespace atl::agent {
namespace {

constexpr size_t kMostVisitors = 64;
constexpr auto kPatience = std::chrono::seconds(5);

Micros now() { return system_clock().boot(); }

sudo::Answer refusal(const Error& error) {
  std::string why = error.message();
  if (!error.hint().empty()) why += " (" + error.hint() + ")";
  return {.refused = why, .exit_code = 1};
}

sudo::Answer ended(int wait_status) {
  if (WIFEXITED(wait_status)) return {.refused = "", .exit_code = WEXITSTATUS(wait_status)};
  const int signal = WTERMSIG(wait_status);
  return {.refused = "", .exit_code = 128 + signal, .signal = signal};
}

}  // namespace

struct SudoDoor::Visitor {
  Fd socket;
  Micros asks_until{0};  // zero = has asked
  pid_t command = 0;     // zero = none runs
};

SudoDoor::SudoDoor(os::Poller& poller, const Jail& jail, ProcessTable& processes)
    : poller_(poller), jail_(jail), processes_(processes) {}

SudoDoor::~SudoDoor() = default;

Result<> SudoDoor::open() {
  if (!jail_.is_box()) return {};
  Fd listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return os_error("making a socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, sudo::kDoor.data(), sudo::kDoor.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + sudo::kDoor.size());
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      listen(listener.get(), kMostVisitors) != 0) {
    return os_error("opening the door for sudo");
  }
  listener_ = std::move(listener);
  return poller_.add(listener_.get(), EPOLLIN, [this](uint32_t) { accept(); });
}

void SudoDoor::accept() {
  auto socket = os::accept_from(listener_);
  if (!socket) return;
  auto visitor = std::make_unique<Visitor>(std::move(*socket), now() + kPatience);
  if (visitors_.size() >= kMostVisitors) {
    answer(*visitor, refusal(Error(Code::resource_exhausted, "64 others are already at it")));
    return;
  }
  Visitor& entered = *visitors_.emplace_back(std::move(visitor));
  auto watched =
      poller_.add(entered.socket.get(), EPOLLIN, [this, &entered](uint32_t) { hear(entered); });
  if (!watched) leave(entered);
}

void SudoDoor::hear(Visitor& visitor) {
  static char buffer[sudo::kLargestAsk];
  auto received = os::receive_some(visitor.socket.get(), buffer);
  if (!received && received.error().os_errno() == EAGAIN) return;
  if (!received || received->bytes == 0) return leave(visitor);
  const std::string_view bytes(buffer, received->bytes);
  if (visitor.command != 0) {
    // As from a terminal: to all that have not left the command's own session.
    const int number = static_cast<unsigned char>(bytes[0]);
    if (bytes.size() == 1 && number >= 1 && number <= 64) ::kill(-visitor.command, number);
    return;
  }
  if (visitor.asks_until.count() == 0) return leave(visitor);
  visitor.asks_until = Micros(0);
  if (auto begun = begin(visitor, bytes, std::move(received->descriptors)); !begun) {
    answer(visitor, refusal(begun.error()));
    leave(visitor);
  }
}

Result<> SudoDoor::begin(Visitor& visitor, std::string_view bytes, std::vector<Fd> descriptors) {
  TRY(const auto peer, os::peer_of(visitor.socket.get()));
  if (jail_.facts().rootless) {
    return Error(Code::unsupported, "this sandbox has no other user: its driver is rootless");
  }
  if (peer.uid != 0 && peer.uid != native::kUserId) {
    return Error(Code::permission_denied,
                 "user " + std::to_string(peer.uid) + " may not run commands as somebody else");
  }
  TRY(auto ask, sudo::decode_ask(bytes));
  struct stat place{};
  if (descriptors.size() != sudo::kDescriptors || fstat(descriptors[3].get(), &place) != 0 ||
      !S_ISDIR(place.st_mode)) {
    return Error(Code::invalid_argument, "stdin, stdout, stderr and a directory are missing");
  }
  guest::Exec request;
  request.argv = std::move(ask.argv);
  request.env = std::move(ask.env);
  request.user = ask.user.empty() ? "root" : std::move(ask.user);
  const int stdio[3] = {descriptors[0].get(), descriptors[1].get(), descriptors[2].get()};
  TRY(visitor.command,
      processes_.start_beside(peer.pid, request, descriptors[3].get(), stdio, [&](int status) {
        visitor.command = 0;
        answer(visitor, ended(status));
        leave(visitor);
      }));
  return {};
}

// One small packet into an empty socket: it fits, or nobody is there to read it.
void SudoDoor::answer(Visitor& visitor, const sudo::Answer& answer) {
  static_cast<void>(os::send_some(visitor.socket.get(), encode(answer)));
}

void SudoDoor::leave(Visitor& visitor) {
  if (visitor.command != 0) processes_.kill_beside(visitor.command);
  poller_.remove(visitor.socket.get());
  std::erase_if(visitors_, [&](const auto& each) { return each.get() == &visitor; });
}

Micros SudoDoor::next_deadline() const {
  Micros next{0};
  for (const auto& visitor : visitors_) {
    const Micros until = visitor->asks_until;
    if (until.count() > 0 && (next.count() == 0 || until < next)) next = until;
  }
  return next;
}

void SudoDoor::send_away_the_silent() {
  const Micros moment = now();
  std::vector<Visitor*> silent;
  for (const auto& visitor : visitors_) {
    if (visitor->asks_until.count() > 0 && visitor->asks_until <= moment)
      silent.push_back(visitor.get());
  }
  for (Visitor* visitor : silent) leave(*visitor);
}

}  // namespace atl::agent
