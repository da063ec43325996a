#include "core/changer.h"

#include "core/creator.h"
#include "core/healing.h"
#include "core/hooks.h"
#include "core/lifetime.h"
#include "core/request_check.h"
#include "core/tenant_floor.h"
#include "json/describe.h"
#include "telemetry/log.h"

namespace atl {
namespace {

bool can_pause(const Capabilities& can) { return can.pause != Pause::none; }
bool can_snapshot(const Capabilities& can) { return can.snapshot; }
bool can_checkpoint(const Capabilities& can) { return can.checkpoint; }
bool can_resize(const Capabilities& can) { return can.resize; }

// What a resize leaves out stays.
Resources merge(Resources now, const Resources& change) {
  if (change.cpu) now.cpu = change.cpu;
  if (change.memory_mb) now.memory_mb = change.memory_mb;
  if (change.pids) now.pids = change.pids;
  if (change.disk_mb) now.disk_mb = change.disk_mb;
  if (change.cpu_weight) now.cpu_weight = change.cpu_weight;
  return now;
}

policy::Amounts growth_of(const policy::Amounts& from, const policy::Amounts& to) {
  return {.milli_cpus = std::max<int64_t>(to.milli_cpus - from.milli_cpus, 0),
          .memory_mb = std::max<int64_t>(to.memory_mb - from.memory_mb, 0),
          .disk_mb = std::max<int64_t>(to.disk_mb - from.disk_mb, 0)};
}
// When a sandbox ends, to be put back if a longer time comes to nothing.
class Lifetime final {
 public:
  explicit Lifetime(const SandboxRecord& record)
      : times_(record.ttl, record.expires_at, record.expires_boot, record.asked.course.keep_s,
               record.asked.course.grace_s) {}
  void put_back(const RecordPtr& record, Reaper& reaper) const {
    std::tie(record->ttl, record->expires_at, record->expires_boot, record->asked.course.keep_s,
             record->asked.course.grace_s) = times_;
    // It may have believed in the longer time already.
    reaper.schedule(record);
  }

