#include "agent/relay.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "agent/relay_name.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

namespace atl::agent {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);
constexpr int kPauseMs = 10;
constexpr size_t kBuffer = 64 * 1024;

// The agent may not have come that far yet.
Result<Fd> reach_agent() {
  const Micros until = system_clock().boot() + kPatience;
  const auto [address, size] = relay_address();
  for (;;) {
    Fd agent(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!agent) return os_error("making a socket");
    if (connect(agent.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) return agent;
    if (system_clock().boot() >= until) return os_error("reaching the agent");
    poll(nullptr, 0, kPauseMs);
  }
}

// One direction. What was read is written before more is read.
class Flow final {
 public:
  Flow(int from, int to, size_t at_once) : from_(from), to_(to), at_once_(at_once) {}

  pollfd source() const { return {has_more() || is_stopped_ ? -1 : from_, POLLIN, 0}; }
  pollfd target() const { return {has_more() && !is_stopped_ ? to_ : -1, POLLOUT, 0}; }
  // Whoever reads has gone: nothing is read any more, either.
  bool is_stopped() const { return is_stopped_; }

  // False at the end of what is read.
  bool go_on(short from, short to) {
    if (from != 0) {
      const ssize_t got = read(from_, buffer_.data(), buffer_.size());
      if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return false;
      begin_ = 0;
      end_ = got > 0 ? static_cast<size_t>(got) : 0;
    } else if (to != 0) {
      const ssize_t put = write(to_, buffer_.data() + begin_, std::min(at_once_, end_ - begin_));
      is_stopped_ = put < 0 && errno != EINTR && errno != EAGAIN;
      if (put > 0) begin_ += static_cast<size_t>(put);
    }
    return true;
  }

 private:
  bool has_more() const { return begin_ < end_; }

  const int from_, to_;
  const size_t at_once_;
  std::array<char, kBuffer> buffer_;
  size_t begin_ = 0, end_ = 0;
  bool is_stopped_ = false;
};

}  // namespace

int run_relay() {
  // What passes through is not for commands to read.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  auto agent = reach_agent();
  if (!agent) {
    std::fprintf(stderr, "atoll-agent: %s\n", agent.error().message().c_str());
    return 1;
  }
  signal(SIGPIPE, SIG_IGN);
  Flow in(STDIN_FILENO, agent->get(), kBuffer);
  // Stdout is the engine's and may block: so much a pipe always takes that takes anything.
  Flow out(agent->get(), STDOUT_FILENO, PIPE_BUF);
  for (;;) {
    pollfd ready[] = {in.source(), in.target(), out.source(), out.target()};
    if (poll(ready, std::size(ready), -1) < 0 && errno != EINTR) return 1;
    // An agent that hears nobody any more may still have said something.
    if (!in.go_on(ready[0].revents, ready[1].revents) ||
        !out.go_on(ready[2].revents, ready[3].revents) || out.is_stopped())
      return 0;
  }
}

}  // namespace atl::agent
