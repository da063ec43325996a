#include "cli/report.h"

#include <fmt/core.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/refusal.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/flag_words.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/screen.h"
#include "cli/text_width.h"
#include "json/describe.h"
#include "json/encode.h"
#include "json/write.h"
#include "os/file.h"

namespace atl::cli {
namespace {

// What passed before the command ran.
template <typename Stages>
double start_ms(const Stages& stages) {
  double sum = 0;
  for (const Stage& stage : stages) {
    if (stage.name != "exec" && stage.name != "destroy") sum += stage.ms;
  }
  return sum;
}

std::vector<Stage> to_stages(const Refusal& refusal) {
  std::vector<Stage> stages;
  stages.reserve(refusal.stages.size());
  for (const StartStage& stage : refusal.stages)
    stages.push_back({stage.name, stage.ms, stage.log});
  return stages;
}

// "sbx… route 0.1 ms, intent 0.2 ms, readiness 400.0 ms"; "" when it did not come beyond its route.
std::string start_line(const Refusal& refusal) {
  if (refusal.sandbox.empty() || refusal.stages.size() < 2) return "";
  std::string line = refusal.sandbox;
  for (const StartStage& stage : refusal.stages) {
    line += fmt::format("{} {} {}", &stage == &refusal.stages.front() ? ":" : ",",
                        single_line(stage.name), format_ms(stage.ms));
  }
  return line;
}

// What Atoll was doing, for messages that do not say so themselves.
std::string_view doing_at(std::string_view stage) {
  if (stage == "route" || stage == "intent" || stage == "create" || stage == "commit") {
    return "creating the sandbox: ";
  }
  if (stage == "exec") return "running the command: ";
  if (stage == "authenticate") return "signing in to the daemon: ";
  return "";
}

}  // namespace

int exit_code_of(const Error& error) {
  if (is_output_gone(error)) return kExitOutputGone;
  if (is_usage_error(error) || is_about_time(error)) return kExitUsage;
  if (error.code() == Code::permission_denied) return kExitRefused;
  return kExitAtollFailed;
}

std::string to_text(const Error& told, std::string_view request_id, Look look) {
  const Error error = in_flag_words(told);
  const auto in = [&](Ink ink, std::string_view words) {
    return look.paint == Paint::coloured ? inked(words, ink) : std::string(words);
  };
  const auto broken = [&](std::string_view words, size_t indent) {
    const std::string line = single_line(words);
    return look.columns ? wrapped(line, *look.columns, indent) : line;
  };
  std::string text = fmt::format("{} {}\n", in(Ink::bad, "atoll:"),
                                 broken(std::string(doing_at(error.stage())) + error.message(), 7));
  if (!error.hint().empty())
    text += fmt::format("  {} {}\n", in(Ink::accent, "hint:"), broken(error.hint(), 8));
  if (const auto& refusal = error.refusal()) {
    if (const std::string line = start_line(*refusal); !line.empty())
      text += fmt::format("  {} {}\n", in(Ink::dim, "start:"), broken(line, 9));
  }
  if (!request_id.empty())
    text += "  " + in(Ink::dim, "request: " + single_line(request_id)) + "\n";
  return text;
}

std::string to_json(const Error& told, std::string_view request_id) {
  const Error error = in_flag_words(told);
  std::string out = R"({"ok":false,"error":{"code":)";
  const auto add = [&](std::string_view key, std::string_view value) {
    if (value.empty()) return;
    out += fmt::format(",\"{}\":", key);
    json::write_string(out, value);
  };
  json::write_string(out, to_string(error.code()));
  add("message", error.message());
  add("stage", error.stage());
  add("hint", error.hint());
  if (const auto& refusal = error.refusal(); refusal && !refusal->sandbox.empty()) {
    add("sandbox", refusal->sandbox);
    out += ",\"stages\":" + json::encode(to_stages(*refusal));
  }
  add("request_id", request_id);
  return out + "}}\n";
}

std::string summary_line(const RunFacts& facts) {
  return fmt::format("· {} · {} · start {} · cpu {} · peak {}", single_line(facts.driver),
                     single_line(facts.isolation), format_ms(facts.start_ms),
                     format_ms(facts.cpu_ms), format_bytes(facts.peak_memory_bytes));
}

std::string explain_end(const RunFacts& facts) {
  if (facts.limit == "cpu_time") return "the command used up its processor time and was killed";
  if (facts.limit == "output") return "the command wrote more than it may and was killed";
  if (facts.reason == "timeout") return "the command ran into its timeout and was killed";
  if (facts.reason == "oom") return "the command was killed: it used more memory than it may";
  if (facts.reason == "policy") return "the command was stopped by a rule of its sandbox";
  if (facts.reason == "infra") return "the sandbox went away while the command ran";
  if (facts.reason == "killed") return "the command was killed";
  if (facts.reason == "signaled" && facts.signal == SIGKILL) {
    return "the command was killed (SIGKILL), perhaps because the host ran out of memory";
  }
  if (facts.reason == "signaled" && facts.signal != SIGINT && facts.signal != SIGPIPE) {
    const char* name = sigabbrev_np(facts.signal);
    return fmt::format("the command ended by signal {}",
                       name != nullptr ? "SIG" + std::string(name) : std::to_string(facts.signal));
  }
  return "";
}

int exit_code_of(const RunFacts& facts) {
  if (facts.reason == "timeout") return kExitTimeout;
  if (facts.reason == "infra") return kExitAtollFailed;
  if (facts.reason == "policy") return kExitRefused;
  return facts.exit_code;
}

RunFacts facts_from(const RunResult& result) {
  const ExitStatus& status = result.exec.status;
  const Micros cpu = status.usage.cpu_user + status.usage.cpu_system;
  return RunFacts{.driver = result.driver,
                  .isolation = std::string(json::name_of(result.isolation)),
                  .start_ms = start_ms(result.stages),
                  .exit_code = status.exit_code,
                  .signal = status.signal,
                  .reason = std::string(json::name_of(status.reason)),
                  .limit = std::string(json::name_of(status.limit)),
                  .cpu_ms = static_cast<double>(cpu.count()) / 1'000,
                  .peak_memory_bytes = status.usage.peak_memory_bytes};
}

RunFacts facts_from(const json::Value& exit) {
  std::vector<Stage> stages;
  for (const json::Value& stage : list_at(exit, "stages")) {
    stages.push_back({text_at(stage, "name"), number_at(stage, "ms")});
  }
  return RunFacts{
      .driver = text_at(exit, "driver"),
      .isolation = text_at(exit, "isolation"),
      .start_ms = start_ms(stages),
      .exit_code = static_cast<int>(number_at(exit, "exit_code")),
      .signal = static_cast<int>(number_at(exit, "signal")),
      .reason = text_at(exit, "reason"),
      .limit = text_at(exit, "limit"),
      .cpu_ms = number_at(exit, "usage.cpu_ms"),
      .peak_memory_bytes = static_cast<uint64_t>(number_at(exit, "usage.peak_memory_bytes"))};
}

void tell_error(const Error& error, std::string_view request_id) {
  static_cast<void>(os::write_all(
      STDERR_FILENO,
      to_text(error, request_id, {paint_for(STDERR_FILENO), columns_of(STDERR_FILENO)})));
}

void tell(std::string_view line) {
  static_cast<void>(os::write_all(STDERR_FILENO, std::string(line) + "\n"));
}

void tell_dim(std::string_view line) { tell(inked_for(STDERR_FILENO, line, Ink::dim)); }

void tell_end(const RunFacts& facts, Summary summary) {
  if (const std::string why = explain_end(facts); !why.empty()) tell("atoll: " + why);
  if (summary == Summary::none || facts.driver.empty() || isatty(STDERR_FILENO) != 1) return;
  tell_dim(summary_line(facts));
}

}  // namespace atl::cli
