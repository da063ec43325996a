// Changer::rest and Changer::wake: a sandbox that nobody uses, or whose time is up, stands still or
// stops instead of ending, and comes back when somebody uses it.
//
// Why it rests is journalled with the pause or the stop itself, so after a crash the next daemon
// knows whether a use may wake it: one that somebody has paused on purpose waits for its resume.
#include "core/changer.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace atl {

Task<> Changer::rest(RecordPtr record) {
  CO_TRY(auto turn, co_await record->turns.take());
  const auto due = record->due();
  const Micros now = parts_.clock.boot();
  const bool may_rest = due && (due->act == Act::stop || due->act == Act::pause);
  if (!may_rest || due->at > now) {
    parts_.reaper.schedule(record);
    co_return Result<>();
  }
  const DozingOff dozing_off(*record);
  // Whatever fails on the way, the reaper comes back no sooner.
  record->put_off(now);
  Task<SandboxView> act = due->act == Act::pause ? pause_or_resume(record, Op::pause, due->why)
                                                 : stop_now(record, due->why);
  auto rested = co_await std::move(act);
  const std::string_view why = due->why == Rest::idle ? "idle" : "expired";
  parts_.metrics.rests.at(why, rested ? "ok" : to_string(rested.error().code())).add();
  if (!rested) {
    // Whether it stands still nobody knows now, so it is made to run.
    const auto handle = record->handle;
    if (due->act == Act::pause && handle && record->state == State::running) {
      const auto resumed = co_await handle->resume();
      static_cast<void>(resumed);  // where that fails, too, the next try pauses it
    }
    parts_.reaper.schedule(record);
    telemetry::log_warn("sandbox cannot be put to rest, it is tried again",
                        {{"sandbox", record->id}, {"why", rested.error().message()}});
    co_return std::move(rested).error();
  }
  record->rest_not_before = Micros(0);
  record->failed_rests = 0;
  parts_.reaper.schedule(record);  // a paused one may have to be stopped next
  telemetry::log_debug("sandbox rests", {{"sandbox", record->id}, {"why", why}});
  co_return Result<>();
}

Task<> Changer::rest_now(RecordPtr record, OnEnd how) {
  CO_TRY(auto turn, co_await record->turns.take());
  const bool is_still = record->state == State::stopped || record->state == State::failed ||
                        (record->state == State::paused && how == OnEnd::pause);
  if (is_still || record->ended_at) co_return Result<>();
  const DozingOff dozing_off(*record);
  Task<SandboxView> act = how == OnEnd::pause ? pause_or_resume(record, Op::pause, Rest::idle)
                                              : stop_now(record, Rest::idle);
  auto rested = co_await std::move(act);
  if (!rested) co_return std::move(rested).error();
  co_return Result<>();
}

Task<> Changer::wake(RecordPtr record) {
  CO_TRY(auto turn, co_await record->turns.take());
  // Somebody may have woken it, or ended its rest, while this one waited.
  if (record->state == State::running || record->asked.course.rest == Rest::none)
    co_return Result<>();
  CO_TRY_OK(expect(*record, {State::paused, State::stopped}, "be woken"));
  Task<SandboxView> act = record->state == State::paused
                              ? pause_or_resume(record, Op::resume, Rest::none)
                              : restart(record, Op::start);
  auto woken = co_await std::move(act);
  if (!woken)
    co_return std::move(woken).error().with("waking sandbox " + record->id).at_stage("wake");
  telemetry::log_debug("sandbox is awake", {{"sandbox", record->id}});
  co_return Result<>();
}

}  // namespace atl
