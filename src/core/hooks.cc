#include "core/hooks.h"

#include "core/preparation.h"
#include "core/profile_use.h"
#include "telemetry/log.h"

namespace atl {
namespace {

// Of all hooks of a sandbox, when everything has to end soon.
constexpr Millis kMostAtShutDown = std::chrono::seconds(10);

struct Outcome {
  explicit Outcome(const asio::any_io_executor& executor) : done(executor) {}

  Event done;
  Result<std::string> said = Error(Code::deadline_exceeded, "the sandbox does not answer");
};

// Goes on when nobody waits any more, so it holds what it uses.
Task<> run_for(std::shared_ptr<Outcome> outcome, std::shared_ptr<Sandbox> handle,
               std::vector<policy::SetupStep> hooks, ExecDefaults defaults) {
  auto said = co_await run_hooks(handle->guest(), std::move(hooks), std::move(defaults));
  outcome->said = std::move(said);
  outcome->done.fire();
  co_return Result<>();
}

// In place of what was said the last time, so that there is never more than one of a name.
void note_stage(SandboxRecord& record, Stage stage) {
  std::erase_if(record.stages, [&](const Stage& one) { return one.name == stage.name; });
  record.stages.push_back(std::move(stage));
  record.asked.course.stages = record.stages;
}

Stage to_stage(std::string_view name, Micros took, std::string said) {
  Stage stage{std::string(name), static_cast<double>(took.count()) / 1'000, std::nullopt};
  if (!said.empty()) stage.log = std::move(said);
  return stage;
}

}  // namespace

Result<std::shared_ptr<const policy::Startup>> find_startup(const SandboxRecord& record,
                                                            const policy::Profiles& profiles) {
  if (!record.asked.startup) return nullptr;
  auto known = profiles.get(record.asked.profile);
  if (!known) return std::move(known).error().with("what starts the sandbox up");
  return std::make_shared<const policy::Startup>((*known)->profile.startup);
}

bool has_hooks(const std::optional<std::vector<policy::SetupStep>>& hooks) {
  return hooks && !hooks->empty();
}

Task<std::string> run_hooks(Guest& guest, std::vector<policy::SetupStep> hooks,
                            ExecDefaults defaults) {
  std::string all;
  for (size_t i = 0; i < hooks.size(); ++i) {
    SetupCommand hook{.name = "hook " + std::to_string(i + 1), .exec = {}, .env_offline = {}};
    hook.exec.argv = {"sh", "-c", std::move(hooks[i].command)};
    hook.exec.timeout = Millis(hooks[i].timeout_ms);
    hook.exec.user = defaults.user;
    hook.exec.cwd = defaults.cwd;
    CO_TRY(const std::string said,
           co_await run_setup(guest, std::move(hook), NetworkControl::none));
    if (!said.empty()) all.append(all.empty() ? "" : "; ").append(said);
  }
  co_return all;
}

Task<> run_after_start(Parts& parts, RecordPtr record) {
  if (!record->asked.start_hooks) co_return Result<>();
  CO_TRY(const auto startup,
         at_stage("after_start", find_startup(*record, profiles_of(parts.options))));
  if (!startup || !has_hooks(startup->after_start)) co_return Result<>();
  const auto handle = record->handle;
  const Micros began = parts.clock.boot();
  auto said = co_await run_hooks(handle->guest(), *startup->after_start, record->asked.defaults());
  const Micros took = parts.clock.boot() - began;
  note_stage(*record, to_stage("after_start", took, said ? *said : said.error().message()));
  if (said) co_return Result<>();
  co_return std::move(said).error().with("after_start").at_stage("after_start");
}

asio::awaitable<std::optional<Stage>> run_before_stop(Parts& parts, RecordPtr record) {
  const auto handle = record->handle;
  if (record->asked.stop_s == 0 || !handle || !handle->is_running()) co_return std::nullopt;
  const Micros began = parts.clock.boot();
  const auto outcome = std::make_shared<Outcome>(parts.executor);
  auto startup = find_startup(*record, profiles_of(parts.options));
  if (!startup) {
    outcome->said = std::move(startup).error();
  } else if (*startup && has_hooks((*startup)->before_stop)) {
    Millis most((*startup)->stop_ms());
    // The sandbox keeps to the time of each; whoever does not answer at all is not waited for.
    most = parts.is_shutting_down ? std::min(most, kMostAtShutDown)
                                  : most + parts.options.pulse_patience;
    spawn(parts.executor,
          run_for(outcome, handle, *(*startup)->before_stop, record->asked.defaults()));
    const auto waited = co_await outcome->done.wait_for(most);
    static_cast<void>(waited);  // what is not there by then is not waited for
  } else {
    co_return std::nullopt;
  }
  const Micros took = parts.clock.boot() - began;
  if (outcome->said) co_return to_stage("before_stop", took, *outcome->said);
  telemetry::log_warn("the hooks before a stop have failed, the sandbox stops all the same",
                      {{"sandbox", record->id}, {"why", outcome->said.error().message()}});
  co_return to_stage("before_stop", took, outcome->said.error().message());
}

Task<> say_goodbye(Parts& parts, RecordPtr record) {
  auto stage = co_await run_before_stop(parts, record);
  if (stage) note_stage(*record, *std::move(stage));
  co_return Result<>();
}

}  // namespace atl
