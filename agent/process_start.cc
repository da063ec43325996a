// How commands begin: started, served by an interpreter that waits, or beside another one.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "agent/connection.h"
#include "agent/own_group.h"
#include "agent/own_program.h"
#include "agent/process_table.h"
#include "agent/process_tree.h"
#include "agent/spawn.h"
#include "agent/terminal.h"
#include "agent/tools/tool.h"
#include "guest/frame.h"
#include "os/file.h"

namespace atl::agent {
namespace {

constexpr size_t kMostRunning = 1024;
constexpr std::ptrdiff_t kMostTools = 16;
constexpr size_t kShownArguments = 2048;
constexpr size_t kStderrRing = 256 * 1024;
constexpr const char* kDefaultTerminal = "xterm-256color";
// A year bounds the sum of a moment and a time that was asked for.
constexpr uint64_t kLongestTimeMs = 31'536'000'000ULL;

Micros now() { return system_clock().boot(); }

struct Pipe {
  Fd read_end;
  Fd write_end;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return os_error("making a pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// Our own ends; the child's end stays blocking, as programs expect. A pipe has no other flags.
void make_nonblocking(const Fd& fd) { fcntl(fd.get(), F_SETFL, O_NONBLOCK); }

std::vector<std::string> shortened(const std::vector<std::string>& argv) {
  std::vector<std::string> shown;
  size_t bytes = 0;
  for (const auto& argument : argv) {
    if (bytes + argument.size() > kShownArguments) {
      shown.push_back(argument.substr(0, kShownArguments - bytes) + "…");
      break;
    }
    bytes += argument.size();
    shown.push_back(argument);
  }
  return shown;
}

}  // namespace

Result<guest::Started> ProcessTable::start(Connection& connection, uint32_t channel,
                                           guest::Exec request, std::vector<Fd> direct_stdio) {
  return start_at(connection, channel, std::move(request), std::move(direct_stdio), {});
}

Result<> ProcessTable::start_tool(Connection& connection, uint32_t channel,
                                  const guest::Tool& request) {
  const auto is_running = [](const auto& one) {
    return one.second->is_tool && !one.second->reaped;
  };
  if (std::ranges::count_if(processes_, is_running) >= kMostTools) {
    return Error(Code::resource_exhausted, "16 file tools already run in this sandbox")
        .with_hint("end a watch, or wait for a search");
  }
  if (request.writes) was_changed(request.path);
  TRY(const auto start,
      open_start(jail_.roots(), request.path, request.writes ? FileUse::change : FileUse::read));
  if (!tool_program_) {
    TRY(tool_program_, copy_own_program());
  }
  guest::Exec exec;
  exec.argv = {"atoll-agent", "tool"};
  exec.argv.insert(exec.argv.end(), request.argv.begin(), request.argv.end());
  exec.stdin_open = request.writes;
  exec.timeout_ms = request.timeout_ms;
  exec.credit = request.credit;
  TRY_OK(start_at(connection, channel, std::move(exec), {}, {tool_program_.get(), start.get()}));
  return {};
}

Result<guest::Started> ProcessTable::start_at(Connection& connection, uint32_t channel,
                                              guest::Exec request, std::vector<Fd> direct_stdio,
                                              ToolPlace tool) {
  TRY_OK(check(request));
  if (running_.size() >= kMostRunning) {
    return Error(Code::resource_exhausted, "1,024 commands already run in this sandbox");
  }
  if (request.direct && direct_stdio.size() != 3) {
    return Error(Code::invalid_argument, "a direct command needs three descriptors");
  }
  evict_finished();

  auto process = make_process(request);
  if (warm_ && WarmInterpreter::fits(jail_, groups_, request) && hand_to_warm(*process, request)) {
    Process& added = add(connection, channel, std::move(process), request);
    begin(added);
    return guest::Started{added.id, static_cast<uint32_t>(added.pid)};
  }
  if (warm_) send_warm_away();

  Pipe out, err, in;
  Terminal terminal;
  SpawnPlace place{.mark = process->mark};
  auto& stdio = place.stdio;
  if (tool.program >= 0) {
    place.program = "/proc/self/fd/" + std::to_string(kToolProgram);
    place.more[kToolProgram - 3] = tool.program;
    place.more[kToolStart - 3] = tool.start;
    process->is_tool = true;
    process->owner = &connection;
  }
  if (request.direct) {
    for (size_t i = 0; i < 3; ++i) stdio[i] = direct_stdio[i].get();
    process->owner = &connection;
  } else if (request.rows > 0) {
    TRY(const auto user, jail_.find_user(request.user));
    TRY(terminal, open_terminal(jail_.terminals(), {request.rows, request.columns}, user.uid));
    TRY(process->input, terminal.master.duplicate());
    for (int& end : stdio) end = terminal.command.get();
    place.has_terminal = process->has_terminal = process->row.terminal = true;
    request.env.try_emplace("TERM", kDefaultTerminal);
  } else {
    TRY(out, make_pipe());
    TRY(err, make_pipe());
    if (request.stdin_open) {
      TRY(in, make_pipe());
      make_nonblocking(in.write_end);
    } else if (!null_) {
      TRY(null_, os::open_at(AT_FDCWD, "/dev/null", O_RDONLY));
    }
    stdio[0] = request.stdin_open ? in.read_end.get() : null_.get();
    stdio[1] = out.write_end.get();
    stdio[2] = err.write_end.get();
  }
  TRY(auto spawned, spawn(jail_, groups_, place, request));
  process->pid = spawned.pid;
  process->group = std::move(spawned.group);
  if (spawned.pid == 0) {
    process->row.exit.exit_code = spawned.exit_code;
    const std::string message = "atoll: " + spawned.message + "\n";
    if (request.direct) {
      static_cast<void>(os::write_all(stdio[2], message));
    } else {
      process->streams[1].ring.append(message);
    }
  }
  Process& added = add(connection, channel, std::move(process), request);
  if (added.pid == 0) {
    added.reaped = true;
    added.row.running = false;
    added.row.exit.attested = jail_.attests();
    added.streams[1].own_end = added.streams[1].ring.end();
    added.row.exit.stderr_bytes = added.streams[1].own_end;
    pump(added);
    return guest::Started{added.id, 0};
  }
  if (added.has_terminal) {
    added.streams[0].pipe = std::move(terminal.master);
    added.streams[0].held = std::move(terminal.command);
  } else if (!request.direct) {
    added.input = std::move(in.write_end);
    added.streams[0].pipe = std::move(out.read_end);
    added.streams[1].pipe = std::move(err.read_end);
    added.streams[0].held = std::move(out.write_end);
    added.streams[1].held = std::move(err.write_end);
  }
  begin(added);
  return guest::Started{added.id, static_cast<uint32_t>(added.pid)};
}

std::unique_ptr<Process> ProcessTable::make_process(const guest::Exec& request) {
  const size_t ring_bytes = request.direct ? 0 : jail_.config().ring_bytes;
  auto process = std::unique_ptr<Process>(new Process{
      .streams = {{.ring = Ring(ring_bytes)}, {.ring = Ring(std::min(ring_bytes, kStderrRing))}}});
  process->id = next_id_++;
  process->mark = mark_of(process->id);
  process->direct = request.direct;
  process->output_limit = request.output_limit;
  process->row.argv = shortened(request.argv);
  process->row.cwd = request.cwd;
  process->row.started_at_ms = system_clock().wall().time_since_epoch().count();
  process->started = now();
  // Where there are groups, its own tells.
  if (!groups_.available()) process->earlier_oom_kills = count_oom_kills();
  if (request.timeout_ms > 0) {
    process->deadline = process->started + Millis(std::min(request.timeout_ms, kLongestTimeMs));
  }
  process->cpu_limit_us = std::min(request.cpu_time_ms, kLongestTimeMs) * 1000;
  return process;
}

Process& ProcessTable::add(Connection& connection, uint32_t channel,
                           std::unique_ptr<Process> process, const guest::Exec& request) {
  Process& added = *processes_.emplace(process->id, std::move(process)).first->second;
  added.subscriptions.push_back(Subscription{&connection, channel, {0, 0}, request.credit});
  const std::string started =
      guest::encode(guest::Started{added.id, static_cast<uint32_t>(added.pid)});
  // Who has something to say to it waits for this.
  if (request.stdin_open) {
    connection.send(guest::FrameType::started, channel, started);
  } else {
    connection.send_soon(guest::FrameType::started, channel, started);
  }
  return added;
}

void ProcessTable::begin(Process& process) {
  running_[process.pid] = process.id;
  if (process.cpu_limit_us > 0 && groups_.count_cpu()) check_cpu_time(process);
  began_(process.pid);
  for (int stream = 0; stream < 2; ++stream) {
    if (!process.streams[stream].pipe) continue;
    make_nonblocking(process.streams[stream].pipe);
    watch(process, stream);
  }
}

std::string ProcessTable::mark_of(uint64_t id) const {
  return std::string(kExecMark) + "=" + jail_.config().sandbox_id + "." + std::to_string(id);
}

void ProcessTable::was_changed(const std::string& path) {
  const bool is_elsewhere =
      (path.starts_with('/') && !path.starts_with("/workspace/")) || path.find("..") != path.npos;
  if (warm_ && is_elsewhere) send_warm_away();
}

void ProcessTable::warm_up() {
  // It serves the first command or none.
  if (auto warm = WarmInterpreter::start(jail_, groups_, jail_.config().warm, mark_of(next_id_)))
    warm_ = std::move(*warm);
}

// False if it cannot be told its command: then one is started for that.
bool ProcessTable::hand_to_warm(Process& process, const guest::Exec& request) {
  if (!warm_->hand_over(jail_, SpawnPlace{.mark = process.mark}, request)) return false;
  process.pid = warm_->pid();
  process.group = warm_->take_group();
  groups_.wake(*process.group);
  auto streams = warm_->take_streams();
  warm_.reset();
  process.row.exit.warm = true;
  process.streams[0].pipe = std::move(streams.out);
  process.streams[1].pipe = std::move(streams.err);
  process.streams[0].held = std::move(streams.out_held);
  process.streams[1].held = std::move(streams.err_held);
  return true;
}

// Another command comes first: nobody shall find it here.
void ProcessTable::send_warm_away() {
  ExecGroup group = warm_->take_group();
  group.signal(SIGKILL);
  groups_.give_back(std::move(group));
  tidy_later();
  warm_.reset();
}

Process* ProcessTable::command_of(pid_t pid) {
  const auto text = os::read_file(AT_FDCWD, "/proc/" + std::to_string(pid) + "/cgroup", 16384);
  const size_t at = text ? text->find("/exec-") : std::string::npos;
  if (at == std::string::npos) return nullptr;
  const std::string name = text->substr(at + 1, text->find('\n', at) - at - 1);
  for (const auto& [id, process] : processes_) {
    if (process->group && process->group->name() == name) return process.get();
  }
  return nullptr;
}

Result<pid_t> ProcessTable::start_beside(pid_t asker, const guest::Exec& request, int directory,
                                         const int (&stdio)[3], std::function<void(int)> ended) {
  TRY_OK(check(request));
  SpawnPlace place{.directory = directory};
  std::ranges::copy(stdio, place.stdio);
  if (const Process* command = command_of(asker)) {
    place.group = &*command->group;
    place.mark = command->mark;
  }
  TRY(auto spawned, spawn(jail_, groups_, place, request));
  if (spawned.pid == 0) return Error(Code::not_found, spawned.message);
  beside_[spawned.pid] = {std::move(ended), std::move(spawned.group)};
  return spawned.pid;
}

void ProcessTable::kill_beside(pid_t pid) {
  const auto found = beside_.find(pid);
  if (found == beside_.end()) return;
  found->second.ended = nullptr;
  ::kill(-pid, SIGKILL);
}

}  // namespace atl::agent
