// `atoll doctor`: what this host offers, what each driver makes of it, and what repairs the rest.
#include "cli/doctor.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/verbs.h"

namespace atl::cli {
namespace {

constexpr int64_t kTryoutPatienceMs = 30'000;

constexpr Flag kFlags[] = {
    {"attack", 0, "", "run the attack programs in sandboxes here and print the scorecard"},
    {"driver", 0, "NAME", "with --attack: the driver to attack; otherwise the default one"},
    {"bundle", 0, "FILE", "pack diagnostics, without secrets, into FILE (.tar.gz or .tar)"},
};

Tryout try_out(SandboxRunner& runner) {
  api::v1::WireExec exec;
  exec.argv = std::vector<std::string>{"true"};
  exec.timeout_ms = kTryoutPatienceMs;
  const Micros began = system_clock().boot();
  const auto result = runner.run({}, std::move(exec));
  Tryout tryout;
  tryout.ms = static_cast<double>((system_clock().boot() - began).count()) / 1'000;
  if (!result) {
    tryout.trouble = result.error().message();
    tryout.hint = result.error().hint();
  } else if (number_at(*result, "exit_code") != 0) {
    tryout.trouble = "`true` ended with " + std::to_string(int(number_at(*result, "exit_code"))) +
                     ", " + text_at(*result, "reason");
  } else {
    tryout.ran = true;
  }
  return tryout;
}

bool is_coloured() {
  const char* no = getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) == 1 && (no == nullptr || *no == '\0');
}

Result<int> doctor(Context& context) {
  const Args& args = context.args;
  if (args.has("attack") && args.has("bundle")) {
    return usage_error("--attack and --bundle are two commands");
  }
  if (args.has("driver") && !args.has("attack")) return usage_error("--driver goes with --attack");
  if (args.has("attack")) return attack_from_inside(context);
  if (const auto path = args.find("bundle")) return write_bundle(context, *path);

  std::unique_ptr<SandboxRunner> runner;
  const DoctorReport report = examine(context, runner);
  if (context.json()) {
    TRY_OK(print(to_json(report) + "\n"));
  } else if (!context.quiet()) {
    TRY_OK(print(to_text(report, is_coloured() ? Colour::coloured : Colour::plain)));
  }
  return report.is_fit() ? 0 : 1;
}

}  // namespace

DoctorReport examine(Context& context, std::unique_ptr<SandboxRunner>& runner) {
  native::WhereToLook where{.state_directory = "", .libexec = "", .own_version = ATOLL_VERSION};
  if (const auto state = state_directory_from(context.args, find_variable)) {
    where.state_directory = *state;
  }
  if (const auto libexec = context.program.find_libexec()) where.libexec = *libexec;

  DoctorReport report;
  report.version = ATOLL_VERSION;
  report.user = geteuid() == 0 ? "root" : "user " + std::to_string(geteuid());
  // Before there is an engine: what is tried here forks.
  report.checks = native::judge_host(native::look_at_host(where));

  const auto ask = [&]() -> Result<> {
    TRY(runner, SandboxRunner::open(context));
    report.where = runner->where();
    TRY(report.drivers, runner->drivers());
    return {};
  };
  if (const auto asked = ask(); !asked) {
    report.trouble = asked.error().message();
    report.hint = asked.error().hint();
    return report;
  }
  report.default_driver = find_default_driver(report.drivers);
  if (!report.default_driver.empty()) report.tryout = try_out(*runner);
  return report;
}

const Verb kDoctorVerb{
    .grammar = {.verb = "doctor", .usage = "[FLAGS]", .flags = {kFlags, kEverywhereFlags}},
    .group = kDaemonGroup,
    .summary = "Show what this host offers to sandboxes, and how to repair the rest",
    .more =
        "Changes nothing, and needs neither root nor a daemon. Exit code 0 if the default driver "
        "ran a\n"
        "command, 1 otherwise. --attack: 0 if nothing was reached, 1 otherwise; it takes about a\n"
        "minute, and needs libexec/atoll/atoll-attack.",
    .run = doctor};

}  // namespace atl::cli