 private:
  std::tuple<std::chrono::seconds, std::optional<WallTime>, Micros, int64_t, int64_t> times_;
};

}  // namespace

Result<> expect(const SandboxRecord& record, std::initializer_list<State> allowed,
                std::string_view verb) {
  std::vector<std::string> names;
  for (const State state : allowed) {
    if (record.state == state) return {};
    names.emplace_back(json::name_of(state));
  }
  const std::string is(json::name_of(record.state));
  if (record.state == State::destroyed || record.ended_at) {
    return Error(Code::not_found, "sandbox " + record.id + " was destroyed");
  }
  std::string hint;
  if (record.state == State::stopped) hint = "start it first";
  if (record.state == State::paused) hint = "resume it first";
  if (record.state == State::failed) hint = kAfterFailure;
  return Error(Code::conflict, "sandbox " + record.id + " is " + is + ", so it cannot " +
                                   std::string(verb) + " (only when it is " + enumerate(names) +
                                   ")")
      .with_hint(hint);
}

Task<Intent> Changer::enter(RecordPtr record, State state, Op op) {
  const State before = record->state;
  if (state != before) parts_.sandboxes.move_to(*record, state);
  auto begun = co_await parts_.journal.begin(record, op);
  if (begun) co_return *begun;
  // It may have died meanwhile, and that stays true.
  if (record->state == state) parts_.sandboxes.take_back(*record, before);
  // What stops has no deadline, so the reaper may have passed it over meanwhile.
  parts_.reaper.schedule(record);
  co_return std::move(begun).error().at_stage("intent");
}

Error Changer::fail(const RecordPtr& record, Intent intent, Error why) {
  ++record->generation;
  // The reaper may have passed it over meanwhile.
  parts_.reaper.schedule(record);
  parts_.journal.settle_later(record, intent, store::IntentState::failed, why.message());
  return why;
}

// It is as was asked; whoever is told so can rely on it, after a crash, too.
Task<SandboxView> Changer::confirm(RecordPtr record) {
  // What had come to rest by itself is now so because somebody wants it, and is not woken by use.
  if (const Rest before = std::exchange(record->asked.course.rest, Rest::none);
      before != Rest::none) {
    auto noted = co_await parts_.journal.note(record, {});
    if (!noted) {
      record->asked.course.rest = before;
      co_return std::move(noted).error();
    }
  }
  CO_TRY_OK(co_await parts_.journal.catch_up(record));
  co_return record->view();
}

Task<> Changer::ensure_handle(RecordPtr record) {
  if (record->handle) co_return Result<>();
  CO_TRY(DriverSlot * slot, parts_.drivers.get_ready(record->driver));
  auto attached = co_await slot->driver->attach(record->id);
  if (!attached && attached.error().code() == Code::not_found) {
    co_return Error(Code::conflict, "nothing is left of sandbox " + record->id)
        .with_hint("destroy it and create a new one");
  }
  if (!attached) co_return std::move(attached).error();
  record->handle = *std::move(attached);
  co_return Result<>();
}

Result<> Changer::check_driver_room(const SandboxRecord& record, const policy::Amounts& more) {
  const DriverSlot* slot = parts_.drivers.find(record.driver);
  if (slot == nullptr) return {};
  const auto shortage = find_shortage(*slot, more);
  if (!shortage) return {};
  return full(*slot, *shortage).at_stage("admission");
}

Result<> Changer::check_able(const SandboxRecord& record, std::string_view verb,
                             bool (*can)(const Capabilities&)) {
  TRY(const DriverSlot* slot, parts_.drivers.get_ready(record.driver));
  if (!can(*slot->capabilities)) return parts_.drivers.lacking(record.driver, verb, can);
  return {};
}

Task<SandboxView> Changer::stop(RecordPtr record) {
  CO_TRY(auto turn, co_await record->turns.take());
  if (record->state == State::stopped) co_return co_await confirm(record);
  co_return co_await stop_now(record, Rest::none);
}

Task<SandboxView> Changer::stop_now(RecordPtr record, Rest why_it_rests) {
  CO_TRY_OK(expect(*record, {State::running, State::paused}, "stop"));
  CO_TRY_OK(co_await ensure_handle(record));
  const State before = record->state;
  const Rest rested = std::exchange(record->asked.course.rest, why_it_rests);
  auto begun = co_await enter(record, State::stopping, Op::stop);
  if (!begun) {
    record->asked.course.rest = rested;
    co_return std::move(begun).error();
  }
  const Intent intent = *begun;

  const auto handle = record->handle;
  // A frozen agent ends nothing, and whoever asks it waits in vain.
  Result<> stopped;
  if (before == State::paused) stopped = co_await handle->resume();
  const bool is_frozen = !stopped;
  if (stopped) stopped = co_await say_goodbye(parts_, record);
  if (stopped) stopped = co_await handle->stop();
  if (!stopped) {
    const bool runs_on = handle->is_running();
    const State still = is_frozen ? State::paused : State::running;
    parts_.sandboxes.move_to(*record, runs_on ? still : State::stopped);
    if (runs_on) {
      record->asked.course.rest = is_frozen ? rested : Rest::none;
      auto why = std::move(stopped).error().with("stopping sandbox " + record->id);
      co_return fail(record, intent, std::move(why));
    }
  } else {
    parts_.sandboxes.move_to(*record, State::stopped);
  }
  ++record->generation;
  parts_.reaper.schedule(record);
  CO_TRY_OK(co_await parts_.journal.settle(record, intent, store::IntentState::done));
  co_return record->view();
}

Task<SandboxView> Changer::start(RecordPtr record) {
  CO_TRY(auto turn, co_await record->turns.take());
  if (record->state == State::running) co_return co_await confirm(record);
  CO_TRY_OK(expect(*record, {State::stopped, State::failed}, "start"));
  forget_recovery(*record);
  co_return co_await restart(record, Op::start);
}

Task<SandboxView> Changer::recreate(RecordPtr record) {
  CO_TRY(auto turn, co_await record->turns.take());
  CO_TRY_OK(expect(*record, {State::running, State::paused, State::stopped, State::failed},
                   "be recreated"));
  forget_recovery(*record);
  co_return co_await restart(record, Op::recreate);
}

Task<SandboxView> Changer::restart(RecordPtr record, Op op) {
  CO_TRY_OK(check_floor(parts_.options.admission.quotas, *record, "be started"));
  CO_TRY_OK(co_await ensure_handle(record));
  const State before = record->state;
  const Lifetime old(*record);
  CO_TRY(const bool is_late, give_time(*record));
  auto begun = co_await enter(record, State::starting, op);
  if (!begun) {
    old.put_back(record, parts_.reaper);
    co_return std::move(begun).error();
  }
  const Intent intent = *begun;

  const auto handle = record->handle;
  Result<> restarted;
  const Micros last_moment = record->drivers_moment();
  if (is_late) restarted = co_await handle->renew(last_moment);
  if (!restarted) old.put_back(record, parts_.reaper);
  // What runs anew in a frozen sandbox would stand still from its first moment.
  if (restarted && before == State::paused) restarted = co_await handle->resume();
  if (restarted) restarted = co_await say_goodbye(parts_, record);
  if (restarted) {
    SandboxSpec spec = to_spec(*record);
    restarted = co_await handle->recreate(std::move(spec));
  }
  if (restarted) restarted = co_await run_after_start(parts_, record);
  if (restarted && !handle->is_running()) {
    restarted = Error(Code::unavailable, "sandbox " + record->id + " ended while it started");
  }
  // What its hooks could not make ready must not run.
  if (!restarted && restarted.error().stage() == "after_start") {
    const auto stopped = co_await handle->stop();
    static_cast<void>(stopped);  // where that fails, too, its state says so
  }
  if (!restarted) {
    auto why = std::move(restarted).error().with("starting sandbox " + record->id);
    if (why.hint().empty() && before == State::failed)
      why = std::move(why).with_hint(kAfterFailure);
    if (handle->is_running()) {
      parts_.sandboxes.move_to(*record, State::running);
    } else if (before == State::stopped) {
      parts_.sandboxes.move_to(*record, State::stopped);
    } else {
      record->failure = why.message();
      parts_.sandboxes.move_to(*record, State::failed);
    }
    auto error = std::move(why).at_stage("create");
    co_return fail(record, intent, std::move(error));
  }
  parts_.sandboxes.move_to(*record, State::running);
  record->asked.course.rest = Rest::none;
  record->asked.course.died = false;
  record->failure.clear();
  forget_pulse(*record);
  record->last_active_at = parts_.clock.wall();
  record->last_active_boot = parts_.clock.boot();
  ++record->generation;
  parts_.reaper.schedule(record);
  CO_TRY_OK(co_await parts_.journal.settle(record, intent, store::IntentState::done));
  co_return record->view();
}

Task<SandboxView> Changer::renew(RecordPtr record, std::optional<std::chrono::seconds> ttl) {
  if (ttl) CO_TRY_OK(check_ttl(*ttl, parts_.options));
  CO_TRY(auto turn, co_await record->turns.take());
  if (record->lifecycle == Lifecycle::persistent) {
    co_return Error(Code::conflict, "sandbox " + record->id +
                                        " lives as long as the server, so it has no time to renew");
  }
  CO_TRY_OK(expect(*record, {State::running, State::paused, State::stopped, State::failed},
                   "be renewed"));
  CO_TRY_OK(co_await ensure_handle(record));
  const auto longer = ttl.value_or(record->ttl);
  CO_TRY(DriverSlot * slot, parts_.drivers.get_ready(record->driver));
  const WallTime end = parts_.clock.wall() + longer;
  const auto most = slot->capabilities->max_lifetime_s;
  if (most && end > record->created_at + std::chrono::seconds(*most)) {
    co_return Error(Code::unsupported, record->driver + " keeps a sandbox for at most " +
                                           std::to_string(*most) + " s after its creation");
  }

  const Lifetime old(*record);
  record->ttl = longer;
  set_lifetime(*record, {parts_.clock.wall(), parts_.clock.boot()}, longer, *slot, parts_.options);
  auto intent = co_await enter(record, record->state, Op::renew);
  if (!intent) {
    old.put_back(record, parts_.reaper);
    co_return std::move(intent).error();
  }
  const auto handle = record->handle;
  const Micros at = record->drivers_moment();
  auto renewed = co_await handle->renew(at);
  // Its old time may have been up before the driver heard of the new one.
  const bool should_run = record->state == State::running || record->state == State::paused;
  if (renewed && should_run && !handle->is_running()) {
    renewed = Error(Code::conflict, "it has ended meanwhile");
  }
  if (!renewed) {
    old.put_back(record, parts_.reaper);
    auto why = std::move(renewed).error().with("renewing sandbox " + record->id);
    co_return fail(record, *intent, std::move(why));
  }
  parts_.reaper.schedule(record);
  CO_TRY_OK(co_await parts_.journal.settle(record, *intent, store::IntentState::done));
  co_return record->view();
}

Task<SandboxView> Changer::pause(RecordPtr record) { return set_paused(record, Op::pause); }
Task<SandboxView> Changer::resume(RecordPtr record) { return set_paused(record, Op::resume); }

Task<SandboxView> Changer::set_paused(RecordPtr record, Op op) {
  const bool pausing = op == Op::pause;
  const std::string_view verb = pausing ? "pause" : "resume";
  const State target = pausing ? State::paused : State::running;
  CO_TRY(auto turn, co_await record->turns.take());
  CO_TRY_OK(check_able(*record, verb, can_pause));
  if (record->state == target) co_return co_await confirm(record);
  co_return co_await pause_or_resume(record, op, Rest::none);
}

Task<SandboxView> Changer::pause_or_resume(RecordPtr record, Op op, Rest why) {
  const bool pausing = op == Op::pause;
  CO_TRY_OK(
      expect(*record, {pausing ? State::running : State::paused}, pausing ? "pause" : "resume"));
  CO_TRY_OK(co_await ensure_handle(record));
  const Lifetime old(*record);
  const Rest before = record->asked.course.rest;
  bool is_late = false;
  if (pausing) {
    record->asked.course.rest = why;
  } else {
    CO_TRY(is_late, give_time(*record));
  }
  auto begun = co_await enter(record, record->state, op);
  if (!begun) {
    old.put_back(record, parts_.reaper);
    record->asked.course.rest = before;
    co_return std::move(begun).error();
  }
  const Intent intent = *begun;

  const auto handle = record->handle;
  Result<> done;
  const Micros last_moment = record->drivers_moment();
  if (is_late) done = co_await handle->renew(last_moment);
  if (!done) old.put_back(record, parts_.reaper);
  if (done) {
    auto act = pausing ? handle->pause() : handle->resume();
    done = co_await std::move(act);
  }
  if (done && record->state == State::failed) {
    done = Error(Code::unavailable, "sandbox " + record->id + " ended meanwhile");
  }
  if (!done) {
    record->asked.course.rest = before;
    co_return fail(record, intent, std::move(done).error());
  }
  parts_.sandboxes.move_to(*record, pausing ? State::paused : State::running);
  if (!pausing) {
    record->asked.course.rest = Rest::none;
    forget_pulse(*record);
    record->last_active_at = parts_.clock.wall();
    record->last_active_boot = parts_.clock.boot();
  }
  ++record->generation;
  parts_.reaper.schedule(record);
  CO_TRY_OK(co_await parts_.journal.settle(record, intent, store::IntentState::done));
  co_return record->view();
}

// Nothing of the sandbox changes, so the row of the snapshot is all that needs to be journalled.
Task<SnapshotView> Changer::snapshot(RecordPtr record, std::string owner, SnapshotAsk ask) {
  CO_TRY_OK(check_labels(ask.labels));
  CO_TRY(auto turn, co_await record->turns.take());
  CO_TRY_OK(check_able(*record, "snapshot", can_snapshot));
  if (ask.kind == SnapshotKind::memory) {
    CO_TRY_OK(check_able(*record, "keep memory in a snapshot", can_checkpoint));
    CO_TRY_OK(expect(*record, {State::running}, "be kept with its memory"));
  }
  CO_TRY_OK(expect(*record, {State::running, State::paused, State::stopped}, "be snapshotted"));
  CO_TRY_OK(co_await ensure_handle(record));
  CO_TRY_OK(parts_.drivers.get_ready(record->driver));
  CO_TRY(auto snapshot, co_await parts_.snapshots.begin(*record, std::move(owner), std::move(ask)));
  co_return co_await take(record, std::move(snapshot));
}

Task<SnapshotView> Changer::take(RecordPtr record, SnapshotPtr snapshot) {
  DriverSlot* const slot = parts_.drivers.find(record->driver);
  const auto handle = record->handle;
  SnapshotRequest request{snapshot->view.id, snapshot->view.kind, snapshot->view.home};
  auto taken = co_await slot->driver->snapshot(*handle, std::move(request));
  Result<> kept;
  if (!taken) {
    kept = std::move(taken).error().with("keeping sandbox " + record->id).at_stage("create");
  } else {
    kept = co_await parts_.snapshots.finish(snapshot, *taken);
  }
  if (kept) co_return snapshot->view;
  auto dropped = co_await parts_.snapshots.drop(snapshot);
  if (!dropped) {
    telemetry::log_warn("a snapshot that failed is left over, the sweeper will drop it",
                        {{"snapshot", snapshot->view.id}, {"why", dropped.error().message()}});
  }
  co_return std::move(kept).error();
}

Task<SandboxView> Changer::resize(RecordPtr record, Caller caller, Resources resources) {
  CO_TRY_OK(check_resize(resources));
  CO_TRY(auto turn, co_await record->turns.take());
  CO_TRY_OK(check_able(*record, "resize", can_resize));
  if (record->resources.sharing == Sharing::dedicated && (resources.cpu || resources.cpu_weight)) {
    co_return Error(Code::unsupported,
                    "sandbox " + record->id + " has processors of its own, whose number is settled")
        .with_hint("make a new sandbox with another number of processors");
  }
  CO_TRY_OK(expect(*record, {State::running, State::paused}, "be resized"));
  CO_TRY_OK(co_await ask_judge(caller, "resize", record, resources, 1));
  const Resources whole = merge(record->resources, resources);
  // What one thing gives back does not pay for another: it is given back later.
  const auto growth = growth_of(record->amounts, parts_.admission.amounts_of(whole));
  CO_TRY_OK(check_driver_room(*record, growth));
  CO_TRY(auto room, parts_.admission.keep_free(record->tenant, growth));
  CO_TRY_OK(co_await ensure_handle(record));
  CO_TRY(const auto intent, co_await enter(record, record->state, Op::resize));
  const auto handle = record->handle;
  // Memory of a dedicated sandbox is reserved, whatever it is resized to.
  Resources wanted = resources;
  wanted.sharing = record->resources.sharing;
  auto resized = co_await handle->resize(wanted);
  if (!resized) co_return fail(record, intent, std::move(resized).error());
  record->resources = whole;
  room.settle();
  parts_.sandboxes.recount(*record);
  parts_.admission.serve();
  CO_TRY_OK(co_await parts_.journal.settle(record, intent, store::IntentState::done));
  co_return record->view();
}

Task<SandboxStats> Changer::stats(RecordPtr record) {
  CO_TRY_OK(expect(*record, {State::running, State::paused, State::stopped}, "be measured"));
  if (!record->handle) {
    co_return Error(Code::unavailable, "driver " + record->driver + " does not answer");
  }
  const auto handle = record->handle;
  co_return co_await handle->stats();
}

Result<bool> Changer::give_time(SandboxRecord& record) {
  const bool is_over =
      record.expires_boot.count() != 0 && record.expires_boot <= parts_.clock.boot();
  if (record.on_expire() == OnEnd::kill || !is_over) return false;
  TRY(const DriverSlot* slot, parts_.drivers.get_ready(record.driver));
  set_lifetime(record, {parts_.clock.wall(), parts_.clock.boot()}, record.ttl, *slot,
               parts_.options);
  if (record.expires_boot > parts_.clock.boot()) return true;
  return Error(Code::unsupported, record.driver + " keeps sandbox " + record.id + " no longer");
}

void Changer::note_death(const RecordPtr& record, std::string why) {
  const bool is_settled = record->state == State::running || record->state == State::paused ||
                          record->state == State::stopped;
  if (!is_settled) return;
  const bool has_run = record->state != State::stopped;
  record->failure = std::move(why);
  // Its pool ends it, and nobody has lost anything.
  if (record->lifecycle == Lifecycle::pooled) return parts_.shelf.tell();
  parts_.sandboxes.move_to(*record, State::failed);
  record->asked.course.rest = Rest::none;  // a use does not bring it back
  if (has_run) {
    record->asked.course.died = true;
    plan_recovery(parts_, record);
  }
  ++record->generation;
  parts_.journal.note_later(record);
  telemetry::log_warn("sandbox failed", {{"sandbox", record->id}, {"why", record->failure}});
}

}  // namespace atl
