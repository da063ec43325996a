#include "core/destroyer.h"

#include "core/hooks.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace atl {
namespace {

bool is_expiry(EndReason reason) {
  return reason == EndReason::expired || reason == EndReason::ended;
}

// Of one that is not made yet, or whose end had begun, there is nothing to keep any more.
bool must_be_kept(const SandboxRecord& record, EndReason reason) {
  const bool is_whole = record.state == State::running || record.state == State::paused ||
                        record.state == State::stopped || record.state == State::failed;
  return record.is_kept() && is_whole && !record.is_doomed && reason != EndReason::discarded &&
         record.lifecycle != Lifecycle::ephemeral && record.lifecycle != Lifecycle::pooled;
}

}  // namespace

Task<> Destroyer::destroy(RecordPtr record, EndReason reason) {
  while (const auto joint = record->destruction) {
    CO_TRY_OK(co_await joint->done.wait());
    if (joint->failure) co_return *joint->failure;
    // A renewal saves a sandbox from the end of its time, and from nothing else.
    if (!joint->is_called_off || reason == EndReason::expired) co_return Result<>();
  }
  if (record->state == State::destroyed) co_return Result<>();
  const auto joint = std::make_shared<Joint>(parts_.executor);
  record->destruction = joint;
  auto ended = co_await take_turn_and_end(record, reason);
  record->destruction = nullptr;
  joint->end(ended);
  co_return ended;
}

Task<> Destroyer::take_turn_and_end(RecordPtr record, EndReason reason) {
  const bool waits_in_line =
      reason == EndReason::expired;  // a renewal before it may save the sandbox
  Error being_destroyed(Code::conflict, "sandbox " + record->id + " is being destroyed");
  auto turn = waits_in_line ? record->turns.take()
                            : record->turns.take_before_all(std::move(being_destroyed));
  // Nobody waits for an image to come that nobody wants. One whose time is up stays in line.
  if (!waits_in_line && !must_be_kept(*record, reason)) record->give_up->give_up();
  CO_TRY(auto held, co_await std::move(turn));
  if (record->state == State::destroyed || record->ended_at) co_return Result<>();
  if (reason == EndReason::expired) {
    const auto due = record->due();
    if (!due || due->act != Act::kill || due->at > parts_.clock.boot()) {
      record->destruction->is_called_off = true;
      parts_.reaper.schedule(record);
      co_return Result<>();
    }
  }

  const bool is_kept = must_be_kept(*record, reason);
  if (is_kept) CO_TRY_OK(co_await keep(record));
  // A run that is over has been asked by itself, and one that is given up ends at once.
  const bool may_say_goodbye =
      !is_kept && record->state == State::running && record->lifecycle != Lifecycle::ephemeral;
  CO_TRY(auto intent, co_await announce(record, reason));
  if (may_say_goodbye) CO_TRY_OK(co_await say_goodbye(parts_, record));
  auto destroyed = co_await destroy_on_driver(record);
  if (!destroyed) {
    if (!std::exchange(record->is_doomed, true)) {
      telemetry::log_warn("sandbox could not be destroyed, the sweeper will try again",
                          {{"sandbox", record->id}, {"why", destroyed.error().message()}});
    }
    parts_.on_behind();
    const std::string why = destroyed.error().message();
    if (record->lifecycle != Lifecycle::pooled)
      parts_.journal.settle_later(record, intent, store::IntentState::failed, why);
    co_return std::move(destroyed).error().with("destroying sandbox " + record->id);
  }
  co_return co_await finish(record, intent, reason);
}

Task<> Destroyer::keep(RecordPtr record) {
  auto kept = co_await keeper_(record);
  if (kept) co_return kept;
  // Whatever comes of it, the reaper comes back no sooner.
  record->put_off(parts_.clock.boot());
  parts_.reaper.schedule(record);
  telemetry::log_warn("sandbox could not be kept, so it does not end",
                      {{"sandbox", record->id}, {"why", kept.error().message()}});
  auto why = std::move(kept).error().with("sandbox " + record->id +
                                          " is not destroyed, because it could not be kept");
  if (why.hint().empty()) why = std::move(why).with_hint("or give up what is in it: --discard");
  co_return why;
}

// Destroying goes on even if it cannot be journalled, or a full disk could never be emptied: it can
// be repeated, and after a crash recovery finds a row whose sandbox is gone.
Task<Intent> Destroyer::announce(RecordPtr record, EndReason reason) {
  if (record->state != State::stopping) {
    parts_.sandboxes.move_to(*record, State::stopping);
  }
  // Of what is nobody's no row tells.
  if (reason == EndReason::run_over || record->lifecycle == Lifecycle::pooled) co_return Intent{};
  std::vector<store::Change> more;
  if (record->interrupted) {
    more.push_back(store::EndIntent{record->interrupted->id, store::IntentState::undone, {}});
    record->interrupted.reset();
  }
  const Op op = is_expiry(reason) ? Op::expire : Op::destroy;
  auto begun = co_await parts_.journal.begin(record, op, std::move(more));
  if (begun) co_return *begun;
  telemetry::log_error("destruction could not be journalled",
                       {{"sandbox", record->id}, {"why", begun.error().message()}});
  co_return Intent{};
}

Task<> Destroyer::destroy_on_driver(RecordPtr record) {
  if (!record->handle) {
    CO_TRY(DriverSlot * slot, parts_.drivers.get_ready(record->driver));
    auto attached = co_await slot->driver->attach(record->id);
    // Half of it may be left; or whoever is in it lets nobody in, who must not keep it that way.
    if (!attached) co_return co_await slot->driver->destroy_orphan(record->id);
    record->handle = *std::move(attached);
  }
  const auto handle = record->handle;
  co_return co_await handle->destroy();
}

Task<> Destroyer::finish(RecordPtr record, Intent intent, EndReason reason) {
  if (is_expiry(reason)) record->failure = "expired";
  parts_.sandboxes.move_to(*record, State::destroyed);
  record->ended_at = parts_.clock.wall();
  record->is_doomed = false;
  record->awaits_driver = false;
  ++record->generation;
  parts_.bury(record, is_expiry(reason) ? "has expired" : "was destroyed");
  if (is_expiry(reason)) parts_.metrics.expirations.at().add();
  parts_.metrics.sandbox_time.at(record->driver).add(*record->ended_at - record->created_at);
  telemetry::log_debug("sandbox destroyed",
                       {{"sandbox", record->id}, {"expired", is_expiry(reason)}});

  if (record->lifecycle == Lifecycle::pooled) co_return Result<>();
  std::vector<store::Change> more;
  if (record->run_intent != 0) {
    more.push_back(store::EndIntent{record->run_intent, store::IntentState::done, {}});
  }
  if (reason == EndReason::run_over) {
    parts_.journal.settle_later(record, intent, store::IntentState::done, {}, std::move(more));
    co_return Result<>();
  }
  const auto again = more;
  auto settled =
      co_await parts_.journal.settle(record, intent, store::IntentState::done, {}, std::move(more));
  // It is gone whatever the store says, so a full disk is no failure of this call.
  if (!settled) parts_.journal.settle_later(record, intent, store::IntentState::done, {}, again);
  co_return Result<>();
}

}  // namespace atl
