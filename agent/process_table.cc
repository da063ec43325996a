#include "agent/process_table.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/connection.h"
#include "agent/own_group.h"
#include "agent/process_tree.h"
#include "agent/spawn.h"
#include "agent/terminal.h"
#include "agent/usage.h"
#include "base/text.h"
#include "guest/frame.h"
#include "os/file.h"
#include "os/process.h"

namespace atl::agent {
namespace {

constexpr size_t kMostFinished = 64;
constexpr size_t kMostFinishedMemory = 16 << 20;
constexpr size_t kReadAtOnce = 256 * 1024;
// What a stream must have brought before its ring is large enough to read straight into.
constexpr size_t kMuchOutput = 64 * 1024;
constexpr size_t kMostPendingInput = 4 << 20;
constexpr int kPipeBytes = 1 << 20;
// More than the kernel keeps of a terminal's output that nobody has read yet (640 KiB).
constexpr uint64_t kTerminalHolds = 1 << 20;
constexpr const char* kTypedEnd = "\x04";
// How soon a command's processor time is looked at again, at the soonest.
constexpr auto kCpuTimePace = Millis(10);
constexpr auto kUntidy = Millis(5);
constexpr auto kUntidyRun = Millis(50);  // whose groups usually go with the sandbox before
constexpr auto kIdle = std::chrono::seconds(10);
constexpr auto kToolPatience = std::chrono::seconds(1);
constexpr auto kEndingPatience = std::chrono::seconds(2);

Micros now() { return system_clock().boot(); }

}  // namespace

Process* ProcessTable::find(uint64_t id) {
  const auto found = processes_.find(id);
  return found == processes_.end() ? nullptr : found->second.get();
}

Result<guest::Started> ProcessTable::attach(Connection& connection, uint32_t channel,
                                            const guest::Attach& request) {
  Process* process = find(request.process);
  if (process == nullptr)
    return Error(Code::not_found, "no process " + std::to_string(request.process));
  const uint64_t wanted[2] = {request.stdout_offset, request.stderr_offset};
  Subscription subscription{&connection, channel, {0, 0}, request.credit};
  for (int stream = 0; stream < 2; ++stream) {
    if (wanted[stream] > process->streams[stream].ring.end()) {
      return Error(Code::invalid_argument, "the offset lies beyond the output's end");
    }
    subscription.next[stream] = wanted[stream];
  }
  process->subscriptions.push_back(subscription);
  const guest::Started started{process->id, static_cast<uint32_t>(process->pid)};
  connection.send(guest::FrameType::started, channel, guest::encode(started));
  pump(*process);
  return started;
}

void ProcessTable::detach(const Connection& connection, uint32_t channel) {
  for (auto& [id, process] : processes_) {
    const size_t removed = std::erase_if(process->subscriptions, [&](const auto& s) {
      return s.connection == &connection && s.channel == channel;
    });
    if (removed == 0) continue;
    if (process->direct) kill(*process, guest::ExitKind::killed);
    if (process->is_tool) end_tool(*process);
    pump(*process);
    return;
  }
}

void ProcessTable::add_credit(const Connection& connection, uint32_t channel, uint64_t bytes) {
  for (auto& [id, process] : processes_) {
    for (auto& subscription : process->subscriptions) {
      if (subscription.connection != &connection || subscription.channel != channel) continue;
      subscription.credit += std::min<uint64_t>(bytes, UINT64_MAX - subscription.credit);
      pump(*process);
      return;
    }
  }
}

void ProcessTable::watch(Process& process, int stream) {
  auto& source = process.streams[stream];
  if (!source.pipe || source.watched) return;
  const uint64_t id = process.id;
  auto added = poller_.add(source.pipe.get(), EPOLLIN,
                           [this, id, stream](uint32_t) { read_output(id, stream); });
  source.watched = added.has_value();
  if (!added) close_stream(process, stream);
}

void ProcessTable::close_stream(Process& process, int stream) {
  auto& source = process.streams[stream];
  if (source.watched) poller_.forget(source.pipe.get());
  source.watched = false;
  source.pipe.close();
}

// Most commands say little: they are read into one shared buffer and take no more of the ring than
// they fill.
ssize_t ProcessTable::read_into(OutputStream& source, size_t most) {
  if (source.ring.end() < kMuchOutput) {
    // Not a page of it is touched that nothing is read into.
    if (!scratch_) scratch_ = std::make_unique_for_overwrite<char[]>(kMuchOutput);
    const ssize_t got = read(source.pipe.get(), scratch_.get(), std::min(most, kMuchOutput));
    if (got > 0) source.ring.append({scratch_.get(), static_cast<size_t>(got)});
    // One that fills the buffer at once has more to say, and a larger pipe means fewer turns.
    if (got == static_cast<ssize_t>(kMuchOutput))
      fcntl(source.pipe.get(), F_SETPIPE_SZ, kPipeBytes);
    return got;
  }
  const auto space = source.ring.prepare(most);
  const ssize_t got = read(source.pipe.get(), space.data(), space.size());
  if (got > 0) source.ring.commit(static_cast<size_t>(got));
  return got;
}

void ProcessTable::read_output(uint64_t id, int stream) {
  Process* process = find(id);
  if (process == nullptr) return;
  auto& source = process->streams[stream];
  uint64_t slowest = source.ring.end();
  bool followed = false;
  for (const auto& subscription : process->subscriptions) {
    followed = true;
    slowest = std::min(slowest, subscription.next[stream]);
  }
  size_t room = kReadAtOnce;
  if (followed)
    room = std::min<size_t>(room, source.ring.capacity() - (source.ring.end() - slowest));
  if (room == 0) {
    // The slowest reader decides; pump() watches again once it has read on.
    poller_.remove(source.pipe.get());
    source.watched = false;
    return;
  }

  const ssize_t got = read_into(source, room);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    close_stream(*process, stream);
  } else {
    const uint64_t total = process->streams[0].ring.end() + process->streams[1].ring.end();
    if (process->output_limit > 0 && total > process->output_limit)
      kill(*process, guest::ExitKind::policy, guest::HitLimit::output);
  }
  settle_terminal(*process);
  pump(*process);
}

