#include "core/sweeper.h"

#include <algorithm>

#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace atl {
namespace {

constexpr Micros kPruneEvery = std::chrono::minutes(1);
// How soon somebody who was away is asked again, if somebody waits for it.
constexpr Micros kCatchUpEvery = std::chrono::seconds(2);
// Sandboxes of a driver that are taken up, or destroyed, at a time: a few that keep a driver
// waiting do not keep the rest waiting.
constexpr size_t kAtOnce = 16;
// So long a driver's turn waits for them; what takes longer goes on beside the next turn.
constexpr Millis kTurn = std::chrono::seconds(2);

}  // namespace

Sweeper::Sweeper(Parts& parts, Recovery& recovery, Destroyer& destroyer, Changer& changer)
    : parts_(parts),
      recovery_(recovery),
      destroyer_(destroyer),
      changer_(changer),
      drivers_(parts.executor, 1),
      sandboxes_(parts.executor, kAtOnce) {}

void Sweeper::set_owner(const std::weak_ptr<void>& owner) {
  drivers_.set_owner(owner);
  sandboxes_.set_owner(owner);
}

Task<> Sweeper::sweep(Orphans orphans) {
  const auto turns = drivers_.new_batch();
  for (auto& slot : parts_.drivers.slots()) {
    drivers_.add(turns, slot.name(), slot.name(),
                 [this, &slot, orphans] { return sweep_driver(slot, orphans); });
  }
  CO_TRY_OK(co_await Lanes::wait_for(turns, kPatience));
  is_serving_ = true;
  parts_.reaper.step();
  parts_.journal.retry_unwritten();
  prune();
  co_return Result<>();
}

Task<> Sweeper::sweep_driver(DriverSlot& slot, Orphans orphans) {
  if (slot.is_asked && !slot.capabilities) CO_TRY_OK(co_await parts_.drivers.probe(slot));
  CO_TRY_OK(co_await take_up_waiting(slot));
  CO_TRY_OK(co_await retry_doomed(slot));
  if (slot.capabilities) CO_TRY_OK(co_await compare(slot, orphans));
  const bool is_first = orphans == Orphans::at_once && !is_serving_;
  const auto unknown = is_first ? Snapshots::Unknown::at_once : Snapshots::Unknown::when_seen_twice;
  if (slot.capabilities) CO_TRY_OK(co_await parts_.snapshots.sweep(slot, unknown));
  co_return co_await forget_templates_of(slot);
}

Task<> Sweeper::forget_templates() {
  for (auto& slot : parts_.drivers.slots()) CO_TRY_OK(co_await forget_templates_of(slot));
  co_return Result<>();
}

Task<> Sweeper::forget_templates_of(DriverSlot& slot) {
  if (!parts_.options.has_template) co_return Result<>();
  if (!slot.capabilities || !slot.capabilities->templates) co_return Result<>();
  auto forgotten = co_await slot.driver->forget_templates(parts_.options.has_template);
  if (!forgotten) {
    telemetry::log_warn("templates that are gone stay with a driver",
                        {{"driver", slot.name()}, {"why", forgotten.error().message()}});
  }
  co_return Result<>();
}

std::vector<RecordPtr> Sweeper::records_of(const DriverSlot& slot) const {
  std::vector<RecordPtr> own;
  for (const auto& record : parts_.sandboxes.all()) {
    if (record->driver == slot.driver->name()) own.push_back(record);
  }
  return own;
}

bool Sweeper::is_missed(const DriverSlot& slot) const {
  if (slot.capabilities || !slot.is_asked) return false;
  const auto records = parts_.sandboxes.all();
  return slot.was_ready || std::ranges::any_of(records, [&](const auto& record) {
           return record->driver == slot.name();
         });
}

bool Sweeper::is_behind() const {
  const auto& slots = parts_.drivers.slots();
  if (std::ranges::any_of(slots, [&](const auto& slot) { return is_missed(slot); })) return true;
  const auto records = parts_.sandboxes.all();
  return std::ranges::any_of(
      records, [](const auto& record) { return record->is_doomed || record->failed_attaches > 0; });
}

Task<> Sweeper::catch_up() {
  const auto turns = drivers_.new_batch();
  for (auto& slot : parts_.drivers.slots()) {
    drivers_.add(turns, slot.name(), slot.name(), [this, &slot] { return catch_up_driver(slot); });
  }
  co_return co_await Lanes::wait_for(turns, kPatience);
}

Task<> Sweeper::catch_up_driver(DriverSlot& slot) {
  if (is_missed(slot)) CO_TRY_OK(co_await parts_.drivers.probe(slot));
  CO_TRY_OK(co_await take_up_waiting(slot));
  co_return co_await retry_doomed(slot);
}

Task<> Sweeper::take_up_waiting(DriverSlot& slot) {
  const auto taken_up = sandboxes_.new_batch();
  for (const auto& record : records_of(slot)) {
    if (!record->awaits_driver || record->is_doomed) continue;
    sandboxes_.add(taken_up, slot.name(), record->id, [this, record] { return take_up(record); });
  }
  co_return co_await Lanes::wait_for(taken_up, patience());
}

Task<> Sweeper::take_up(RecordPtr record) {
  auto settled = co_await recovery_.settle(record);
  // Who wants its end comes before whoever only looks for it.
  if (!settled && settled.error().code() == Code::conflict) co_return Result<>();
  co_return settled;
}

Millis Sweeper::patience() const { return is_serving_ ? kTurn : kPatience; }

