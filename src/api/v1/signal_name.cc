#include "api/v1/signal_name.h"

#include <csignal>
#include <string_view>

namespace atl::api::v1 {
namespace {

struct SignalName {
  std::string_view name;
  int number;
};
constexpr SignalName kSignals[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"ABRT", SIGABRT}, {"KILL", SIGKILL},
    {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"PIPE", SIGPIPE}, {"ALRM", SIGALRM}, {"TERM", SIGTERM},
    {"CHLD", SIGCHLD}, {"CONT", SIGCONT}, {"STOP", SIGSTOP}, {"TSTP", SIGTSTP}, {"WINCH", SIGWINCH},
    {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU}, {"URG", SIGURG},   {"TRAP", SIGTRAP}, {"SEGV", SIGSEGV},
};

}  // namespace

Result<int> to_signal(const json::Value& value) {
  if (const auto* number = value.if_int64(); number != nullptr && *number >= 1 && *number <= 64) {
    return static_cast<int>(*number);
  }
  if (const auto* text = value.if_string()) {
    std::string_view name(text->data(), text->size());
    if (name.starts_with("SIG")) name.remove_prefix(3);
    for (const auto& known : kSignals) {
      if (known.name == name) return known.number;
    }
  }
  return Error(Code::invalid_argument,
               R"(signal: it is a number from 1 to 64 or a name such as "SIGTERM")")
      .at_stage("request");
}

}  // namespace atl::api::v1
