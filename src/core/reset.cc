// Changer::reset: the same sandbox as if nobody had ever used it.
//
// The old one is destroyed whole before a new one is made under its id, so what the next user finds
// does not depend on how well somebody cleans up. A template's tree is as it was, whatever its name
// stands for now. Directories of the host are not the sandbox's to clean: with one it is not reset.
#include "core/changer.h"
#include "core/creator.h"
#include "core/healing.h"
#include "core/hooks.h"
#include "core/profile_use.h"
#include "core/request_check.h"
#include "core/router.h"
#include "core/startup.h"
#include "core/tenant_floor.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace atl {
namespace {

bool can_reset(const Capabilities& can) { return can.reset; }

Result<> check_has_no_directories(const SandboxRecord& record) {
  const Asked& asked = record.asked;
  const bool is_theirs = asked.root && asked.template_id.empty();
  if (!asked.workspace && asked.mounts.empty() && !is_theirs) return {};
  return Error(Code::unsupported, "sandbox " + record.id +
                                      " has directories of the host, where a reset cannot remove "
                                      "anything")
      .with_hint("destroy it, and create a new one");
}

}  // namespace

// A sandbox stays what whoever has it was told that it is, so there is no new one where its driver
// has come to offer less.
Result<> check_offers_as_much(const DriverSlot& slot, const SandboxRecord& record) {
  if (!slot.capabilities) return {};
  const Isolation isolation = isolation_of(*slot.capabilities, record.asked.runtime);
  const Placement placement = slot.capabilities->placement;
  if (isolation >= record.isolation && placement <= record.placement) return {};
  const auto words = [](Isolation has, Placement at) {
    return std::string(json::name_of(has)) + " at " + std::string(json::name_of(at));
  };
  return Error(Code::unavailable, slot.name() + " offers " + words(isolation, placement) +
                                      " now, and sandbox " + record.id + " has " +
                                      words(record.isolation, record.placement))
      .with_hint("repair " + slot.name() + ", or create a new sandbox");
}

Task<Changer::Remake> Changer::prepare_remake(RecordPtr record, Caller caller) {
  Remake with;
  CO_TRY(with.slot, parts_.drivers.get_ready(record->driver));
  CO_TRY_OK(check_offers_as_much(*with.slot, *record));
  if (!record->asked.snapshot.empty()) {
    auto used = parts_.snapshots.use(caller, record->asked.snapshot);
    if (!used) co_return std::move(used).error().with("what the sandbox was made from");
    with.from = *std::move(used);
  }
  if (!record->asked.template_id.empty()) {
    if (!parts_.options.reopen_template)
      co_return Error(Code::unavailable, "templates are kept by a daemon, and there is none");
    auto opened = parts_.options.reopen_template(with.root, record->asked.template_id);
    if (!opened) co_return std::move(opened).error().with("template " + record->asked.template_);
  }
  CO_TRY(with.startup, find_startup(*record, profiles_of(parts_.options)));
  with.old = record->handle;
  if (!with.old) {
    auto attached = co_await with.slot->driver->attach(record->id);
    if (!attached && attached.error().code() != Code::not_found)
      co_return std::move(attached).error();
    if (attached) with.old = *std::move(attached);
  }
  co_return with;
}

Task<SandboxView> Changer::reset(RecordPtr record, Caller caller,
                                 std::map<std::string, std::string> env) {
  CO_TRY_OK(check_env(env));
  CO_TRY(auto turn, co_await record->turns.take());
  CO_TRY_OK(check_able(*record, "reset", can_reset));
  CO_TRY_OK(check_floor(parts_.options.admission.quotas, *record, "be reset"));
  CO_TRY_OK(check_has_no_directories(*record));
  CO_TRY_OK(
      expect(*record, {State::running, State::paused, State::stopped, State::failed}, "be reset"));
  CO_TRY(auto with, co_await prepare_remake(record, std::move(caller)));
  CO_TRY_OK(add_known_env(env, *record, with.root.env, profiles_of(parts_.options)));
  const bool has_run = record->state == State::running;
  CO_TRY(const auto intent, co_await enter(record, State::starting, Op::reset));
  if (has_run) CO_TRY_OK(co_await say_goodbye(parts_, record));

  record->env = std::move(env);
  record->asked.env_names.clear();
  for (const auto& [name, value] : *record->env) record->asked.env_names.push_back(name);
  record->asked.files.clear();
  ++record->asked.resets;
  forget_recovery(*record);
  co_return co_await remake(record, std::move(with), intent, "resetting");
}

