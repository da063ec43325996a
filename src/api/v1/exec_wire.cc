#include "api/v1/exec_wire.h"

#include "api/openapi/requests.h"
#include "base/text.h"
#include "base/time_words.h"
#include "core/request_check.h"

namespace atl::api::v1 {
namespace {

constexpr int64_t kMostCells = 10'000;  // in a row or column
constexpr int64_t kLargestOutputLimit = int64_t{1} << 50;

Error invalid(std::string_view field, std::string_view problem) {
  return Error(Code::invalid_argument, std::string(field) + ": " + std::string(problem))
      .at_stage("request");
}

Result<int64_t> in_range(std::string_view field, std::optional<int64_t> value, int64_t fallback,
                         int64_t most) {
  const int64_t number = value.value_or(fallback);
  if (number >= 0 && number <= most) return number;
  return invalid(field, std::to_string(number) + " is not between 0 and " + std::to_string(most));
}

Result<Millis> to_time(std::string_view field, std::optional<int64_t> value) {
  const Millis time(value.value_or(0));
  if (time.count() < 0) return invalid(field, std::to_string(time.count()) + " is less than zero");
  if (time <= kLongestTimeout) return time;
  return invalid(field, too_long(time, kLongestTimeout, "a command may run"));
}

Result<std::vector<std::string>> to_argv(WireExec& wire) {
  if (wire.argv && wire.command) return invalid("command", "give either argv or command");
  if (wire.argv) return *std::move(wire.argv);
  if (!wire.command) {
    return invalid("argv", "missing").with_hint(R"(say what to run: {"argv":["python3","-V"]})");
  }
  if (wire.command->empty()) return invalid("command", "it is empty");
  return std::vector<std::string>{"/bin/sh", "-c", *std::move(wire.command)};
}

double to_ms(Micros time) { return static_cast<double>(time.count()) / 1'000; }

void append_usage(std::string& out, const Usage& usage) {
  ObjectWriter object(out);
  object.member("cpu_ms", to_ms(usage.cpu_user + usage.cpu_system));
  object.member("cpu_user_ms", to_ms(usage.cpu_user));
  object.member("cpu_system_ms", to_ms(usage.cpu_system));
  object.member("peak_memory_bytes", usage.peak_memory_bytes);
  object.member("stdout_bytes", usage.stdout_bytes);
  object.member("stderr_bytes", usage.stderr_bytes);
  object.member("scope", usage.scope);
  object.close();
}

constexpr openapi::Field kTerminalFields[] = {
    {"rows", "", {.least = 1, .most = kMostCells}, R"({"default":24})"},
    {"cols", "", {.least = 1, .most = kMostCells}, R"({"default":80})"},
};

constexpr openapi::Field kExecFields[] = {
    {"argv", "", {.least = 1, .most = int64_t{kMostArguments}}},
    {"command", "Run as /bin/sh -c.", {.least = 1}},
    {"env", "Over the sandbox's own.", {.most = int64_t{kMostEnv}}},
    {"cwd", "Relative to the workspace. Absent: the sandbox's own, or the workspace."},
    {"user", "Absent: the sandbox's own."},
    {"stdin", "All of it; more may follow with `stdin_open`."},
    {"stdin_b64", "Instead of `stdin`.", {}, openapi::kBase64},
    {"stdin_open",
     "Leave stdin open for POST …/processes/{process}/stdin.",
     {},
     R"({"default":false})"},
    {"tty",
     "A terminal instead of pipes. Stdin is open unless `stdin_open` is false, and all output is "
     "stdout."},
    {"timeout_ms",
     "The whole tree is killed then. 0 is none.",
     {.least = 0, .most = kLongestTimeout.count()}},
    {"cpu_time_ms",
     "The whole tree is killed once it has used so much processor time; whole seconds for each "
     "process where limits.cpu_time is per_process. 0 is none.",
     {.least = 0, .most = kLongestTimeout.count()}},
    {"output_limit",
     "Bytes in all after which it is killed. 0 is none.",
     {.least = 0, .most = kLargestOutputLimit}},
    {"max_output_bytes",
     "What the JSON answer keeps of each stream, from its beginning. Absent: 8 MiB, in a batch "
     "64 KiB.",
     {.least = 0, .most = int64_t{kMostKeep}}},
    {"warm", "Whether an interpreter that waits may serve it.", {}, R"({"default":true})"},
};

}  // namespace

void describe_exec_requests(openapi::Schemas& schemas) {
  schemas.add<WireTerminal, kTerminalFields>();
  schemas.add<WireExec, kExecFields>(
      R"({"description":"Exactly one of argv and command; neither in a run of `code`.","allOf":[{"not":{"required":["argv","command"]}},{"not":{"required":["stdin","stdin_b64"]}}]})");
}

Result<TerminalSize> to_size(const WireTerminal& wire) {
  TerminalSize size;
  TRY(const int64_t rows, in_range("rows", wire.rows, size.rows, kMostCells));
  TRY(const int64_t columns, in_range("cols", wire.cols, size.columns, kMostCells));
  if (rows == 0 || columns == 0)
    return invalid("tty", "a terminal has at least one row and one column");
  size.rows = static_cast<uint16_t>(rows);
  size.columns = static_cast<uint16_t>(columns);
  return size;
}

Result<ExecPlan> to_plan(WireExec wire) {
  ExecPlan plan;
  TRY(plan.request.argv, to_argv(wire));
  if (wire.env) plan.request.env = *std::move(wire.env);
  plan.request.cwd = std::move(wire.cwd).value_or("");
  plan.request.user = std::move(wire.user).value_or("");
  if (wire.stdin_ && wire.stdin_b64) return invalid("stdin", "give either stdin or stdin_b64");
  if (wire.stdin_) plan.stdin_bytes = *std::move(wire.stdin_);
  if (wire.stdin_b64) {
    auto bytes = from_base64(*wire.stdin_b64);
    if (!bytes) return invalid("stdin_b64", "it is not base64");
    plan.stdin_bytes = *std::move(bytes);
  }
  if (wire.tty) {
    TRY(plan.request.terminal, to_size(*wire.tty));
    // A terminal whose other end nobody holds would be hung up at once.
    if (!wire.stdin_open) wire.stdin_open = true;
  }
  if (wire.stdin_open.value_or(false)) plan.after_stdin = AfterStdin::leave_open;
  if (plan.after_stdin == AfterStdin::leave_open || !plan.stdin_bytes.empty()) {
    plan.request.stdin_mode = StdinMode::open;
  }
  TRY(plan.request.timeout, to_time("timeout_ms", wire.timeout_ms));
  TRY(plan.request.cpu_time, to_time("cpu_time_ms", wire.cpu_time_ms));
  TRY(const int64_t limit, in_range("output_limit", wire.output_limit, 0, kLargestOutputLimit));
  plan.request.output_limit = static_cast<uint64_t>(limit);
  if (!wire.warm.value_or(true)) plan.request.warm = Warmth::refused;
  TRY(const int64_t keep, in_range("max_output_bytes", wire.max_output_bytes, int64_t{kDefaultKeep},
                                   int64_t{kMostKeep}));
  plan.keep = static_cast<size_t>(keep);
  auto checked = check_exec(plan.request);
  if (!checked) return std::move(checked).error().at_stage("request");
  return plan;
}

void append_exit(ObjectWriter& object, const ExitStatus& status, Truncated truncated) {
  object.member("exit_code", status.exit_code);
  if (status.signal != 0) object.member("signal", status.signal);
  object.member("reason", status.reason);
  if (status.limit != HitLimit::none) object.member("limit", status.limit);
  object.member("duration_ms", to_ms(status.duration));
  object.member("truncated", truncated == Truncated::yes);
  append_usage(object.key("usage"), status.usage);
  if (!status.attested) object.member("attested", false);
  if (status.warm) object.member("warm", true);
}

void append_run_facts(ObjectWriter& object, const RunFacts& facts) {
  object.member("driver", facts.driver);
  object.member("isolation", facts.isolation);
  object.member("stages", facts.stages);
}

size_t unfinished_tail(std::string_view bytes) {
  for (size_t back = 1; back <= std::min<size_t>(3, bytes.size()); ++back) {
    const auto byte = static_cast<uint8_t>(bytes[bytes.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;  // goes on; its beginning is further back
    const size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC2 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

void append_output(ObjectWriter& object, std::string_view name, std::string_view bytes,
                   Truncated truncated) {
  if (truncated == Truncated::yes) {
    const std::string_view whole = bytes.substr(0, bytes.size() - unfinished_tail(bytes));
    if (is_utf8(whole)) bytes = whole;
  }
  object.bytes(name, bytes);
}

}  // namespace atl::api::v1