Task<> Sweeper::retry_doomed(DriverSlot& slot) {
  const auto retried = sandboxes_.new_batch();
  for (const auto& record : records_of(slot)) {
    if (!record->is_doomed) continue;
    sandboxes_.add(retried, slot.name(), record->id,
                   [this, &slot, record] { return retry_doomed_one(slot, record); });
  }
  co_return co_await Lanes::wait_for(retried, patience());
}

Task<> Sweeper::retry_doomed_one(DriverSlot& slot, RecordPtr record) {
  if (!slot.capabilities) co_return Result<>();
  auto destroyed = co_await destroyer_.destroy(record, EndReason::asked);
  if (destroyed) co_return Result<>();
  // Whoever does not answer is asked whether it is back before more is tried.
  co_return co_await parts_.drivers.probe(slot);
}

Task<> Sweeper::compare(DriverSlot& slot, Orphans orphans) {
  // Taken before asking: whatever comes up meanwhile is not judged by an answer that cannot know
  // it.
  std::vector<std::pair<RecordPtr, int64_t>> judged;
  for (const auto& record : parts_.sandboxes.all()) {
    const bool is_settled = record->state == State::running || record->state == State::paused ||
                            record->state == State::stopped;
    const bool is_judged = record->driver == slot.driver->name() && is_settled && record->handle &&
                           !record->turns.is_taken();
    if (is_judged) judged.emplace_back(record, record->generation);
  }
  auto listed = co_await slot.driver->list();
  if (!listed) {
    telemetry::log_warn("driver cannot list its sandboxes",
                        {{"driver", slot.driver->name()}, {"why", listed.error().message()}});
    co_return co_await parts_.drivers.probe(slot);
  }

  const std::set<std::string> there(listed->begin(), listed->end());
  const bool is_first = orphans == Orphans::at_once && !is_serving_;
  const auto seen_before = std::exchange(suspects_[slot.name()], {});
  for (const auto& id : there) {
    const auto record = parts_.sandboxes.find(id);
    if (record && record->driver == slot.driver->name()) continue;
    if (parts_.unreadable.contains(id)) continue;
    if (is_first || seen_before.contains(id)) {
      CO_TRY_OK(co_await destroy_orphan(slot, id));
    } else {
      suspects_[slot.name()].insert(id);
    }
  }
  for (const auto& [record, generation] : judged) {
    if (record->generation != generation) continue;
    if (!there.contains(record->id)) {
      CO_TRY_OK(co_await check_missing(slot, record));
    } else if (record->state != State::stopped && !record->handle->is_running() &&
               !record->turns.is_taken()) {
      changer_.note_death(record, "its first process has ended");
    }
  }
  co_return Result<>();
}

Task<> Sweeper::destroy_orphan(DriverSlot& slot, std::string id) {
  auto destroyed = co_await slot.driver->destroy_orphan(id);
  if (destroyed) {
    parts_.metrics.swept_orphans.at(slot.driver->name()).add();
    telemetry::log_warn("orphan destroyed", {{"driver", slot.driver->name()}, {"sandbox", id}});
  } else {
    suspects_[slot.name()].insert(id);
    telemetry::log_warn(
        "orphan could not be destroyed",
        {{"driver", slot.driver->name()}, {"sandbox", id}, {"why", destroyed.error().message()}});
  }
  co_return Result<>();
}

Task<> Sweeper::check_missing(DriverSlot& slot, RecordPtr record) {
  auto attached = co_await slot.driver->attach(record->id);
  const bool gone = !attached && attached.error().code() == Code::not_found;
  if (gone && !record->turns.is_taken()) {
    changer_.note_death(record, "it is gone from driver " + record->driver);
  }
  co_return Result<>();
}

void Sweeper::prune() {
  const Micros now = parts_.clock.boot();
  if (pruned_at_ && now - *pruned_at_ < kPruneEvery) return;
  pruned_at_ = now;
  parts_.idempotency.drop_expired();
  const WallTime wall = parts_.clock.wall();
  const WallTime oldest = wall - parts_.options.longest_history;
  store::Prune prune{.now_ms = wall.time_since_epoch().count(),
                     .now_boot_us = now.count(),
                     .boot_id = parts_.journal.boot_id(),
                     .ended_before_ms = oldest.time_since_epoch().count(),
                     .most_ended = static_cast<int64_t>(parts_.options.most_history)};
  parts_.store.enqueue({store::Durability::boot, {prune}}, [](Result<> pruned) {
    if (!pruned) {
      telemetry::log_warn("the store could not be pruned", {{"why", pruned.error().message()}});
    }
  });
}

Task<> Sweeper::run() {
  Micros left = parts_.options.sweep_every;
  while (!stopping_) {
    woken_ = std::make_shared<Event>(parts_.executor);
    const auto woken = woken_;
    is_soon_ = is_behind();
    const Micros pause = is_soon_ ? std::min(left, kCatchUpEvery) : left;
    auto waited = co_await woken->wait_for(std::chrono::duration_cast<Millis>(pause));
    if (stopping_ || (!waited && waited.error().code() == Code::cancelled)) break;
    if (waited) continue;  // something is to be made up for since
    left -= pause;
    const bool is_due = left <= Micros(0);
    if (is_due) left = parts_.options.sweep_every;
    auto act = is_due ? sweep(Orphans::when_seen_twice) : catch_up();
    auto done = co_await std::move(act);
    if (!done) telemetry::log_error("sweep failed", {{"why", done.error().message()}});
  }
  co_return Result<>();
}

void Sweeper::wake() {
  if (!is_soon_ && woken_) woken_->fire();
}

void Sweeper::stop() {
  stopping_ = true;
  drivers_.stop();
  sandboxes_.stop();
  if (woken_) woken_->fire();
}

}  // namespace atl