// A sandbox that nobody is there to answer for comes back as it was made, under its id and with its
// environment. What was in it is gone with the process that held it.
Task<> Changer::revive(RecordPtr record) {
  CO_TRY(auto turn, co_await record->turns.take());
  const bool is_needed = record->recover_at.count() != 0 &&
                         (record->state == State::failed ||
                          (record->state == State::running && record->is_unresponsive));
  if (!is_needed || record->recover_at > parts_.clock.boot()) {
    if (!is_needed) record->recover_at = Micros(0);
    parts_.reaper.schedule(record);
    co_return Result<>();
  }
  record->asked.course.died = true;
  ++record->asked.course.tries;
  ++record->asked.course.recoveries;
  auto revived = co_await revive_now(record);
  record->recover_at = Micros(0);
  record->revived_at = parts_.clock.boot();
  parts_.metrics.recoveries.at(record->driver, revived ? "ok" : to_string(revived.error().code()))
      .add();
  if (revived) {
    telemetry::log_warn("sandbox was recreated", {{"sandbox", record->id}});
    co_return Result<>();
  }
  --record->asked.course.recoveries;
  const Code code = revived.error().code();
  if (code == Code::conflict || code == Code::unsupported || code == Code::not_found ||
      code == Code::permission_denied) {
    give_up_recovery(*record, revived.error());
  } else {
    plan_recovery(parts_, record);
  }
  parts_.journal.note_later(record);
  // Its time runs on, whatever becomes of it.
  parts_.reaper.schedule(record);
  co_return std::move(revived).error();
}

Task<> Changer::revive_now(RecordPtr record) {
  CO_TRY_OK(check_able(*record, "make a sandbox anew", can_reset));
  CO_TRY_OK(check_floor(parts_.options.admission.quotas, *record, "be made anew"));
  if (!record->env && !record->asked.env_names.empty()) {
    co_return Error(Code::conflict, "the values of the environment of sandbox " + record->id +
                                        " are not known since Atoll was restarted");
  }
  const Caller owner{.tenant = record->tenant, .subject = record->owner, .role = Role::member};
  CO_TRY(auto with, co_await prepare_remake(record, owner));
  CO_TRY(const auto intent, co_await enter(record, State::starting, Op::reset));
  CO_TRY(const auto view, co_await remake(record, std::move(with), intent, "recreating"));
  static_cast<void>(view);
  co_return Result<>();
}

Task<SandboxView> Changer::remake(RecordPtr record, Remake with, Intent intent, std::string doing) {
  record->handle = nullptr;
  record->asked.course.rest = Rest::none;
  SandboxSpec spec = to_spec(*record);
  spec.snapshot = record->asked.snapshot;
  spec.give_up = record->give_up;
  spec.root = std::move(with.root.root);
  spec.template_id = std::move(with.root.template_id);
  auto made = co_await make_anew(
      *with.slot->driver, with.old, std::move(spec),
      [record, slot = with.slot] { return check_offers_as_much(*slot, *record); });
  Result<> begun;
  if (made) {
    record->handle = *std::move(made);
    begun = check_offers_as_much(*with.slot, *record);
    if (begun) {
      begun = co_await start_anew(record, std::move(with));
    } else {
      begun = co_await drop_fresh(record, std::move(begun).error());
    }
  } else {
    begun = std::move(made).error().at_stage("create");
  }
  if (!begun) {
    auto why = std::move(begun).error().with(doing + " sandbox " + record->id);
    record->failure = why.message();
    parts_.sandboxes.move_to(*record, State::failed);
    co_return fail(record, intent, std::move(why));
  }
  parts_.sandboxes.move_to(*record, State::running);
  record->asked.course.died = false;
  record->failure.clear();
  forget_pulse(*record);
  record->last_active_at = parts_.clock.wall();
  record->last_active_boot = parts_.clock.boot();
  ++record->generation;
  CO_TRY_OK(co_await parts_.journal.settle(record, intent, store::IntentState::done));
  parts_.reaper.schedule(record);
  co_return record->view();
}

// What cannot be started up must not exist.
Task<> Changer::start_anew(RecordPtr record, Remake with) {
  const auto fresh = record->handle;
  telemetry::StageTimer timer(parts_.clock);
  auto started =
      co_await start_up(fresh->guest(), with.startup,
                        startup_facts(parts_, *record, with.from.get()), parts_.clock, timer);
  if (started) co_return Result<>();
  co_return co_await drop_fresh(record, std::move(started).error());
}

Task<> Changer::drop_fresh(RecordPtr record, Error why) {
  const auto fresh = record->handle;
  auto destroyed = co_await fresh->destroy();
  if (destroyed) record->handle = nullptr;
  co_return why;
}

}  // namespace atl
