#include "agent/agent.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "agent/caller.h"
#include "agent/gate.h"
#include "guest/refusal.h"
#include "native/seccomp.h"
#include "os/file.h"
#include "os/socket.h"

namespace atl::agent {
namespace {

constexpr size_t kMostConnections = 64;
constexpr size_t kLargestFacts = 64 * 1024;
constexpr int kLastInherited = 63;
// How often an agent that has lost its connection looks whether somebody waits for it.
constexpr Micros kCallPace = Millis(100);

Result<std::string> read_inherited(int number, size_t limit) {
  Fd fd(number);
  std::string bytes;
  char buffer[4096];
  for (;;) {
    const ssize_t got = read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error("reading the agent's configuration");
    if (got == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(got));
    if (bytes.size() > limit)
      return Error(Code::too_large, "the agent's configuration is too large");
  }
}

// What every command inherits, from before anybody can have given us anything to read.
Result<> confine_ourselves(const native::BoxFacts& facts) {
  if (!facts.boxed || facts.without.has(native::Layer::seccomp)) return {};
  auto filter =
      native::sandbox_filter({.allow_ptrace = facts.allow_ptrace,
                              .allow_clone3 = facts.cgroup_version == native::CgroupVersion::v2});
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
    return os_error("applying seccomp");
  return {};
}

Result<Fd> take_signals() {
  sigset_t mask;
  sigemptyset(&mask);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, ProcFiles::read_signal()})
    sigaddset(&mask, number);
  if (sigprocmask(SIG_BLOCK, &mask, nullptr) != 0) return os_error("blocking signals");
  signal(SIGPIPE, SIG_IGN);
  Fd fd(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return os_error("making a signalfd");
  return fd;
}

}  // namespace

Agent::Agent(os::Poller poller, Jail jail, std::string token, Fd signals, std::string socket)
    : poller_(std::move(poller)),
      jail_(std::move(jail)),
      token_(std::move(token)),
      signals_(std::move(signals)),
      listener_(socket.empty() ? native::kAgentListener : -1),
      socket_(std::move(socket)),
      processes_(poller_, jail_, jail_.take_groups(),
                 [this](pid_t pid) { proc_files_.command_began(pid); }),
      sudo_door_(poller_, jail_, processes_),
      proc_files_(jail_.take_proc_files(), jail_.facts().memory_bytes, jail_.facts().processors,
                  [this] { return processes_.work_usage(); }) {}

