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
#include <cstring>

#include "agent/answerer.h"
#include "agent/caller.h"
#include "agent/gate.h"
#include "agent/ready_filter.h"
#include "guest/refusal.h"
#include "os/file.h"
#include "os/signals.h"
#include "os/socket.h"

namespace atl::agent {
namespace {

constexpr size_t kMostConnections = 64;
constexpr size_t kLargestFacts = 64 * 1024;
constexpr int kLastInherited = 63;
// How often an agent that has lost its connection looks whether somebody waits for it.
constexpr Micros kCallPace = Millis(100);

Result<std::string> read_given(Fd fd, size_t limit) {
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

struct Told {
  native::AgentConfig config;
  native::BoxFacts facts;
  std::string token;
};

Result<Told> read_told(Fd config, Fd token) {
  Told told;
  TRY(const auto encoded, read_given(std::move(config), native::kLargestConfig));
  TRY(told.config, native::decode_agent_config(encoded));
  TRY(told.token, read_given(std::move(token), kLargestFacts));
  if (told.token.size() < native::kTokenBytes)
    return Error(Code::invalid_argument, "the agent's token is cut short");
  TRY(told.facts,
      native::decode_box_facts(std::string_view(told.token).substr(native::kTokenBytes)));
  told.token.resize(native::kTokenBytes);
  return told;
}

// What every command inherits, from before anybody can have given us anything to read.
Result<> confine_ourselves(const native::BoxFacts& facts) {
  if (!facts.boxed || facts.without.has(native::Layer::seccomp)) return {};
  const auto filter =
      ready_filter({.allow_ptrace = facts.allow_ptrace,
                    .allow_clone3 = facts.cgroup_version == native::CgroupVersion::v2});
  // The kernel copies it; only the type of the pointer has forgotten that.
  const sock_fprog program{static_cast<unsigned short>(filter.size()),
                           const_cast<sock_filter*>(filter.data())};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
    return os_error("applying seccomp");
  return {};
}

}  // namespace

Agent::Agent(os::Poller poller, Jail jail, std::string token, Fd signals, Entry entry,
             std::string socket)
    : poller_(std::move(poller)),
      jail_(std::move(jail)),
      token_(std::move(token)),
      signals_(std::move(signals)),
      entry_(entry),
      listener_(entry == Entry::caller ? -1 : native::kAgentListener),
      socket_(std::move(socket)),
      processes_(poller_, jail_, jail_.take_groups(),
                 [this](pid_t pid) { proc_files_.command_began(pid); }),
      sudo_door_(poller_, jail_, processes_),
      proc_files_(jail_.take_proc_files(), jail_.facts().memory_bytes, jail_.facts().processors,
                  [this] { return processes_.work_usage(); }) {}

Result<std::unique_ptr<Agent>> Agent::create(Entry entry, std::string socket) {
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
  TRY(auto told, read_told(Fd(native::kAgentConfig), Fd(native::kAgentToken)));
  const bool is_of_an_engine = entry == Entry::caller || entry == Entry::answerer;
  if (is_of_an_engine) told.config.env.merge(image_environment());
  TRY_OK(check_second_kernel(told.facts.outer_kernel));
  TRY_OK(confine_ourselves(told.facts));
  TRY(auto jail, Jail::create(std::move(told.config), std::move(told.facts)));
  TRY(auto poller, os::Poller::create());
  const int watched[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, ProcFiles::read_signal()};
  TRY(auto signals, os::take_signals(watched));

  std::unique_ptr<Agent> agent(new Agent(std::move(poller), std::move(jail), std::move(told.token),
                                         std::move(signals), entry, std::move(socket)));
  if (entry == Entry::answerer) agent->processes_.spare_relays();
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
        if ((&closed == first_ || closed.has_become()) &&
            (config.dies_with_connection || config.parked || !closed.was_greeted())) {
          ending_ = true;
        }
        processes_.forget(closed);
      });
  if (connection->start()) connections_.push_back(std::move(connection));
}

