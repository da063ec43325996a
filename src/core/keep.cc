// Changer::keep: what ends is kept first, where that was asked for (Persistence::checkpoint).
//
// The checkpoint is on the disk and was read back before anything is journalled about the end. So
// whenever the daemon dies there is the sandbox, a whole checkpoint of it, or both.
#include "core/changer.h"
#include "core/hooks.h"
#include "telemetry/log.h"

namespace atl {

Task<> Changer::keep(RecordPtr record) {
  if (record->awaits_driver) {
    co_return Error(Code::unavailable, "driver " + record->driver + " does not answer");
  }
  if (!record->handle) {
    CO_TRY(DriverSlot * slot, parts_.drivers.get_ready(record->driver));
    auto attached = co_await slot->driver->attach(record->id);
    // There is nothing that could be kept.
    if (!attached && attached.error().code() == Code::not_found) co_return Result<>();
    if (!attached) co_return std::move(attached).error();
    record->handle = *std::move(attached);
  }
  if (record->state == State::failed) {
    co_return Error(Code::conflict, "it has failed, so its files cannot be read");
  }
  const DozingOff dozing_off(*record);
  const bool has_memory = record->state != State::stopped;
  // Files can only be read while it runs.
  if (record->state == State::paused)
    CO_TRY_OK(co_await pause_or_resume(record, Op::resume, Rest::none));
  if (record->state == State::stopped) CO_TRY_OK(co_await restart(record, Op::start));
  CO_TRY_OK(co_await say_goodbye(parts_, record));
  const bool with_memory = has_memory && record->asked.checkpoint == SnapshotKind::memory;
  const SnapshotKind kind = with_memory ? SnapshotKind::memory : SnapshotKind::disk;
  CO_TRY(auto checkpoint, co_await parts_.snapshots.begin_checkpoint(*record, kind));
  CO_TRY(const auto view, co_await take(record, std::move(checkpoint)));
  telemetry::log_info("sandbox kept", {{"sandbox", record->id}, {"snapshot", view.id}});
  co_return co_await parts_.snapshots.trim_checkpoints(record->tenant, record->name);
}

}  // namespace atl
