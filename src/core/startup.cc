#include "core/startup.h"

#include <boost/asio/this_coro.hpp>

#include "base/event.h"
#include "base/text.h"
#include "core/hooks.h"
#include "core/packages.h"
#include "core/preparation.h"

namespace atl {
namespace {

constexpr size_t kKept = 64 * 1024;  // of what a command says
constexpr Millis kVersionPatience{30'000};
constexpr Millis kLongestTry{10'000};  // of one question whether it is ready

// $1 must be there; with $2 it is asked for its version.
constexpr const char* kLook =
    R"(command -v -- "$1" >/dev/null 2>&1 || exit 127; [ -z "$2" ] || "$1" --version 2>&1)";

ExecRequest shell(std::string command, Millis timeout, const ExecDefaults& defaults) {
  ExecRequest exec;
  exec.argv = {"sh", "-c", std::move(command)};
  exec.timeout = timeout;
  exec.user = defaults.user;
  exec.cwd = defaults.cwd;
  return exec;
}

bool is_fine(const ExecResult& result) {
  return result.status.reason == ExitReason::exited && result.status.exit_code == 0;
}

Task<> set_up(Guest& guest, std::vector<policy::SetupStep> steps, StartupFacts facts) {
  for (size_t i = 0; i < steps.size(); ++i) {
    SetupCommand step{
        .name = "setup: step " + std::to_string(i + 1),
        .exec = shell(std::move(steps[i].command), Millis(steps[i].timeout_ms), facts.defaults),
        .env_offline = {}};
    CO_TRY_OK(co_await run_setup(guest, std::move(step), facts.network));
  }
  co_return Result<>();
}

Task<> install(Guest& guest, policy::Dependencies dependencies, StartupFacts facts) {
  auto commands = installers_of(dependencies, facts.defaults.user, facts.defaults.cwd);
  for (auto& command : commands) {
    auto done = co_await run_setup(guest, std::move(command), facts.network);
    if (!done) co_return std::move(done).error();
  }
  co_return Result<>();
}

Error missing(const policy::Requirement& requirement, const std::string& why) {
  return Error(Code::unsupported, "requires: " + requirement.text + ": " + why)
      .with_hint("take an image or a template that has it, or install it in the profile's setup");
}

Task<> look_for(Guest& guest, policy::Requirement requirement, StartupFacts facts, Micros now) {
  const bool asks_version = requirement.comparison != policy::Comparison::any;
  for (const std::string& name : names_of(requirement)) {
    ExecRequest exec = shell(kLook, kVersionPatience, facts.defaults);
    exec.argv.insert(exec.argv.end(), {"sh", name, asks_version ? "1" : ""});
    auto looked = co_await exec_collect(guest, std::move(exec), "", kKept);
    if (!looked) co_return std::move(looked).error().with("requires: " + requirement.text);
    const bool is_there = looked->status.exit_code != 127;
    const bool is_known = is_fine(*looked) || !is_there;
    const auto version =
        is_there && asks_version ? policy::find_version(looked->out) : std::vector<int64_t>();
    if (facts.known != nullptr && facts.root.may_add && is_known)
      facts.known->note(facts.driver, facts.root.print, name,
                        {is_there, asks_version, version, now});
    if (!is_there) continue;
    if (!is_fine(*looked)) co_return missing(requirement, name + " --version fails");
    if (is_met(requirement, version)) co_return Result<>();
    if (version.empty()) co_return missing(requirement, name + " tells no version");
    co_return missing(requirement, "the sandbox has " + policy::to_text(version));
  }
  co_return missing(requirement, "the sandbox has none");
}

// What keeps it from being ready; "" when it is.
Task<std::string> find_obstacle(Guest& guest, policy::Readiness readiness, Millis patience,
                                StartupFacts facts) {
  if (readiness.port) {
    auto tunnel = co_await guest.dial(*readiness.port);
    if (tunnel) co_return std::string();
    if (tunnel.error().code() != Code::unavailable) co_return std::move(tunnel).error();
    co_return "nobody listens on port " + std::to_string(*readiness.port);
  }
  CO_TRY(const auto asked,
         co_await exec_collect(guest, shell(std::move(readiness.command), patience, facts.defaults),
                               "", kKept));
  if (is_fine(asked)) co_return std::string();
  std::string said = last_words(asked);
  if (said.empty()) said = "the command ends with " + std::to_string(asked.status.exit_code);
  co_return said;
}

std::string in_words(const std::vector<policy::Requirement>& needs) {
  std::string text;
  for (const auto& one : needs) text += (text.empty() ? "" : ", ") + one.text;
  return text;
}

// What has said yes, and when.
std::string in_words(const policy::Readiness& readiness, int tries) {
  const std::string what = readiness.port ? "port " + std::to_string(*readiness.port) + " answers"
                                          : "the command says yes";
  return what + ", question " + std::to_string(tries);
}

Task<std::string> wait_until_ready(Guest& guest, policy::Readiness readiness, StartupFacts facts,
                                   const Clock& clock) {
  const auto executor = co_await asio::this_coro::executor;
  const Micros deadline = clock.boot() + Millis(readiness.timeout_ms);
  for (int tries = 1;; ++tries) {
    const auto left = std::chrono::ceil<Millis>(deadline - clock.boot());
    auto obstacle =
        co_await find_obstacle(guest, readiness, std::clamp(left, Millis(1), kLongestTry), facts);
    if (!obstacle) co_return std::move(obstacle).error().with("readiness");
    if (obstacle->empty()) co_return in_words(readiness, tries);
    if (clock.boot() + Millis(readiness.interval_ms) >= deadline) {
      co_return Error(Code::deadline_exceeded, "readiness: not ready within " +
                                                   std::to_string(readiness.timeout_ms) +
                                                   " ms: " + *obstacle);
    }
    Event pause(executor);
    const auto paused = co_await pause.wait_for(Millis(readiness.interval_ms));
    if (paused.error().code() != Code::deadline_exceeded) co_return paused.error();
  }
}

}  // namespace

StartupFacts startup_facts(Parts& parts, const SandboxRecord& record, const SnapshotView* from) {
  StartupFacts facts{.defaults = record.asked.defaults(),
                     .is_restored = !record.asked.snapshot.empty(),
                     .goes_on = from != nullptr && from->kind == SnapshotKind::memory};
  facts.driver = record.driver;
  const auto* slot = parts.drivers.find(record.driver);
  const bool is_cut_off = record.asked.network == Network::none;
  if (is_cut_off && slot != nullptr && slot->capabilities)
    facts.network = slot->capabilities->network;
  return facts;
}

Task<> start_up(Guest& guest, std::shared_ptr<const policy::Startup> startup, StartupFacts facts,
                const Clock& clock, telemetry::StageTimer& timer) {
  using policy::Layer;
  if (!startup) co_return Result<>();
  const bool installs = startup->dependencies && !startup->dependencies->is_empty();
  if (installs && !facts.is_restored && facts.has < Layer::dependencies) {
    auto done = co_await install(guest, *startup->dependencies, facts);
    if (!done) co_return std::move(done).error().at_stage("dependencies");
    if (facts.why_no_layer.empty()) {
      timer.mark("dependencies");
    } else {
      timer.tell("dependencies", "installed each time: " + facts.why_no_layer);
    }
  }
  if (facts.keeps == Layer::dependencies) {
    CO_TRY(auto kept, co_await facts.keep());
    timer.tell("layer", std::move(kept));
  }
  if (startup->setup && !facts.is_restored && facts.has < Layer::setup) {
    auto done = co_await set_up(guest, *startup->setup, facts);
    if (!done) co_return std::move(done).error().at_stage("setup");
    timer.mark("setup");
    timer.note("setup", std::to_string(startup->setup->size()) + " done");
  }
  if (facts.keeps == Layer::setup) {
    CO_TRY(auto kept, co_await facts.keep());
    timer.tell("layer", std::move(kept));
  }
  const bool is_known =
      startup->requires_ && facts.known != nullptr &&
      facts.known->has_all(facts.driver, facts.root.print, *startup->requires_, clock.boot());
  if (is_known) {
    timer.tell("requires", "known from an earlier start");
  } else if (startup->requires_) {
    for (const auto& requirement : *startup->requires_) {
      auto found = co_await look_for(guest, requirement, facts, clock.boot());
      if (!found) co_return std::move(found).error().at_stage("requires");
    }
    timer.mark("requires");
    timer.note("requires", "found " + in_words(*startup->requires_));
  }
  if (has_hooks(startup->after_start) && !facts.goes_on) {
    auto said = co_await run_hooks(guest, *startup->after_start, facts.defaults);
    if (!said) co_return std::move(said).error().with("after_start").at_stage("after_start");
    if (said->empty()) {
      timer.mark("after_start");
    } else {
      timer.tell("after_start", *std::move(said));
    }
  }
  if (startup->readiness) {
    auto ready = co_await wait_until_ready(guest, *startup->readiness, facts, clock);
    if (!ready) co_return std::move(ready).error().at_stage("readiness");
    timer.mark("readiness");
    timer.note("readiness", *ready);
  }
  co_return Result<>();
}

}  // namespace atl
