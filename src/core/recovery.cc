#include "core/recovery.h"

#include "core/creator.h"
#include "json/describe.h"
#include "telemetry/log.h"

namespace atl {
namespace {

using store::IntentState;

// Of a run nobody knows how far it came.
constexpr std::string_view kCutOff = "was cut off when Atoll was interrupted";

bool is_creation(std::optional<Op> op) {
  return op == Op::create || op == Op::fork || op == Op::run;
}

bool should_run(const SandboxRecord& record) {
  return record.state == State::running || record.state == State::paused;
}

}  // namespace

Task<> Recovery::load() {
  CO_TRY(auto contents, co_await parts_.store.load());
  parts_.instance_id = contents.instance_id;
  parts_.journal.continue_after(contents.last_intent);
  parts_.idempotency.load(std::move(contents.idempotency));
  for (const auto& row : contents.live) {
    auto read = from_row(parts_.executor, row);
    if (!read) {
      // Perhaps a newer daemon wrote it: row and sandbox are left alone.
      parts_.unreadable.insert(row.id);
      telemetry::log_error("a sandbox of the store is unreadable",
                           {{"sandbox", row.id}, {"why", read.error().message()}});
      continue;
    }
    const auto record = *std::move(read);
    // A deadline on an earlier boot's clock means nothing on this one.
    if (row.boot_id != parts_.journal.boot_id() && record->expires_at) {
      const auto left = *record->expires_at - parts_.clock.wall();
      record->expires_boot = std::max(parts_.clock.boot() + Micros(left), Micros(1));
    }
    record->last_active_boot = parts_.clock.boot();
    record->awaits_driver = true;
    parts_.sandboxes.insert(record);
  }
  std::vector<store::Change> overtaken;
  for (const auto& intent : contents.pending) {
    const auto record = parts_.sandboxes.find(intent.sandbox);
    if (!record) continue;
    if (record->interrupted) {
      // A later intent was begun, so this one had ended and only its end was not written.
      overtaken.push_back(store::EndIntent{record->interrupted->id, IntentState::undone, {}});
    }
    record->interrupted = intent;
  }
  if (!overtaken.empty()) {
    parts_.store.enqueue({store::Durability::boot, std::move(overtaken)}, {});
  }
  co_return Result<>();
}

Task<> Recovery::settle(RecordPtr record) {
  CO_TRY(auto turn, co_await record->turns.take());
  if (!record->awaits_driver || record->ended_at) co_return Result<>();
  DriverSlot* slot = parts_.drivers.find(record->driver);
  if (slot == nullptr || !slot->capabilities) co_return Result<>();

  std::optional<Op> op;
  if (record->interrupted) op = json::find_enum<Op>(record->interrupted->op);
  auto attached = co_await slot->driver->attach(record->id);
  if (attached) {
    record->handle = *std::move(attached);
    record->awaits_driver = false;
    co_return co_await settle_present(record, op);
  }
  if (attached.error().code() == Code::not_found) {
    record->awaits_driver = false;
    co_return co_await settle_absent(record, op);
  }
  telemetry::log_warn(
      "sandbox cannot be taken up yet",
      {{"sandbox", record->id}, {"driver", record->driver}, {"why", attached.error().message()}});
  if (is_retryable(attached.error().code())) {
    // So that the other sandboxes of this driver do not each wait for it in turn.
    slot->capabilities.reset();
    slot->trouble = std::move(attached).error();
  }
  co_return Result<>();
}

Task<> Recovery::settle_present(RecordPtr record, std::optional<Op> op) {
  const auto handle = record->handle;
  const bool ends = op == Op::destroy || op == Op::expire || op == Op::run ||
                    record->lifecycle == Lifecycle::ephemeral || is_expired(*record) ||
                    (is_creation(op) && !handle->is_running());
  if (!ends) co_return co_await carry_on(record, op);

  auto destroyed = co_await handle->destroy();
  if (!destroyed) {
    telemetry::log_warn("sandbox could not be destroyed, the sweeper will try again",
                        {{"sandbox", record->id}, {"why", destroyed.error().message()}});
    if (record->state != State::stopping) parts_.sandboxes.take_back(*record, State::stopping);
    record->is_doomed = true;
    co_return Result<>();
  }
  if (op == Op::destroy) {
    co_return co_await end(record, State::destroyed, IntentState::done, "was destroyed");
  }
  if (op == Op::run) {
    co_return co_await end(record, State::destroyed, IntentState::undone, std::string(kCutOff));
  }
  if (is_creation(op)) {
    co_return co_await end(record, State::destroyed, IntentState::undone,
                           "was undone after a restart");
  }
  const auto how = op == Op::expire ? IntentState::done : IntentState::undone;
  co_return co_await end(record, State::destroyed, how, "has expired");
}

Task<> Recovery::carry_on(RecordPtr record, std::optional<Op> op) {
  const auto handle = record->handle;
  if (op == Op::stop) {
    if (handle->is_running()) {
      auto stopped = co_await handle->stop();
      if (!stopped) co_return co_await conclude(record, State::running, IntentState::undone);
    }
    co_return co_await conclude(record, State::stopped, IntentState::done);
  }
  if (op == Op::recreate && !handle->is_running()) {
    SandboxSpec spec = to_spec(*record);
    auto recreated = co_await handle->recreate(std::move(spec));
    if (!recreated) {
      co_return co_await conclude(record, State::failed, IntentState::failed,
                                  recreated.error().message());
    }
  }
  if (op == Op::recreate && handle->is_running()) {
    // It may have been paused before. A driver that cannot pause says so, which is as well.
    const auto resumed = co_await handle->resume();
    (void)resumed;
  }
  if ((op == Op::pause || op == Op::resume) && handle->is_running()) {
    auto resumed = co_await handle->resume();
    if (resumed) co_return co_await conclude(record, State::running, IntentState::undone);
  }
  if (op == Op::renew) {
    const Micros at = record->expires_boot;
    auto renewed = co_await handle->renew(at);
    if (!renewed) {
      telemetry::log_warn("the new deadline is not with the driver",
                          {{"sandbox", record->id}, {"why", renewed.error().message()}});
    }
  }
  if (record->state == State::starting || record->state == State::stopping) {
    const bool runs = handle->is_running();
    const auto how = runs ? IntentState::done : IntentState::undone;
    co_return co_await conclude(record, runs ? State::running : State::stopped, how);
  }
  if (should_run(*record) && !handle->is_running()) {
    co_return co_await conclude(record, State::failed, IntentState::undone, why_gone(*record));
  }
  co_return co_await conclude(record, record->state, IntentState::done);
}

Task<> Recovery::settle_absent(RecordPtr record, std::optional<Op> op) {
  if (op == Op::run || record->lifecycle == Lifecycle::ephemeral) {
    co_return co_await end(record, State::failed, IntentState::undone, std::string(kCutOff));
  }
  if (is_creation(op)) {
    co_return co_await end(record, State::failed, IntentState::undone,
                           "was not made before Atoll was interrupted");
  }
  if (op == Op::destroy) {
    co_return co_await end(record, State::destroyed, IntentState::done, "was destroyed");
  }
  if (op == Op::expire || is_expired(*record)) {
    co_return co_await end(record, State::destroyed, IntentState::done, "has expired");
  }
  if (record->state == State::failed) {
    co_return co_await conclude(record, State::failed, IntentState::undone, record->failure);
  }
  co_return co_await conclude(record, State::failed, IntentState::undone, why_gone(*record));
}

Task<> Recovery::conclude(RecordPtr record, State state, IntentState how, std::string failure) {
  const bool changed = record->state != state || record->interrupted;
  parts_.sandboxes.take_back(*record, state);
  if (state == State::failed) {
    if (!failure.empty()) record->failure = std::move(failure);
    telemetry::log_warn("sandbox failed", {{"sandbox", record->id}, {"why", record->failure}});
  }
  parts_.reaper.schedule(record);
  if (!changed) co_return Result<>();
  ++record->generation;
  Intent intent;
  if (record->interrupted) intent.id = record->interrupted->id;
  record->interrupted.reset();
  // Unwritten it is settled once more after the next restart, to the same end.
  parts_.journal.settle_later(record, intent, how);
  co_return Result<>();
}

Task<> Recovery::end(RecordPtr record, State state, IntentState how, std::string why) {
  parts_.sandboxes.take_back(*record, state);
  record->handle = nullptr;
  record->ended_at = parts_.clock.wall();
  record->failure = why == "has expired" ? "expired" : why;
  ++record->generation;
  telemetry::log_info("sandbox ended", {{"sandbox", record->id}, {"why", why}});
  parts_.bury(record, std::move(why));
  Intent intent;
  if (record->interrupted) intent.id = record->interrupted->id;
  record->interrupted.reset();
  parts_.journal.settle_later(record, intent, how);
  co_return Result<>();
}

bool Recovery::is_expired(const SandboxRecord& record) const {
  return record.expires_boot.count() != 0 && record.expires_boot <= parts_.clock.boot();
}

std::string Recovery::why_gone(const SandboxRecord& record) const {
  return "it ended while Atoll was away (driver " + record.driver + ")";
}

}  // namespace atl
