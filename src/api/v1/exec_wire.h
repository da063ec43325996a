// Commands as JSON: what a client asks to run, and what it is told about the end.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/object_writer.h"
#include "core/engine.h"
#include "driver/feed_stdin.h"
#include "json/describe.h"

namespace atl::api::v1 {

// Of a terminal; 24 rows of 80 columns if not told.
struct WireTerminal {
  static constexpr std::string_view kSchema = "Terminal";
  std::optional<int64_t> rows;
  std::optional<int64_t> cols;
};
BOOST_DESCRIBE_STRUCT(WireTerminal, (), (rows, cols))

struct WireExec {
  static constexpr std::string_view kSchema = "Exec";
  std::optional<std::vector<std::string>> argv;
  std::optional<std::string> command;  // for /bin/sh -c
  std::optional<std::map<std::string, std::string>> env;
  std::optional<std::string> cwd;
  std::optional<std::string> user;
  std::optional<std::string> stdin_;
  std::optional<std::string> stdin_b64;
  std::optional<bool> stdin_open;   // more stdin comes by POST …/processes/{process}/stdin
  std::optional<WireTerminal> tty;  // instead of pipes
  std::optional<int64_t> timeout_ms;
  std::optional<int64_t> cpu_time_ms;
  std::optional<int64_t> output_limit;
  std::optional<int64_t> max_output_bytes;
  std::optional<bool> warm;  // false: by an interpreter that was started for it
};
BOOST_DESCRIBE_STRUCT(WireExec, (),
                      (argv, command, env, cwd, user, stdin_, stdin_b64, stdin_open, tty,
                       timeout_ms, cpu_time_ms, output_limit, max_output_bytes, warm))

struct ExecPlan {
  ExecRequest request;
  std::string stdin_bytes;
  AfterStdin after_stdin = AfterStdin::close;
  size_t keep = 0;  // bytes of each stream that a whole answer holds
};

inline constexpr size_t kDefaultKeep = size_t{8} << 20;
inline constexpr size_t kMostKeep = size_t{64} << 20;

Result<ExecPlan> to_plan(WireExec wire);
Result<TerminalSize> to_size(const WireTerminal& wire);

// What only a run knows.
struct RunFacts {
  std::string driver;
  Isolation isolation = Isolation::none;
  std::vector<Stage> stages;
};

// Everything but the output: exit_code, signal, reason, limit, duration_ms, truncated, usage,
// attested.
enum class Truncated : uint8_t { no, yes };
void append_exit(ObjectWriter& object, const ExitStatus& status, Truncated truncated);
void append_run_facts(ObjectWriter& object, const RunFacts& facts);

// As stdout, or stdout_b64 when it is not UTF-8. A cut in the middle of a character does not make
// text binary.
void append_output(ObjectWriter& object, std::string_view name, std::string_view bytes,
                   Truncated truncated);

// How many bytes at the end are the beginning of a UTF-8 character whose rest is yet to come: 0
// to 3.
size_t unfinished_tail(std::string_view bytes);

}  // namespace atl::api::v1
