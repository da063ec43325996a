// All commands of the sandbox: starting, feeding, following, signalling and reaping them.
//
// Output is read into a ring per stream. While a client follows a process, the process waits for
// the slowest client; when nobody follows, the oldest bytes go, and who comes later is told of the
// gap. So memory is bounded and nothing that a client was promised is lost.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "agent/jail.h"
#include "agent/process.h"
#include "agent/warm_interpreter.h"
#include "os/poller.h"

namespace atl::agent {

class ProcessTable final {
 public:
  // `began` is told the process that each command begins with.
  ProcessTable(os::Poller& poller, const Jail& jail, ExecGroups groups,
               std::function<void(pid_t)> began)
      : poller_(poller),
        jail_(jail),
        groups_(std::move(groups)),
        wants_group_(jail.config().parked),
        wants_warm_(!jail.config().warm.empty()),
        began_(std::move(began)) {}

  // Starts a command and follows it on `channel`. A program that cannot be executed is a command
  // that has ended with 126 or 127, as in a shell; every other failure is an error.
  Result<guest::Started> start(Connection& connection, uint32_t channel, guest::Exec request,
                               std::vector<Fd> direct_stdio);
  // The same for a file tool (agent/tools), which ends when nobody follows it any more.
  Result<> start_tool(Connection& connection, uint32_t channel, const guest::Tool& request);
  Result<guest::Started> attach(Connection& connection, uint32_t channel,
                                const guest::Attach& request);
  // Starts a command for a process of the sandbox, see sudo/door.h: in the group of the command
  // that `asker` belongs to. `ended` is told its wait status.
  Result<pid_t> start_beside(pid_t asker, const guest::Exec& request, int directory,
                             const int (&stdio)[3], std::function<void(int)> ended);
  // Nobody is told of its end.
  void kill_beside(pid_t pid);
  // The client follows no longer; a direct process ends.
  void detach(const Connection& connection, uint32_t channel);
  void add_credit(const Connection& connection, uint32_t channel, uint64_t bytes);

  // Answered on `channel` by ok or error, now or later.
  void write_stdin(Connection& connection, uint32_t channel, const guest::StdinData& data);
  Result<> close_stdin(uint64_t process);

  Result<> signal(uint64_t process, int number);
  Result<> resize(const guest::Resize& request);
  std::vector<guest::ProcessRow> rows() const;
  guest::Stats stats() const;
  WorkUsage work_usage() const;

  // Sends what subscribers on this connection may have.
  void pump(Connection& connection);
  // Forgets the connection: its subscriptions end, its direct processes are killed.
  void forget(Connection& connection);

  // What can wait until the answers are out: removes groups that are no longer needed, has a child
  // made for the next command.
  void tidy();

  // Somebody has the sandbox now: what is ready for a command stays for a while.
  void expect_commands();

  // Somebody knows us, so the control groups are ours: what is to be made ahead can be.
  void was_greeted() {
    if (wants_group_ || wants_warm_) tidy_at_ = Micros(1);
  }
  // A file was changed from outside. What an interpreter reads when it starts may lie anywhere but
  // in the workspace.
  void was_changed(const std::string& path);

  // Collects ended children, ours and adopted ones.
  void reap();
  bool is_running() const { return !running_.empty(); }
  // When the next timeout falls due; zero = none.
  Micros next_deadline() const;
  void end_overdue();
  // Kills everything below the agent and waits for it; gives the number of processes that would not
  // die in time.
  int end_all();
  // Whoever speaks to the agent does so through a process beside it (relay.h): it is not below the
  // agent, and goes with the others only if these do not end without that.
  void spare_relays() { spares_relays_ = true; }

 private:
  // A command that another one asked for.
  struct Beside {
    std::function<void(int)> ended;
    std::optional<ExecGroup> group;  // where the asker's is gone
  };

  // What a tool has that other commands have not.
  struct ToolPlace {
    int program = -1;
    int start = -1;
  };
  Result<guest::Started> start_at(Connection& connection, uint32_t channel, guest::Exec request,
                                  std::vector<Fd> direct_stdio, ToolPlace tool);
  bool hand_to_warm(Process& process, const guest::Exec& request);
  // Starts an interpreter ahead, if this sandbox is to have one.
  void warm_up();
  void send_warm_away();
  std::string mark_of(uint64_t id) const;
  std::unique_ptr<Process> make_process(const guest::Exec& request);
  // Makes it one of ours and tells whoever asked.
  Process& add(Connection& connection, uint32_t channel, std::unique_ptr<Process> process,
               const guest::Exec& request);
  void begin(Process& process);
  Process* find(uint64_t id);
  // The command in whose group the process is; nullptr if that has ended.
  Process* command_of(pid_t pid);
  void read_output(uint64_t id, int stream);
  ssize_t read_into(OutputStream& source, size_t most);
  void flush_input(Process& process);
  void pump(Process& process);
  void watch(Process& process, int stream);
  void finish(Process& process, int wait_status, const struct rusage& usage);
  void kill(Process& process, guest::ExitKind why, guest::HitLimit hit = guest::HitLimit::none);
  // Asks first, so that it can take away what is half done.
  void end_tool(Process& process);
  void drop_ended_tools();
  void check_cpu_time(Process& process);
  void send(Process& process, int signal);
  void close_stream(Process& process, int stream);
  // Settles where the output of a process that has ended ends, once its terminal is empty.
  void settle_terminal(Process& process);
  void evict_finished();
  void tidy_later();
  // So far: one command, after which everything goes with the connection.
  bool is_run() const;
  guest::ProcessRow row_of(const Process& process) const;

  os::Poller& poller_;
  const Jail& jail_;
  ExecGroups groups_;
  bool wants_group_;   // one made ahead for the next command
  bool wants_warm_;    // an interpreter that waits
  Micros tidy_at_{0};  // zero = everything is tidy
  Micros idle_at_{0};  // zero = nothing is kept ready, or for as long as it takes
  std::optional<WarmInterpreter> warm_;
  std::function<void(pid_t)> began_;
  uint64_t next_id_ = 1;
  std::map<uint64_t, std::unique_ptr<Process>> processes_;
  std::map<pid_t, uint64_t> running_;
  std::map<pid_t, Beside> beside_;
  uint64_t finished_cpu_us_ = 0;
  Fd null_;
  Fd tool_program_;  // once there was a tool
  std::unique_ptr<char[]> scratch_;
  Micros born_ = system_clock().boot();
  bool spares_relays_ = false;
};

}  // namespace atl::agent
