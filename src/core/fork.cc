// Changer::fork: children are journalled like any creation, made by their parent, then attached one
// by one.
#include "base/ids.h"
#include "core/changer.h"
#include "core/creator.h"
#include "core/hooks.h"
#include "core/tenant_floor.h"
#include "telemetry/log.h"

namespace atl {
namespace {

constexpr size_t kMostChildren = 64;

bool can_fork(const Capabilities& can) { return can.fork; }
bool can_fork_memory(const Capabilities& can) { return can.fork && can.checkpoint; }

}  // namespace

Task<std::vector<SandboxView>> Changer::fork(RecordPtr record, Caller caller, size_t count,
                                             SnapshotKind kind) {
  if (count == 0 || count > kMostChildren) {
    co_return Error(Code::invalid_argument, "count: it is between 1 and 64");
  }
  CO_TRY(auto turn, co_await record->turns.take());
  CO_TRY_OK(check_able(*record, "fork", can_fork));
  if (kind == SnapshotKind::memory) CO_TRY_OK(check_able(*record, "fork memory", can_fork_memory));
  if (kind == SnapshotKind::memory)
    CO_TRY_OK(expect(*record, {State::running}, "be forked with its memory"));
  CO_TRY_OK(expect(*record, {State::running, State::paused}, "be forked"));
  CO_TRY_OK(check_floor(parts_.options.admission.quotas, *record, "be forked"));
  const auto one = parts_.admission.amounts_of(record->resources);
  CO_TRY_OK(check_driver_room(*record, one * static_cast<int64_t>(count)));
  CO_TRY_OK(parts_.admission.check_room(record->tenant, one * static_cast<int64_t>(count)));
  CO_TRY_OK(co_await ask_judge(caller, "fork", record, record->resources, count));
  CO_TRY_OK(parts_.admission.take_creates(record->tenant, count));
  CO_TRY_OK(co_await ensure_handle(record));
  // The values are nowhere but in memory, and a child without them would only look like its parent.
  if (!record->env && !record->asked.env_names.empty()) {
    co_return Error(Code::conflict, "the values of the environment of sandbox " + record->id +
                                        " are not known since Atoll was restarted")
        .with_hint("take a snapshot, and give the environment with the sandbox made from it");
  }

  std::vector<RecordPtr> children;
  std::vector<SandboxSpec> specs;
  // Nobody else touches a child before it is made: its time may be up earlier.
  std::vector<Turn> turns;
  for (size_t i = 0; i < count; ++i) {
    // Others may have taken the room meanwhile.
    auto room = parts_.admission.check_room(record->tenant, one);
    if (room) room = check_driver_room(*record, one);
    if (!room) {
      co_return co_await drop_children(record, std::move(children), std::move(room).error());
    }
    children.push_back(make_child(*record));
    specs.push_back(to_spec(*children.back()));
    const auto child = children.back();
    CO_TRY(auto childs_turn, co_await child->turns.take());
    turns.push_back(std::move(childs_turn));
    auto begun = co_await parts_.journal.begin(child, Op::fork);
    if (!begun) {
      auto why = std::move(begun).error().at_stage("intent");
      co_return co_await drop_children(record, std::move(children), std::move(why));
    }
    child->run_intent = begun->id;
  }
  auto forked = co_await make_children(record, std::move(specs), kind);
  if (!forked) {
    auto why = std::move(forked).error().with("forking sandbox " + record->id).at_stage("create");
    co_return co_await drop_children(record, std::move(children), std::move(why));
  }
  auto attached = co_await attach_children(record, children, kind);
  if (!attached) {
    auto why = std::move(attached).error().with("forking sandbox " + record->id);
    co_return co_await drop_children(record, std::move(children), std::move(why));
  }
  std::vector<SandboxView> views;
  views.reserve(children.size());
  for (const auto& child : children) views.push_back(child->view());
  co_return views;
}

Task<> Changer::make_children(RecordPtr parent, std::vector<SandboxSpec> specs, SnapshotKind kind) {
  CO_TRY(DriverSlot * slot, parts_.drivers.get_ready(parent->driver));
  CO_TRY_OK(check_offers_as_much(*slot, *parent));
  CO_TRY(auto by, co_await parts_.snapshots.begin_fork(*parent));
  const auto handle = parent->handle;
  SnapshotRequest request{by->view.id, kind, by->view.home};
  auto forked = co_await slot->driver->fork(*handle, std::move(specs), std::move(request));
  auto dropped = co_await parts_.snapshots.drop(std::move(by));
  if (!dropped) {
    telemetry::log_warn("what a fork has needed is left over, the sweeper will drop it",
                        {{"sandbox", parent->id}, {"why", dropped.error().message()}});
  }
  if (forked) forked = check_offers_as_much(*slot, *parent);
  co_return forked;
}

RecordPtr Changer::make_child(const SandboxRecord& parent) {
  auto child = std::make_shared<SandboxRecord>(parts_.executor);
  child->id = make_sandbox_id();
  child->tenant = parent.tenant;
  child->owner = parent.owner;
  child->asked = parent.asked;
  // Sessions hold the parent, and a child is its maker's.
  child->asked.scope = std::nullopt;
  child->asked.on_last = std::nullopt;
  child->asked.lifecycle = std::nullopt;
  // It has no name by which what it leaves would be found.
  if (child->is_kept()) {
    const DriverSlot* slot = parts_.drivers.find(parent.driver);
    const bool has_root =
        slot != nullptr && slot->capabilities && slot->capabilities->writable_root;
    child->asked.persistence = has_root ? Persistence::persistent : Persistence::ephemeral;
    child->asked.checkpoint = std::nullopt;
  }
  child->asked.course = {.keep_s = parent.asked.course.keep_s,
                         .grace_s = parent.asked.course.grace_s};
  child->driver = parent.driver;
  child->isolation = parent.isolation;
  child->placement = parent.placement;
  child->resources = parent.resources;
  child->env = parent.env;
  child->ttl = parent.ttl;
  child->idle = parent.idle;
  child->created_at = parts_.clock.wall();
  child->last_active_at = child->created_at;
  child->last_active_boot = parts_.clock.boot();
  child->expires_at = child->created_at + child->ttl;
  child->expires_boot = child->last_active_boot + child->ttl;
  parts_.sandboxes.insert(child);
  parts_.sandboxes.move_to(*child, State::starting);
  return child;
}

Task<> Changer::attach_children(RecordPtr parent, std::vector<RecordPtr> children,
                                SnapshotKind kind) {
  CO_TRY(DriverSlot * slot, parts_.drivers.get_ready(parent->driver));
  for (const auto& child : children) {
    CO_TRY(auto handle, co_await slot->driver->attach(child->id));
    child->handle = std::move(handle);
    if (!child->handle->is_running()) {
      co_return Error(Code::unavailable, "sandbox " + child->id + " ended while it started");
    }
    // With memory its processes have begun long ago.
    if (kind == SnapshotKind::disk) CO_TRY_OK(co_await run_after_start(parts_, child));
    parts_.sandboxes.move_to(*child, State::running);
    // What cannot be written is undone, so nobody may write it later.
    std::vector<store::Change> end{
        store::EndIntent{child->run_intent, store::IntentState::done, {}}};
    CO_TRY_OK(co_await parts_.journal.note(child, std::move(end)));
    child->run_intent = 0;
    child->creation->done.fire();
    parts_.reaper.schedule(child);
  }
  co_return Result<>();
}

// All or none: whatever there is of the children goes.
asio::awaitable<Error> Changer::drop_children(RecordPtr parent, std::vector<RecordPtr> children,
                                              Error why) {
  DriverSlot* slot = parts_.drivers.find(parent->driver);
  for (const auto& child : children) {
    if (slot != nullptr) {
      auto dropped = co_await slot->driver->destroy_orphan(child->id);
      if (!dropped && dropped.error().code() != Code::not_found) {
        telemetry::log_warn("a child is left over, the sweeper will destroy it",
                            {{"sandbox", child->id}, {"why", dropped.error().message()}});
      }
    }
    child->failure = why.message();
    if (child->state != State::failed) parts_.sandboxes.move_to(*child, State::failed);
    child->ended_at = parts_.clock.wall();
    child->creation->end(why);
    parts_.bury(child, "could not be made: " + why.message());
    parts_.journal.settle_later(child, Intent{child->run_intent, Op::fork},
                                store::IntentState::failed, why.message());
  }
  co_return why;
}

}  // namespace atl