// Looked at after every reading, because an empty terminal that somebody else still has open does
// not call for one.
void ProcessTable::settle_terminal(Process& process) {
  auto& source = process.streams[0];
  if (!source.end_is_bound) return;
  pollfd terminal{source.pipe.get(), POLLIN, 0};
  const bool has_more = source.pipe && poll(&terminal, 1, 0) > 0;
  if (has_more && source.ring.end() < source.own_end) return;
  source.end_is_bound = false;
  source.own_end = std::min(source.own_end, source.ring.end());
  process.row.exit.stdout_bytes = source.own_end;
}

void ProcessTable::pump(Process& process) {
  auto& subscriptions = process.subscriptions;
  for (size_t i = 0; i < subscriptions.size();) {
    auto& subscription = subscriptions[i];
    Connection& connection = *subscription.connection;
    bool caught_up = true;
    for (int stream = 0; stream < 2; ++stream) {
      auto& ring = process.streams[stream].ring;
      uint64_t& next = subscription.next[stream];
      if (next < ring.first()) {
        connection.send(
            guest::FrameType::gap, subscription.channel,
            guest::encode(guest::Gap{static_cast<uint8_t>(stream + 1), next, ring.first()}));
        next = ring.first();
      }
      while (next < ring.end() && subscription.credit > 0 && connection.has_room()) {
        const size_t most = std::min<uint64_t>(subscription.credit, guest::kDataPiece);
        const auto bytes = ring.piece(next).substr(0, most);
        connection.send_output(subscription.channel, stream, next, bytes);
        next += bytes.size();
        subscription.credit -= bytes.size();
      }
      if (next < (process.reaped ? process.streams[stream].own_end : ring.end())) caught_up = false;
    }
    if (process.reaped && caught_up) {
      connection.send(guest::FrameType::exited, subscription.channel,
                      guest::encode(process.row.exit));
      connection.flush();  // before anything is tidied up
      subscriptions.erase(subscriptions.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    ++i;
  }
  for (int stream = 0; stream < 2; ++stream) {
    if (process.streams[stream].pipe && !process.streams[stream].watched) {
      uint64_t slowest = process.streams[stream].ring.end();
      for (const auto& subscription : subscriptions)
        slowest = std::min(slowest, subscription.next[stream]);
      if (process.streams[stream].ring.end() - slowest < process.streams[stream].ring.capacity()) {
        watch(process, stream);
      }
    }
  }
}

void ProcessTable::pump(Connection& connection) {
  for (auto& [id, process] : processes_) {
    const bool follows = std::ranges::any_of(
        process->subscriptions, [&](const auto& s) { return s.connection == &connection; });
    if (follows) pump(*process);
  }
}

void ProcessTable::forget(Connection& connection) {
  for (auto& [id, process] : processes_) {
    std::erase_if(process->subscriptions,
                  [&](const auto& s) { return s.connection == &connection; });
    for (auto& input : process->pending_input) {
      if (input.connection == &connection) input.connection = nullptr;
    }
    if (process->owner == &connection) {
      process->owner = nullptr;
      if (process->is_tool) {
        end_tool(*process);
      } else if (!process->reaped) {
        kill(*process, guest::ExitKind::killed);
      }
    }
    pump(*process);  // a slow follower that has gone no longer holds the process back
  }
}

void ProcessTable::write_stdin(Connection& connection, uint32_t channel,
                               const guest::StdinData& data) {
  Process* process = find(data.process);
  if (process == nullptr || !process->input || process->close_input_when_written) {
    connection.send_error(channel, Error(Code::conflict, "the process does not read stdin"));
    return;
  }
  size_t pending = data.bytes.size();
  for (const auto& input : process->pending_input) pending += input.bytes.size() - input.written;
  if (pending > kMostPendingInput) {
    connection.send_error(channel,
                          Error(Code::resource_exhausted, "too much stdin is waiting to be read"));
    return;
  }
  std::string bytes(data.bytes);
  if (process->has_terminal && jail_.is_behind_gate()) {
    bytes = press_signal_keys(process->input, process->pid, bytes);
    if (bytes.empty()) return connection.send_ok(channel);
  }
  process->pending_input.push_back(PendingInput{&connection, channel, std::move(bytes), 0});
  flush_input(*process);
}

void ProcessTable::flush_input(Process& process) {
  while (process.input && !process.pending_input.empty()) {
    auto& input = process.pending_input.front();
    const ssize_t put = write(process.input.get(), input.bytes.data() + input.written,
                              input.bytes.size() - input.written);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) {
      if (!process.input_watched) {
        const uint64_t id = process.id;
        auto added = poller_.add(process.input.get(), EPOLLOUT, [this, id](uint32_t) {
          if (Process* waiting = find(id)) flush_input(*waiting);
        });
        process.input_watched = added.has_value();
      }
      return;
    }
    if (put < 0) {
      const Error gone(Code::conflict, "the process no longer reads stdin", errno);
      for (auto& left : process.pending_input) {
        if (left.connection != nullptr) left.connection->send_error(left.channel, gone);
      }
      process.pending_input.clear();
      process.close_input_when_written = true;
      break;
    }
    input.written += static_cast<size_t>(put);
    if (input.written == input.bytes.size()) {
      if (input.connection != nullptr) input.connection->send_ok(input.channel);
      process.pending_input.pop_front();
    }
  }
  if (process.input_watched) poller_.remove(process.input.get());
  process.input_watched = false;
  if (process.close_input_when_written) process.input.close();
}

Result<> ProcessTable::close_stdin(uint64_t id) {
  Process* process = find(id);
  if (process == nullptr) return Error(Code::not_found, "no process " + std::to_string(id));
  if (process->has_terminal) {
    // It has no end of file but the one that is typed; once is enough while nobody reads.
    const auto& waiting = process->pending_input;
    const bool is_typed = !waiting.empty() && waiting.back().bytes == kTypedEnd;
    if (process->input && !is_typed) process->pending_input.push_back({.bytes = kTypedEnd});
  } else {
    process->close_input_when_written = true;
  }
  flush_input(*process);
  return {};
}

Result<> ProcessTable::resize(const guest::Resize& request) {
  const Process* process = find(request.process);
  if (process == nullptr)
    return Error(Code::not_found, "no process " + std::to_string(request.process));
  if (!process->has_terminal) return Error(Code::conflict, "the process has no terminal");
  if (process->reaped) return Error(Code::conflict, "the process has ended");
  return resize_terminal(process->streams[0].pipe, {request.rows, request.columns});
}

Result<> ProcessTable::signal(uint64_t id, int number) {
  Process* process = find(id);
  if (process == nullptr) return Error(Code::not_found, "no process " + std::to_string(id));
  if (process->reaped) return Error(Code::conflict, "the process has ended");
  if (number < 1 || number > 64) return Error(Code::invalid_argument, "no such signal");
  if (number == SIGKILL) process->ended_by_us = guest::ExitKind::killed;
  send(*process, number);
  return {};
}

void ProcessTable::kill(Process& process, guest::ExitKind why, guest::HitLimit hit) {
  if (process.reaped) return;
  if (!process.ended_by_us) {
    process.ended_by_us = why;
    process.hit = hit;
  }
  send(process, SIGKILL);
}

void ProcessTable::end_tool(Process& process) {
  if (process.reaped) return;
  process.deadline = now() + kToolPatience;
  send(process, SIGTERM);
}

void ProcessTable::drop_ended_tools() {
  for (auto it = processes_.begin(); it != processes_.end();) {
    auto& process = *it->second;
    if (!process.is_tool || !process.reaped || !process.subscriptions.empty()) {
      ++it;
      continue;
    }
    for (int stream = 0; stream < 2; ++stream) close_stream(process, stream);
    it = processes_.erase(it);
  }
}

void ProcessTable::send(Process& process, int signal) {
  if (process.group) {
    process.group->signal(signal);
  } else if (running_.contains(process.pid)) {  // reaped, its number may be a stranger's
    signal_tree(process.pid, process.mark, signal);
  }
}

void ProcessTable::tidy() {
  if (idle_at_.count() > 0 && now() >= idle_at_) {
    idle_at_ = Micros(0);
    if (running_.empty()) groups_.drop_ahead();
  }
  if (tidy_at_.count() == 0 || now() < tidy_at_) return;
  tidy_at_ = Micros(0);
  groups_.tidy();
  drop_ended_tools();
  if (std::exchange(wants_warm_, false)) warm_up();
  if (std::exchange(wants_group_, false)) groups_.make_ahead();
}

// Whoever waits for the answer would have to share a processor with this.
void ProcessTable::tidy_later() {
  tidy_at_ = now() + (is_run() ? kUntidyRun : kUntidy);
  expect_commands();
}

bool ProcessTable::is_run() const {
  return jail_.config().dies_with_connection && !wants_warm_ && !wants_group_;
}

void ProcessTable::expect_commands() { idle_at_ = now() + kIdle; }

void ProcessTable::reap() {
  for (;;) {
    int status = 0;
    rusage usage{};
    const pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    if (pid <= 0) return;
    finished_cpu_us_ += micros_of(usage.ru_utime) + micros_of(usage.ru_stime);
    if (auto ended = beside_.extract(pid)) {
      Beside& command = ended.mapped();
      if (command.group) {
        groups_.give_back(std::move(*command.group));
        tidy_later();
      }
      if (command.ended) command.ended(status);
      continue;
    }
    if (warm_ && warm_->pid() == pid) send_warm_away();
    const auto found = running_.find(pid);
    if (found == running_.end()) continue;  // an orphan that we inherited
    Process* process = find(found->second);
    running_.erase(found);
    if (process != nullptr) finish(*process, status, usage);
  }
}

void ProcessTable::finish(Process& process, int wait_status, const rusage& usage) {
  // What was written before the end is still in the pipe; what does not fit the ring now is read
  // when there is room.
  for (int stream = 0; stream < 2; ++stream) {
    auto& source = process.streams[stream];
    source.held.close();
    int left = 0;
    if (source.pipe && ioctl(source.pipe.get(), FIONREAD, &left) != 0) left = 0;
    source.own_end = source.ring.end() + static_cast<uint64_t>(left);
    source.end_is_bound = process.has_terminal && source.pipe;
    if (source.end_is_bound) source.own_end = source.ring.end() + kTerminalHolds;
    while (source.pipe && source.ring.end() <= source.own_end) {
      uint64_t slowest = source.ring.end();
      for (const auto& subscription : process.subscriptions)
        slowest = std::min(slowest, subscription.next[stream]);
      const size_t room = source.ring.capacity() - static_cast<size_t>(source.ring.end() - slowest);
      if (!process.subscriptions.empty() && room == 0) break;
      const ssize_t got = read_into(source, process.subscriptions.empty() ? kReadAtOnce : room);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        if (got == 0 || errno != EAGAIN) close_stream(process, stream);
        break;
      }
      pump(process);
    }
  }

  auto& exit = process.row.exit;
  exit.attested = jail_.attests();
  exit.duration_us = static_cast<uint64_t>((now() - process.started).count());
  exit.cpu_user_us = micros_of(usage.ru_utime);
  exit.cpu_system_us = micros_of(usage.ru_stime);
  exit.peak_memory_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  uint64_t oom_kills = 0;
  std::optional<ExecGroup> group = std::exchange(process.group, std::nullopt);
  if (group) {
    const GroupUsage used = group->usage({exit.cpu_user_us, exit.cpu_system_us});
    exit.whole_group = true;
    exit.cpu_user_us = used.cpu_user_us;
    exit.cpu_system_us = used.cpu_system_us;
    if (used.peak_memory_bytes > 0) exit.peak_memory_bytes = used.peak_memory_bytes;
    oom_kills = used.oom_kills;
  }
  settle_terminal(process);
  exit.stdout_bytes = process.streams[0].own_end;
  exit.stderr_bytes = process.streams[1].own_end;
  if (WIFEXITED(wait_status)) {
    exit.exit_code = WEXITSTATUS(wait_status);
    exit.kind = guest::ExitKind::exited;
  } else {
    exit.signal = WTERMSIG(wait_status);
    exit.exit_code = 128 + exit.signal;
    exit.kind = exit.signal == SIGSYS ? guest::ExitKind::policy : guest::ExitKind::signaled;
    if (exit.signal == SIGKILL && !exit.whole_group && !process.ended_by_us)
      oom_kills = count_oom_kills() - process.earlier_oom_kills;
    if (exit.signal == SIGKILL && oom_kills > 0) exit.kind = guest::ExitKind::oom;
    // Where no group counts, the kernel ends the process by itself, see spawn().
    const bool is_late = exit.cpu_user_us + exit.cpu_system_us >= process.cpu_limit_us;
    if (process.cpu_limit_us > 0 && !groups_.count_cpu() && !process.ended_by_us &&
        (exit.signal == SIGXCPU || (exit.signal == SIGKILL && is_late))) {
      process.ended_by_us = guest::ExitKind::timeout;
      process.hit = guest::HitLimit::cpu_time;
    }
  }
  if (process.ended_by_us) {
    exit.kind = *process.ended_by_us;
    exit.limit = process.hit;
    if (exit.kind == guest::ExitKind::timeout) exit.exit_code = 124;
    if (exit.kind == guest::ExitKind::policy) exit.exit_code = 126;
  }
  process.reaped = true;
  process.row.running = false;
  process.deadline = process.cpu_check = Micros(0);
  process.close_input_when_written = true;
  flush_input(process);
  process.input.close();
  pump(process);
  // Whoever waits for the end has been told.
  if (!group) return;
  wants_group_ = next_id_ > 2;  // who runs a second command runs a third
  if (is_run()) {
    groups_.leave(*std::move(group));
  } else {
    groups_.give_back(*std::move(group));
  }
  tidy_later();
}