Result<std::unique_ptr<Agent>> Agent::create(std::string socket) {
  // Not readable and not traceable by a command that has the same uid.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return os_error("becoming a subreaper");
  umask(022);
  // What the launcher has given us; the rest it has closed, and only a test leaves any.
  if (syscall(SYS_close_range, native::kAgentConnection, kLastInherited, CLOSE_RANGE_CLOEXEC) !=
      0) {
    // Linux before 5.11.
    for (int fd = native::kAgentConnection; fd <= kLastInherited; ++fd)
      fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  TRY(auto encoded, read_inherited(native::kAgentConfig, native::kLargestConfig));
  TRY(auto config, native::decode_agent_config(encoded));
  TRY(auto token, read_inherited(native::kAgentToken, kLargestFacts));
  if (token.size() < native::kTokenBytes)
    return Error(Code::invalid_argument, "the agent's token is cut short");
  TRY(auto facts, native::decode_box_facts(std::string_view(token).substr(native::kTokenBytes)));
  token.resize(native::kTokenBytes);
  TRY_OK(check_second_kernel(facts.outer_kernel));
  TRY_OK(confine_ourselves(facts));
  TRY(auto jail, Jail::create(std::move(config), std::move(facts)));
  TRY(auto poller, os::Poller::create());
  TRY(auto signals, take_signals());

  std::unique_ptr<Agent> agent(new Agent(std::move(poller), std::move(jail), std::move(token),
                                         std::move(signals), std::move(socket)));
  TRY_OK(agent->listen());
  return agent;
}

Result<> Agent::listen() {
  TRY_OK(poller_.add(signals_.get(), EPOLLIN, [this](uint32_t) { on_signal(); }));
  if (listener_) TRY_OK(poller_.add(listener_.get(), EPOLLIN, [this](uint32_t) { accept(); }));
  add_connection(Fd(native::kAgentConnection), Preface::none);
  first_ = connections_.front().get();
  return sudo_door_.open();
}

void Agent::add_connection(Fd socket, Preface preface) {
  auto connection = std::make_unique<Connection>(
      std::move(socket), preface, token_, poller_, jail_, processes_, [this](Connection& closed) {
        // Closed without a word: who was to be told of this sandbox died before, and nobody else
        // knows that it is there.
        const auto& config = jail_.config();
        if (&closed == first_ &&
            (config.dies_with_connection || config.parked || !closed.was_greeted())) {
          ending_ = true;
        }
        processes_.forget(closed);
      });
  if (connection->start()) connections_.push_back(std::move(connection));
}

void Agent::accept() {
  const bool is_gated = jail_.is_behind_gate();
  auto socket = is_gated ? take_from_gate(listener_) : os::accept_from(listener_);
  if (is_gated && !socket) ending_ = true;
  if (socket && *socket && connections_.size() < kMostConnections)
    add_connection(std::move(*socket), Preface::token);
}

void Agent::call_home() {
  const Micros now = system_clock().boot();
  if (!is_alone() || now < next_call_) return;
  next_call_ = now + kCallPace;
  if (auto socket = call_again(socket_)) add_connection(std::move(*socket), Preface::none);
}

void Agent::on_signal() {
  // Level-triggered: what does not fit comes with the next turn.
  std::array<signalfd_siginfo, 8> infos;
  const ssize_t bytes = read(signals_.get(), infos.data(), sizeof infos);
  bool child_ended = false;
  bool was_read = false;
  for (size_t i = 0; bytes > 0 && i < static_cast<size_t>(bytes) / sizeof infos[0]; ++i) {
    const auto number = static_cast<int>(infos[i].ssi_signo);
    if (number == SIGCHLD) {
      child_ended = true;
    } else if (number == ProcFiles::read_signal()) {
      was_read = true;
    } else if (!jail_.is_box() || infos[i].ssi_pid == 0) {
      // In a pid namespace of our own a sender without a number is outside; others have no say.
      ending_ = true;
    }
  }
  if (child_ended) processes_.reap();
  if (was_read) proc_files_.was_read();
}

void Agent::drop_closed() {
  for (auto it = connections_.begin(); it != connections_.end();) {
    if ((*it)->is_closed()) {
      processes_.forget(**it);
      if (it->get() == first_) {
        first_ = nullptr;
        if (jail_.config().dies_with_connection) ending_ = true;
      }
      it = connections_.erase(it);
    } else {
      (*it)->flush();
      ++it;
    }
  }
}

Micros Agent::next_deadline() const {
  Micros next{0};
  for (const Micros due :
       {processes_.next_deadline(), proc_files_.next_deadline(), sudo_door_.next_deadline(),
        jail_.config().expires_at, is_alone() ? std::max(next_call_, Micros(1)) : Micros(0)}) {
    if (due.count() > 0 && (next.count() == 0 || due < next)) next = due;
  }
  for (const auto& connection : connections_) {
    const Micros due = connection->next_deadline();
    if (due.count() > 0 && (next.count() == 0 || due < next)) next = due;
  }
  return next;
}

int Agent::run() {
  const auto is_due = [this] {
    const Micros end = jail_.config().expires_at;
    return end.count() > 0 && system_clock().boot() >= end;
  };
  while (!ending_ && !is_due()) {
    if (!poller_.wait(next_deadline())) return 1;
    call_home();
    processes_.end_overdue();
    sudo_door_.send_away_the_silent();
    drop_closed();
    // After the answers are out.
    proc_files_.refresh();
    processes_.tidy();
  }
  const bool has_expired = !ending_;
  const int left = processes_.end_all();
  drop_closed();
  if (has_expired) return native::kAgentExpired;
  return left == 0 ? native::kAgentLeftNothing : 1;
}

void tell_why_not(const Error& error) {
  const Fd socket(native::kAgentConnection);
  guest::refuse_first_call(socket.get(), error);
}

}  // namespace atl::agent
