// `atoll doctor`: what this host offers, what each driver makes of it, and what repairs the rest.
#include "cli/doctor.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "cli/doctor_driver.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/screen.h"
#include "cli/verbs.h"
#include "config/kinds.h"

namespace atl::cli {
namespace {

constexpr int64_t kTryoutPatienceMs = 30'000;

constexpr Flag kFlags[] = {
    {"attack", 0, "", "run the attack programs in sandboxes here and print the scorecard"},
    {"driver", 0, "NAME", "with --attack: the driver to attack; otherwise the default one"},
    {"bundle", 0, "FILE", "pack diagnostics, without secrets, into FILE (.tar.gz or .tar)"},
};

// In a sandbox of that driver; "" = of the one that is taken by default.
Tryout try_out(SandboxRunner& runner, const std::string& driver) {
  api::v1::WireExec exec;
  exec.argv = std::vector<std::string>{"true"};
  exec.timeout_ms = kTryoutPatienceMs;
  api::v1::WireCreate sandbox;
  if (!driver.empty()) sandbox.driver = driver;
  const Micros began = system_clock().boot();
  const auto result = runner.run(std::move(sandbox), std::move(exec));
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

native::WhereToLook where_to_look(Context& context) {
  native::WhereToLook where{.state_directory = "", .libexec = "", .own_version = ATOLL_VERSION};
  if (const auto state = state_directory_from(context.args, find_variable)) {
    where.state_directory = *state;
  }
  if (const auto libexec = context.program.find_libexec()) where.libexec = *libexec;
  return where;
}

std::string user_now() { return geteuid() == 0 ? "root" : "user " + std::to_string(geteuid()); }

Result<> ask_about(Context& context, DriverReport& report) {
  TRY(const auto runner, SandboxRunner::open(context));
  report.where = runner->where();
  TRY(const json::Array drivers, runner->drivers());
  report.instead = find_default_driver(drivers);
  if (!report.is_built) return {};
  for (const json::Value& driver : drivers) {
    if (text_at(driver, "name") == report.name) report.driver = driver;
  }
  report.needs_root = flag_at(report.driver, "capabilities.needs_root_dir");
  if (flag_at(report.driver, "available") && !report.needs_root) {
    report.tryout = try_out(*runner, report.name);
  }
  return {};
}

Result<DriverReport> examine_driver(Context& context, const std::string& word) {
  const auto built = context.program.driver_names();
  const auto name = find_driver_kind(word, built);
  if (!name) {
    auto known = config::kind_names();
    known.insert(known.end(), built.begin(), built.end());
    const std::string near = did_you_mean(word, known);
    return usage_error("no driver is called " + to_printable(word))
        .with_hint(near.empty() ? "atoll drivers lists those that are here"
                                : "did you mean: atoll doctor " + near);
  }
  DriverReport report{.version = ATOLL_VERSION, .user = user_now(), .name = *name};
  report.is_built = std::ranges::find(built, *name) != built.end();
  if (const config::Kind* kind = config::find_kind(*name)) report.level = kind->level;
  // Before there is an engine: what is tried here forks.
  report.checks =
      checks_for(*name, native::judge_host(native::look_at_host(where_to_look(context))));
  if (const auto asked = ask_about(context, report); !asked) {
    report.trouble = asked.error().message();
    report.hint = asked.error().hint();
  }
  return report;
}

Result<int> tell_about_driver(Context& context, const std::string& word) {
  TRY(const DriverReport report, examine_driver(context, word));
  if (context.json()) {
    TRY_OK(print(to_json(report) + "\n"));
  } else if (!context.quiet()) {
    TRY_OK(print(to_text(report, paint_for(STDOUT_FILENO), columns_of(STDOUT_FILENO))));
  }
  return report.is_fit() ? 0 : 1;
}

Result<int> doctor(Context& context) {
  const Args& args = context.args;
  if (args.has("attack") && args.has("bundle")) {
    return usage_error("--attack and --bundle are two commands");
  }
  if (args.has("driver") && !args.has("attack")) return usage_error("--driver goes with --attack");
  if (!args.words().empty() && (args.has("attack") || args.has("bundle"))) {
    return usage_error("--attack and --bundle are about all of it; they take no DRIVER");
  }
  if (args.has("attack")) return attack_from_inside(context);
  if (const auto path = args.find("bundle")) return write_bundle(context, *path);
  if (!args.words().empty()) return tell_about_driver(context, args.words()[0]);

  std::unique_ptr<SandboxRunner> runner;
  const DoctorReport report = examine(context, runner);
  if (context.json()) {
    TRY_OK(print(to_json(report) + "\n"));
  } else if (!context.quiet()) {
    TRY_OK(print(to_text(report, paint_for(STDOUT_FILENO), columns_of(STDOUT_FILENO))));
  }
  return report.is_fit() ? 0 : 1;
}

}  // namespace

DoctorReport examine(Context& context, std::unique_ptr<SandboxRunner>& runner) {
  DoctorReport report;
  report.version = ATOLL_VERSION;
  report.user = user_now();
  // Before there is an engine: what is tried here forks.
  report.checks = native::judge_host(native::look_at_host(where_to_look(context)));

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
  if (!report.default_driver.empty()) report.tryout = try_out(*runner, "");
  return report;
}

const Verb kDoctorVerb{
    .grammar = {.verb = "doctor",
                .usage = "[FLAGS] [DRIVER]",
                .flags = {kFlags, kEverywhereFlags},
                .most_words = 1},
    .group = kDaemonGroup,
    .summary = "Show what this host offers to sandboxes, and how to repair the rest",
    .more =
        "Changes nothing, and needs neither root nor a daemon. With a DRIVER (native, docker, …) "
        "it\n"
        "looks at what that one needs. Exit code 0 if the driver, or without one the default, ran "
        "a\n"
        "command; 1 otherwise. --attack: 0 if nothing was reached, 1 otherwise; it takes about a\n"
        "minute, and needs libexec/atoll/atoll-attack.",
    .run = doctor};

}  // namespace atl::cli
