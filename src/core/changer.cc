#include "core/changer.h"

#include <initializer_list>

#include "core/creator.h"
#include "core/request_check.h"
#include "json/describe.h"
#include "telemetry/log.h"

namespace atl {
namespace {

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
  if (record.state == State::failed) hint = "recreate it, or destroy it";
  return Error(Code::conflict, "sandbox " + record.id + " is " + is + ", so it cannot " +
                                   std::string(verb) + " (only when it is " + enumerate(names) +
                                   ")")
      .with_hint(hint);
}

bool can_pause(const Capabilities& can) { return can.pause != Pause::none; }
bool can_snapshot(const Capabilities& can) { return can.snapshot; }
bool can_resize(const Capabilities& can) { return can.resize; }

}  // namespace

Task<Intent> Changer::enter(RecordPtr record, State state, Op op) {
  const State before = record->state;
  if (state != before) parts_.sandboxes.move_to(*record, state);
  auto begun = co_await parts_.journal.begin(record, op);
  if (begun) co_return *begun;
  // It may have died meanwhile, and that stays true.
  if (record->state == state) parts_.sandboxes.take_back(*record, before);
  co_return std::move(begun).error().at_stage("intent");
}

Error Changer::fail(const RecordPtr& record, Intent intent, Error why) {
  ++record->generation;
  parts_.journal.settle_later(record, intent, store::IntentState::failed, why.message());
  return why;
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

Result<> Changer::check_able(const SandboxRecord& record, std::string_view verb,
                             bool (*can)(const Capabilities&)) {
  TRY(const DriverSlot* slot, parts_.drivers.get_ready(record.driver));
  if (!can(*slot->capabilities)) return parts_.drivers.lacking(record.driver, verb, can);
  return {};
}

Task<SandboxView> Changer::stop(RecordPtr record) {
  CO_TRY(auto turn, co_await record->turns.take());
  if (record->state == State::stopped) co_return record->view();
  CO_TRY_OK(expect(*record, {State::running, State::paused}, "stop"));
  CO_TRY_OK(co_await ensure_handle(record));
  CO_TRY(const auto intent, co_await enter(record, State::stopping, Op::stop));

  const auto handle = record->handle;
  auto stopped = co_await handle->stop();
  if (!stopped) {
    const bool runs_on = handle->is_running();
    parts_.sandboxes.move_to(*record, runs_on ? State::running : State::stopped);
    if (runs_on) {
      auto why = std::move(stopped).error().with("stopping sandbox " + record->id);
      co_return fail(record, intent, std::move(why));
    }
  } else {
    parts_.sandboxes.move_to(*record, State::stopped);
  }
  ++record->generation;
  CO_TRY_OK(co_await parts_.journal.settle(record, intent, store::IntentState::done));
  parts_.reaper.schedule(record);
  co_return record->view();
}

Task<SandboxView> Changer::start(RecordPtr record) {
  CO_TRY(auto turn, co_await record->turns.take());
  if (record->state == State::running) co_return record->view();
  CO_TRY_OK(expect(*record, {State::stopped, State::failed}, "start"));
  co_return co_await restart(record, Op::start);
}

Task<SandboxView> Changer::recreate(RecordPtr record) {
  CO_TRY(auto turn, co_await record->turns.take());
  CO_TRY_OK(expect(*record, {State::running, State::paused, State::stopped, State::failed},
                   "be recreated"));
  co_return co_await restart(record, Op::recreate);
}

Task<SandboxView> Changer::restart(RecordPtr record, Op op) {
  CO_TRY_OK(co_await ensure_handle(record));
  const State before = record->state;
  CO_TRY(const auto intent, co_await enter(record, State::starting, op));

  const auto handle = record->handle;
  // What runs anew in a frozen sandbox would stand still from its first moment.
  Result<> restarted;
  if (before == State::paused) restarted = co_await handle->resume();
  if (restarted) {
    SandboxSpec spec = to_spec(*record);
    restarted = co_await handle->recreate(std::move(spec));
  }
  if (restarted && !handle->is_running()) {
    restarted = Error(Code::unavailable, "sandbox " + record->id + " ended while it started");
  }
  if (!restarted) {
    auto why = std::move(restarted).error().with("starting sandbox " + record->id);
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
  record->failure.clear();
  record->last_active_at = parts_.clock.wall();
  record->last_active_boot = parts_.clock.boot();
  ++record->generation;
  CO_TRY_OK(co_await parts_.journal.settle(record, intent, store::IntentState::done));
  parts_.reaper.schedule(record);
  co_return record->view();
}

Task<SandboxView> Changer::renew(RecordPtr record, std::optional<std::chrono::seconds> ttl) {
  if (ttl) CO_TRY_OK(check_ttl(*ttl, parts_.options));
  CO_TRY(auto turn, co_await record->turns.take());
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

  const auto old = std::tuple(record->ttl, record->expires_at, record->expires_boot);
  const auto set = [&](auto times) {
    std::tie(record->ttl, record->expires_at, record->expires_boot) = times;
  };
  set(std::tuple(longer, std::optional(end), parts_.clock.boot() + Micros(longer)));
  auto intent = co_await enter(record, record->state, Op::renew);
  if (!intent) {
    set(old);
    co_return std::move(intent).error();
  }
  const auto handle = record->handle;
  const Micros at = record->expires_boot;
  auto renewed = co_await handle->renew(at);
  if (!renewed) {
    set(old);
    auto why = std::move(renewed).error().with("renewing sandbox " + record->id);
    co_return fail(record, *intent, std::move(why));
  }
  CO_TRY_OK(co_await parts_.journal.settle(record, *intent, store::IntentState::done));
  parts_.reaper.schedule(record);
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
  if (record->state == target) co_return record->view();
  CO_TRY_OK(expect(*record, {pausing ? State::running : State::paused}, verb));
  CO_TRY_OK(co_await ensure_handle(record));
  CO_TRY(const auto intent, co_await enter(record, record->state, op));

  const auto handle = record->handle;
  auto act = pausing ? handle->pause() : handle->resume();
  auto done = co_await std::move(act);
  if (done && record->state == State::failed) {
    done = Error(Code::unavailable, "sandbox " + record->id + " ended meanwhile");
  }
  if (!done) co_return fail(record, intent, std::move(done).error());
  parts_.sandboxes.move_to(*record, target);
  if (!pausing) record->last_active_boot = parts_.clock.boot();
  ++record->generation;
  CO_TRY_OK(co_await parts_.journal.settle(record, intent, store::IntentState::done));
  parts_.reaper.schedule(record);
  co_return record->view();
}

Task<std::string> Changer::snapshot(RecordPtr record, std::string name) {
  CO_TRY(auto turn, co_await record->turns.take());
  CO_TRY_OK(check_able(*record, "snapshot", can_snapshot));
  CO_TRY_OK(expect(*record, {State::running, State::paused, State::stopped}, "be snapshotted"));
  CO_TRY_OK(co_await ensure_handle(record));
  CO_TRY(const auto intent, co_await enter(record, record->state, Op::snapshot));
  const auto handle = record->handle;
  auto taken = co_await handle->snapshot(std::move(name));
  if (!taken) co_return fail(record, intent, std::move(taken).error());
  CO_TRY_OK(co_await parts_.journal.settle(record, intent, store::IntentState::done));
  co_return *std::move(taken);
}

Task<SandboxView> Changer::resize(RecordPtr record, Resources resources) {
  CO_TRY_OK(check_resize(resources));
  CO_TRY(auto turn, co_await record->turns.take());
  CO_TRY_OK(check_able(*record, "resize", can_resize));
  if (record->resources.sharing == Sharing::dedicated && (resources.cpu || resources.cpu_weight)) {
    co_return Error(Code::unsupported,
                    "sandbox " + record->id + " has processors of its own, whose number is settled")
        .with_hint("make a new sandbox with another number of processors");
  }
  CO_TRY_OK(expect(*record, {State::running, State::paused}, "be resized"));
  CO_TRY_OK(co_await ensure_handle(record));
  CO_TRY(const auto intent, co_await enter(record, record->state, Op::resize));
  const auto handle = record->handle;
  // Memory of a dedicated sandbox is reserved, whatever it is resized to.
  Resources wanted = resources;
  wanted.sharing = record->resources.sharing;
  auto resized = co_await handle->resize(wanted);
  if (!resized) co_return fail(record, intent, std::move(resized).error());
  if (resources.cpu) record->resources.cpu = resources.cpu;
  if (resources.memory_mb) record->resources.memory_mb = resources.memory_mb;
  if (resources.pids) record->resources.pids = resources.pids;
  if (resources.disk_mb) record->resources.disk_mb = resources.disk_mb;
  if (resources.cpu_weight) record->resources.cpu_weight = resources.cpu_weight;
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

void Changer::note_death(const RecordPtr& record, std::string why) {
  if (record->state != State::running && record->state != State::paused) return;
  record->failure = std::move(why);
  parts_.sandboxes.move_to(*record, State::failed);
  ++record->generation;
  parts_.journal.note_later(record);
  telemetry::log_warn("sandbox failed", {{"sandbox", record->id}, {"why", record->failure}});
}

}  // namespace atl
