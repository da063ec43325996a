// Running a command in a sandbox: what is asked and what is truthfully told about its end.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/enum.hpp>

#include "base/clock.h"
#include "base/fd.h"

namespace atl {

// Names a process of one sandbox for as long as the sandbox lives; never reused, unlike a pid.
using ProcessId = uint64_t;

enum class StdioMode : uint8_t {
  kept,    // the agent keeps a bounded ring per stream; clients attach and resume by offset
  direct,  // the caller's descriptors are the process's stdio, and the process ends with the caller
};

enum class StdinMode : uint8_t {
  closed,  // the process reads end of file at once
  open,    // written with Process::write_stdin until close_stdin
};

// Whether an interpreter that is running already may serve the command.
enum class Warmth : uint8_t { welcome, refused };

struct TerminalSize {
  uint16_t rows = 24;
  uint16_t columns = 80;
};

struct ExecRequest {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  // over the sandbox's own
  std::string cwd;                         // "" = the workspace; relative to it otherwise
  std::string user;                        // "" = the sandbox's default
  StdinMode stdin_mode = StdinMode::closed;
  StdioMode stdio = StdioMode::kept;
  // A terminal of its own instead of pipes: stdin is open, and all output comes as stdout. Only
  // with StdioMode::kept.
  std::optional<TerminalSize> terminal;
  Warmth warm = Warmth::welcome;
  std::array<Fd, 3> direct;   // stdin, stdout, stderr; for StdioMode::direct
  Millis timeout{0};          // the whole tree is killed then; zero = no limit of its own
  Millis cpu_time{0};         // the same once it has used so much of the processors together
  uint64_t output_limit = 0;  // total bytes after which the process is killed; zero = none
};

enum class ExitReason : uint8_t {
  exited,    // by itself
  signaled,  // by a signal that came from inside
  timeout,
  oom,
  killed,  // by us, because somebody asked
  policy,  // refused or stopped by a rule (output limit, seccomp)
  infra,   // the sandbox, its agent or its host went away
};
BOOST_DESCRIBE_ENUM(ExitReason, exited, signaled, timeout, oom, killed, policy, infra)

// Which limit of the request ended it.
enum class HitLimit : uint8_t { none, wall_time, cpu_time, output };
BOOST_DESCRIBE_ENUM(HitLimit, none, wall_time, cpu_time, output)

enum class UsageScope : uint8_t {
  waited,  // the process and its descendants that were waited for (getrusage)
  cgroup,
};
BOOST_DESCRIBE_ENUM(UsageScope, waited, cgroup)

struct Usage {
  Micros cpu_user{0};
  Micros cpu_system{0};
  uint64_t peak_memory_bytes = 0;
  uint64_t stdout_bytes = 0;
  uint64_t stderr_bytes = 0;
  UsageScope scope = UsageScope::waited;
};

struct ExitStatus {
  bool warm = false;  // served by an interpreter that was running already
  int exit_code = 0;  // the program's own; 124 timeout, 125 infra, 126 policy, 128+N signal N
  int signal = 0;
  ExitReason reason = ExitReason::exited;
  HitLimit limit = HitLimit::none;
  Micros duration{0};
  Usage usage;
  // False where agent and user code share a uid, so that the guest could have forged this.
  bool attested = true;
};

struct ExecResult {
  ExitStatus status;
  std::string out;
  std::string err;
  bool truncated = false;  // more was written than was asked to be kept
};

struct ProcessInfo {
  ProcessId id = 0;
  int pid = 0;  // as the sandbox sees it
  std::vector<std::string> argv;
  std::string cwd;
  WallTime started_at{};
  bool running = true;
  bool terminal = false;
  ExitStatus status;  // when it no longer runs
  // What is still kept of each stream: [first, end) are offsets from the beginning of the output.
  uint64_t stdout_first = 0, stdout_end = 0;
  uint64_t stderr_first = 0, stderr_end = 0;
};

}  // namespace atl