void Agent::accept() {
  Fd socket;
  if (entry_ == Entry::gate) {
    auto brought = take_from_gate(listener_);
    if (!brought) ending_ = true;
    // Which ends in a sandbox that knows us, or nowhere.
    if (brought && brought->is_rest && !rest()) ending_ = true;
    if (brought) socket = std::move(brought->connection);
  } else if (auto accepted = os::accept_from(listener_)) {
    socket = std::move(*accepted);
  }
  if (!socket) return;
  if (entry_ == Entry::answerer) {
    make_room();
    if (!greet_again(socket)) return;
  }
  if (connections_.size() < kMostConnections) add_connection(std::move(socket), Preface::token);
}

void Agent::let_go_of_all() {
  for (const auto& connection : connections_) processes_.forget(*connection);
  first_ = nullptr;
  connections_.clear();
}

Result<> Agent::rest() {
  let_go_of_all();
  // It is of no use to whoever goes on from here, and need not be kept with the rest of us.
  explicit_bzero(token_.data(), token_.size());
  TRY(auto first, rest_at_gate(listener_));
  TRY(auto told, read_told(std::move(first.config), std::move(first.token)));
  TRY_OK(check_second_kernel(told.facts.outer_kernel));
  token_ = std::move(told.token);
  // Where nobody waits it is the same sandbox, which may have been told more than its first words:
  // one that was parked has its environment since it was handed over.
  if (!first.connection) told.config = jail_.config();
  jail_.take_up(std::move(told.config), std::move(told.facts));
  if (first.connection) {
    add_connection(std::move(first.connection), Preface::none);
    first_ = connections_.back().get();
  }
  return answer_at_gate(listener_);
}

// The guest can connect to an answerer as well, and keep its connections without ever showing a
// token: the oldest of those goes.
void Agent::make_room() {
  if (connections_.size() < kMostConnections) return;
  const auto idle = std::ranges::find_if(
      connections_, [](const auto& connection) { return !connection->was_greeted(); });
  if (idle == connections_.end()) return;
  processes_.forget(**idle);
  connections_.erase(idle);
}

// One that came through a relay may outlast whoever started that: an engine that is killed leaves
// its relays behind. The latest that has shown the token is the one that counts.
bool Agent::is_superseded(const Connection& connection) const {
  if (entry_ != Entry::answerer || !connection.was_greeted()) return false;
  const auto latest = std::ranges::find_if(
      connections_.rbegin(), connections_.rend(),
      [](const auto& other) { return other->was_greeted() && !other->is_closed(); });
  return latest != connections_.rend() && latest->get() != &connection;
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
  if (child_ended && !processes_.is_running()) proc_files_.nothing_runs();
  if (was_read) proc_files_.was_read();
}

void Agent::drop_closed() {
  for (auto it = connections_.begin(); it != connections_.end();) {
    // Which may find out that nobody is there any more.
    if (!(*it)->is_closed()) (*it)->flush();
    if ((*it)->is_closed() || is_superseded(**it)) {
      processes_.forget(**it);
      if (it->get() == first_ || (*it)->has_become()) {
        first_ = nullptr;
        if (jail_.config().dies_with_connection) ending_ = true;
      }
      it = connections_.erase(it);
    } else {
      ++it;
    }
  }
  const auto wants_rest = [](const auto& connection) { return connection->wants_rest(); };
  if (std::ranges::any_of(connections_, wants_rest)) let_go_of_all();
}

Micros Agent::next_deadline() const {
  Micros next{0};
  for (const Micros due :
       {processes_.next_deadline(), proc_files_.next_deadline(), sudo_door_.next_deadline(),
        jail_.config().expires_at, is_alone() ? std::max(next_call_, Micros(1)) : Micros(0)}) {
    if (due.count() > 0 && (next.count() == 0 || due < next)) next = due;
  }
  for (const auto& connection : connections_) {
    // Nothing would wake us for it, and while it counts we neither end nor call.
    if (connection->is_closed()) return Micros(1);
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

void tell_why_not(Entry entry, const Error& error) {
  const Fd socket(native::kAgentConnection);
  guest::refuse_first_call(socket.get(), error);
  if (entry == Entry::answerer) wait_until_heard(socket);
}

}  // namespace atl::agent