Micros ProcessTable::next_deadline() const {
  Micros next = groups_.next_look();
  for (const Micros due : {tidy_at_, idle_at_}) {
    if (due.count() > 0 && (next.count() == 0 || due < next)) next = due;
  }
  for (const auto& [id, process] : processes_) {
    for (const Micros due : {process->deadline, process->cpu_check}) {
      if (due.count() > 0 && (next.count() == 0 || due < next)) next = due;
    }
  }
  return next;
}

void ProcessTable::end_overdue() {
  const Micros moment = now();
  groups_.look(moment);
  for (auto& [id, process] : processes_) {
    if (process->cpu_check.count() > 0 && process->cpu_check <= moment) check_cpu_time(*process);
    if (process->deadline.count() == 0 || process->deadline > moment) continue;
    process->deadline = Micros(0);
    kill(*process, guest::ExitKind::timeout, guest::HitLimit::wall_time);
  }
}

// Kills the command that has used up its processor time, or looks again when it could have.
void ProcessTable::check_cpu_time(Process& process) {
  const uint64_t used = process.group->cpu_us();
  if (used >= process.cpu_limit_us) {
    process.cpu_check = Micros(0);
    kill(process, guest::ExitKind::timeout, guest::HitLimit::cpu_time);
    return;
  }
  const uint64_t left = (process.cpu_limit_us - used) / std::max(jail_.facts().processors, 1U);
  process.cpu_check = now() + std::max<Micros>(Micros(left), kCpuTimePace);
}

