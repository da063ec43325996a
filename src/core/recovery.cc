#include "core/recovery.h"

#include "core/creator.h"
#include "core/healing.h"
#include "json/describe.h"
#include "telemetry/log.h"

namespace atl {
namespace {

using store::IntentState;

// Of a run nobody knows how far it came.
constexpr std::string_view kCutOff = "was cut off when Atoll was interrupted";

// Something is put into the sandbox once it is there: nobody knows how far that had come, nobody
// was told of it yet, and whoever asks again must not get half of it.
bool is_filled(std::optional<Op> op, const Asked& asked) {
  if (op == Op::fork) return true;
  return op == Op::create && (!asked.files.empty() || asked.startup || !asked.snapshot.empty());
}

bool is_creation(std::optional<Op> op) {
  return op == Op::create || op == Op::fork || op == Op::run;
}

// It may have been paused before. A driver that cannot pause says so, which is as well; and what
// stays frozen shows itself in the next thing that is done.
Task<> thaw(std::shared_ptr<Sandbox> handle) {
  const auto resumed = co_await handle->resume();
  (void)resumed;
  co_return Result<>();
}

// Nothing is left of it, and its destruction was begun; or had failed, and was to be tried again.
// Of one that is still there a state alone proves nothing: a stop may have met a full disk.
bool was_ending(const SandboxRecord& record, std::optional<Op> op) {
  return op == Op::destroy || (!op && record.state == State::stopping);
}

bool should_run(const SandboxRecord& record) {
  return record.state == State::running || record.state == State::paused;
}

}  // namespace

Task<std::vector<store::PoolRow>> Recovery::load() {
  CO_TRY(auto contents, co_await parts_.store.load());
  parts_.instance_id = contents.instance_id;
  parts_.journal.continue_after(contents.last_intent);
  parts_.idempotency.load(std::move(contents.idempotency));
  parts_.snapshots.load(contents.snapshots);
  parts_.session_rows = std::move(contents.sessions);
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
  co_return std::move(contents.pools);
}

Task<> Recovery::settle(RecordPtr record) {
  CO_TRY(auto turn, co_await record->turns.take());
  // While this waited somebody may have wanted its end; what is only to go is nobody's any more.
  if (!record->awaits_driver || record->is_doomed || record->ended_at) co_return Result<>();
  DriverSlot* slot = parts_.drivers.find(record->driver);
  if (slot == nullptr || !slot->capabilities) co_return Result<>();
  if (record->attach_not_before > parts_.clock.boot()) co_return Result<>();

  std::optional<Op> op;
  if (record->interrupted) op = json::find_enum<Op>(record->interrupted->op);
  auto attached = co_await slot->driver->attach(record->id);
  if (attached) {
    record->handle = *std::move(attached);
    record->awaits_driver = false;
    record->failed_attaches = 0;
    co_return co_await settle_present(record, op);
  }
  if (attached.error().code() == Code::not_found) {
    record->awaits_driver = false;
    record->failed_attaches = 0;
    co_return co_await settle_absent(record, op);
  }
  co_return co_await pass_over(record, *slot, std::move(attached).error());
}

Task<> Recovery::pass_over(RecordPtr record, DriverSlot& slot, Error why) {
  telemetry::log_warn(
      "sandbox cannot be taken up yet",
      {{"sandbox", record->id}, {"driver", record->driver}, {"why", why.message()}});
  // What comes from a sandbox, a silent agent or a crowd at its door, looks like a driver that does
  // not answer; only the driver itself can tell.
  if (is_retryable(why.code()) || why.code() == Code::deadline_exceeded) {
    auto probed = co_await slot.look();
    const bool is_there = probed.has_value();
    parts_.drivers.note_probe(slot, std::move(probed));
    if (!is_there) {
      // So that the other sandboxes of this driver do not each wait for it in turn.
      slot.capabilities.reset();
      parts_.on_behind();
      co_return Result<>();
    }
  }
  record->put_off_attach(parts_.clock.boot());
  parts_.on_behind();
  co_return Result<>();
}

Task<> Recovery::settle_present(RecordPtr record, std::optional<Op> op) {
  const auto handle = record->handle;
  const bool is_parked = record->lifecycle == Lifecycle::pooled;
  if (is_parked) {
    CO_TRY(const bool stays, co_await park_again(record));
    if (stays) co_return Result<>();
  }
  // What has to be kept first ends by the reaper.
  const bool is_over = is_expired(*record) && !record->is_kept();
  const bool ends = is_parked || op == Op::destroy || op == Op::expire || op == Op::run ||
                    record->lifecycle == Lifecycle::ephemeral || is_over ||
                    (is_creation(op) && !handle->is_running()) || is_filled(op, record->asked);
  if (!ends) co_return co_await carry_on(record, op);

  auto destroyed = co_await handle->destroy();
  if (!destroyed) {
    telemetry::log_warn("sandbox could not be destroyed, the sweeper will try again",
                        {{"sandbox", record->id}, {"why", destroyed.error().message()}});
    if (record->state != State::stopping) parts_.sandboxes.take_back(*record, State::stopping);
    record->is_doomed = true;
    parts_.on_behind();
    co_return Result<>();
  }
  if (op == Op::destroy || is_parked) {
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

// Its row says that nobody has it, and must say so no longer when somebody does: after a crash
// nobody could tell that somebody had. So it ends, as far as the store knows, before it is parked;
// whoever gets it writes a new one.
Task<bool> Recovery::park_again(RecordPtr record) {
  const auto handle = record->handle;
  if (!handle->is_running() || is_expired(*record) || !parts_.shelf.find_home(*record))
    co_return false;
  record->ended_at = parts_.clock.wall();
  auto written = co_await parts_.journal.note(record);
  record->ended_at.reset();
  const auto pool = parts_.shelf.find_home(*record);
  if (!written || !pool || !handle->is_running()) co_return false;
  parts_.sandboxes.take_back(*record, State::running);
  parts_.shelf.park(*pool, record);
  co_return true;
}

Task<> Recovery::carry_on(RecordPtr record, std::optional<Op> op) {
  const auto handle = record->handle;
  if (op == Op::stop && record->state != State::failed) {
    if (handle->is_running()) {
      CO_TRY_OK(co_await thaw(handle));
      auto stopped = co_await handle->stop();
      // Only the answer may have been lost.
      if (!stopped && handle->is_running())
        co_return co_await conclude(record, State::running, IntentState::undone);
    }
    co_return co_await conclude(record, State::stopped, IntentState::done);
  }
  if (op == Op::reset) {
    // Nobody knows whether what is there is the old one or the new one.
    record->handle = nullptr;
    record->asked.course.died = true;
    auto destroyed = co_await handle->destroy();
    if (!destroyed) record->handle = handle;
    co_return co_await conclude(record, State::failed, IntentState::undone,
                                "its reset was interrupted: reset it again, or destroy it");
  }
  if ((op == Op::start || op == Op::recreate) && record->asked.start_hooks) {
    // Nobody knows how far they have come, and what they have not made ready must not run.
    if (handle->is_running()) {
      CO_TRY_OK(co_await thaw(handle));
      const auto stopped = co_await handle->stop();
      static_cast<void>(stopped);  // only the answer may have been lost
    }
    const State state = handle->is_running() ? State::running : State::stopped;
    co_return co_await conclude(record, state, IntentState::undone);
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
    CO_TRY_OK(co_await thaw(handle));
  }
  // Whoever wakes a sandbox after its time gives it more, too.
  if (op == Op::renew || record->on_expire() != OnEnd::kill) {
    const Micros at = record->drivers_moment();
    auto renewed = co_await handle->renew(at);
    if (!renewed) {
      telemetry::log_warn("the new deadline is not with the driver",
                          {{"sandbox", record->id}, {"why", renewed.error().message()}});
    }
  }
  if ((op == Op::pause || op == Op::resume) && handle->is_running()) {
    auto resumed = co_await handle->resume();
    if (resumed) co_return co_await conclude(record, State::running, IntentState::undone);
  }
  if (record->state == State::starting || record->state == State::stopping) {
    CO_TRY_OK(co_await thaw(handle));
    const bool runs = handle->is_running();
    const auto how = runs ? IntentState::done : IntentState::undone;
    co_return co_await conclude(record, runs ? State::running : State::stopped, how);
  }
  if (should_run(*record) && !handle->is_running()) {
    record->asked.course.died = true;
    co_return co_await conclude(record, State::failed, IntentState::undone, why_gone(*record));
  }
  co_return co_await conclude(record, record->state, IntentState::done);
}

Task<> Recovery::settle_absent(RecordPtr record, std::optional<Op> op) {
  if (record->lifecycle == Lifecycle::pooled) {
    co_return co_await end(record, State::destroyed, IntentState::done, "was gone");
  }
  if (op == Op::run || record->lifecycle == Lifecycle::ephemeral) {
    co_return co_await end(record, State::failed, IntentState::undone, std::string(kCutOff));
  }
  if (is_creation(op)) {
    co_return co_await end(record, State::failed, IntentState::undone,
                           "was not made before Atoll was interrupted");
  }
  if (was_ending(*record, op)) {
    co_return co_await end(record, State::destroyed, IntentState::done, "was destroyed");
  }
  if (op == Op::expire || is_expired(*record)) {
    co_return co_await end(record, State::destroyed, IntentState::done, "has expired");
  }
  if (record->state == State::failed) {
    co_return co_await conclude(record, State::failed, IntentState::undone, record->failure);
  }
  if (record->state != State::stopped) record->asked.course.died = true;
  co_return co_await conclude(record, State::failed, IntentState::undone, why_gone(*record));
}

Task<> Recovery::conclude(RecordPtr record, State state, IntentState how, std::string failure) {
  const bool changed = record->state != state || record->interrupted;
  parts_.sandboxes.take_back(*record, state);
  if (state == State::running) record->asked.course.rest = Rest::none;
  if (state == State::failed) {
    if (!failure.empty()) record->failure = std::move(failure);
    telemetry::log_warn("sandbox failed", {{"sandbox", record->id}, {"why", record->failure}});
    // One that only could not be started has its files, which making it anew would cost.
    if (record->asked.course.died) plan_recovery(parts_, record);
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
  record->handle = nullptr;
  record->ended_at = parts_.clock.wall();
  record->failure = why == "has expired" ? "expired" : why;
  // Whoever follows the events sees it end as it would have ended otherwise.
  if (state == State::destroyed) parts_.sandboxes.take_back(*record, State::stopping);
  parts_.sandboxes.take_back(*record, state);
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
  const Micros last = record.last_moment();
  return last.count() != 0 && last <= parts_.clock.boot();
}

std::string Recovery::why_gone(const SandboxRecord& record) const {
  return "it ended while Atoll was away (driver " + record.driver + ")";
}

}  // namespace atl
