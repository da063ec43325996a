// How the command line tells what happened: errors, exit codes, and the one line after a run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/screen.h"
#include "core/engine.h"
#include "json/value.h"

namespace atl::cli {

constexpr int kExitUsage = 2;
constexpr int kExitTimeout = 124;
constexpr int kExitAtollFailed = 125;
constexpr int kExitRefused = 126;
constexpr int kExitOutputGone = 141;  // as the shell shows a program that SIGPIPE ended

// The exit code of a command line that failed before or outside the user's program: 2, 125, or 126
// for a refusal.
int exit_code_of(const Error& error);

// "atoll: what: why", the hint and the request's id below it. Whatever a guest or a server said is
// made printable.
struct Look {
  Paint paint = Paint::plain;
  std::optional<size_t> columns = std::nullopt;  // where lines are broken; none = nowhere
};
std::string to_text(const Error& error, std::string_view request_id, Look look = {});
// {"ok":false,"error":{"code":…,"message":…,"stage":…,"hint":…,"sandbox":…,"stages":[…],"request_id":…}}
std::string to_json(const Error& error, std::string_view request_id);

// What is told about a command that has ended, wherever it ran.
struct RunFacts {
  std::string driver;
  std::string isolation;
  double start_ms = 0;
  int exit_code = 0;
  int signal = 0;
  std::string reason;  // an ExitReason
  std::string limit;   // a HitLimit
  double cpu_ms = 0;
  uint64_t peak_memory_bytes = 0;
};

// "· subprocess · process · start 3.1 ms · cpu 12 ms · peak 9 MB"
std::string summary_line(const RunFacts& facts);
// Why it ended, in words, when the exit code alone would leave people guessing; "" otherwise.
std::string explain_end(const RunFacts& facts);

// The exit code of `atoll run` and `atoll exec`.
int exit_code_of(const RunFacts& facts);

RunFacts facts_from(const RunResult& result);
// From an exit of the API: what it does not tell stays empty.
RunFacts facts_from(const json::Value& exit);

enum class Summary : uint8_t { none, on_terminal };
// Says on stderr why the command ended, if that needs words, and the summary line below it.
void tell_end(const RunFacts& facts, Summary summary);

// The error on stderr, in colour where that is taken.
void tell_error(const Error& error, std::string_view request_id);
// A line for people on stderr.
void tell(std::string_view line);
// The same, dim where the terminal can.
void tell_dim(std::string_view line);

}  // namespace atl::cli