int ProcessTable::end_all() {
  for (auto& [id, process] : processes_) {
    if (!process->reaped && !process->ended_by_us) process->ended_by_us = guest::ExitKind::killed;
  }
  const auto has_children = [] {
    siginfo_t any{};
    return waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
  };
  // As a subreaper we have every descendant below us: no child means that there is nobody to look
  // for.
  if (!has_children()) return 0;
  groups_.release_brakes();
  const Micros give_up = now() + kEndingPatience;
  const Micros sparing = spares_relays_ ? now() + kEndingPatience / 2 : Micros(0);
  const bool is_first = jail_.is_box() && getpid() == 1;
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  for (;;) {
    // The first process of a pid namespace reaches everybody in it at once, itself excepted.
    if (is_first && now() >= sparing) {
      ::kill(-1, SIGKILL);
    } else if (is_first || !jail_.is_box() || groups_.available()) {
      kill_descendants(4);
    }
    reap();
    if (!has_children()) return 0;
    if (now() > give_up) return static_cast<int>(std::max<size_t>(running_.size(), 1));
    const timespec pause{0, 20'000'000};
    sigtimedwait(&child, nullptr, &pause);
  }
}

void ProcessTable::evict_finished() {
  drop_ended_tools();
  size_t finished = 0;
  size_t memory = 0;
  for (auto it = processes_.rbegin(); it != processes_.rend(); ++it) {
    const auto& process = *it->second;
    if (!process.reaped || !process.subscriptions.empty()) continue;
    ++finished;
    memory += process.streams[0].ring.memory() + process.streams[1].ring.memory();
  }
  for (auto it = processes_.begin();
       it != processes_.end() && (finished >= kMostFinished || memory > kMostFinishedMemory);) {
    auto& process = *it->second;
    if (!process.reaped || !process.subscriptions.empty()) {
      ++it;
      continue;
    }
    --finished;
    memory -= process.streams[0].ring.memory() + process.streams[1].ring.memory();
    for (int stream = 0; stream < 2; ++stream) close_stream(process, stream);
    it = processes_.erase(it);
  }
}

}  // namespace atl::agent
