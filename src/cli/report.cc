#include "cli/report.h"

#include <fmt/core.h>
#include <signal.h>
#include <string.h>

#include "base/text.h"
#include "cli/args.h"
#include "cli/format.h"
#include "json/write.h"

namespace atl::cli {

int exit_code_of(const Error& error) {
  if (is_usage_error(error)) return kExitUsage;
  if (error.code() == Code::permission_denied) return kExitRefused;
  return kExitAtollFailed;
}

std::string to_text(const Error& error, std::string_view request_id) {
  std::string text = "atoll: " + single_line(error.message()) + "\n";
  if (!error.hint().empty()) text += "  hint: " + single_line(error.hint()) + "\n";
  if (!request_id.empty()) text += fmt::format("  request: {}\n", single_line(request_id));
  return text;
}

std::string to_json(const Error& error, std::string_view request_id) {
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
  add("request_id", request_id);
  return out + "}}\n";
}

std::string summary_line(const RunFacts& facts) {
  return fmt::format("· {} · {} · start {} · cpu {} · peak {}", single_line(facts.driver),
                     single_line(facts.isolation), format_ms(facts.start_ms),
                     format_ms(facts.cpu_ms), format_bytes(facts.peak_memory_bytes));
}

std::string explain_end(const RunFacts& facts) {
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
                       name != nullptr ? "SIG" + std::string(name) : fmt::to_string(facts.signal));
  }
  return "";
}

int exit_code_of(const RunFacts& facts) {
  if (facts.reason == "timeout") return kExitTimeout;
  if (facts.reason == "infra") return kExitAtollFailed;
  if (facts.reason == "policy") return kExitRefused;
  return facts.exit_code;
}

}  // namespace atl::cli
