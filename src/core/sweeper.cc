#include "core/sweeper.h"

#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace atl {
namespace {

constexpr Micros kPruneEvery = std::chrono::minutes(1);

}  // namespace

Sweeper::Sweeper(Parts& parts, Recovery& recovery, Destroyer& destroyer, Changer& changer)
    : parts_(parts), recovery_(recovery), destroyer_(destroyer), changer_(changer) {}

Task<> Sweeper::sweep(Orphans orphans) {
  CO_TRY_OK(co_await parts_.drivers.probe_missing());
  CO_TRY_OK(co_await take_up_waiting());
  CO_TRY_OK(co_await retry_doomed());
  for (auto& slot : parts_.drivers.slots()) {
    if (slot.capabilities) CO_TRY_OK(co_await compare(slot, orphans));
  }
  parts_.reaper.step();
  parts_.journal.retry_unwritten();
  prune();
  co_return Result<>();
}

Task<> Sweeper::take_up_waiting() {
  const auto records = parts_.sandboxes.all();
  for (const auto& record : records) {
    if (record->awaits_driver && !record->is_doomed) {
      CO_TRY_OK(co_await recovery_.settle(record));
    }
  }
  co_return Result<>();
}

Task<> Sweeper::retry_doomed() {
  const auto records = parts_.sandboxes.all();
  for (const auto& record : records) {
    if (!record->is_doomed) continue;
    auto destroyed = co_await destroyer_.destroy(record, EndReason::asked);
    static_cast<void>(destroyed);  // logged where it failed, and tried again next time
  }
  co_return Result<>();
}

Task<> Sweeper::compare(DriverSlot& slot, Orphans orphans) {
  // Taken before asking: whatever comes up meanwhile is not judged by an answer that cannot know
  // it.
  std::vector<std::pair<RecordPtr, int64_t>> running;
  for (const auto& record : parts_.sandboxes.all()) {
    const bool judged = record->driver == slot.driver->name() && record->state == State::running &&
                        record->handle && !record->turns.is_taken();
    if (judged) running.emplace_back(record, record->generation);
  }
  auto listed = co_await slot.driver->list();
  if (!listed) {
    telemetry::log_warn("driver cannot list its sandboxes",
                        {{"driver", slot.driver->name()}, {"why", listed.error().message()}});
    co_return co_await parts_.drivers.probe(slot);
  }

  const std::set<std::string> there(listed->begin(), listed->end());
  const auto seen_before = std::exchange(suspects_[slot.name()], {});
  for (const auto& id : there) {
    const auto record = parts_.sandboxes.find(id);
    if (record && record->driver == slot.driver->name()) continue;
    if (parts_.unreadable.contains(id)) continue;
    if (orphans == Orphans::at_once || seen_before.contains(id)) {
      CO_TRY_OK(co_await destroy_orphan(slot, id));
    } else {
      suspects_[slot.name()].insert(id);
    }
  }
  for (const auto& [record, generation] : running) {
    if (!there.contains(record->id) && record->generation == generation) {
      CO_TRY_OK(co_await check_missing(slot, record));
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
                     .ended_before_ms = oldest.time_since_epoch().count(),
                     .most_ended = static_cast<int64_t>(parts_.options.most_history)};
  parts_.store.enqueue({store::Durability::boot, {prune}}, [](Result<> pruned) {
    if (!pruned) {
      telemetry::log_warn("the store could not be pruned", {{"why", pruned.error().message()}});
    }
  });
}

Task<> Sweeper::run() {
  while (!stopping_) {
    woken_ = std::make_shared<Event>(parts_.executor);
    const auto woken = woken_;
    const auto pause = std::chrono::duration_cast<Millis>(parts_.options.sweep_every);
    auto waited = co_await woken->wait_for(pause);
    if (stopping_ || (!waited && waited.error().code() == Code::cancelled)) break;
    auto swept = co_await sweep(Orphans::when_seen_twice);
    if (!swept) {
      telemetry::log_error("sweep failed", {{"why", swept.error().message()}});
    }
  }
  co_return Result<>();
}

void Sweeper::stop() {
  stopping_ = true;
  if (woken_) woken_->fire();
}

}  // namespace atl
