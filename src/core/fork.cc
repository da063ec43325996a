// Changer::fork: children are journalled like any creation, made by their parent, then attached one
// by one.
#include "base/ids.h"
#include "core/changer.h"
#include "core/creator.h"
#include "telemetry/log.h"

namespace atl {
namespace {

constexpr size_t kMostChildren = 64;

bool can_fork(const Capabilities& can) { return can.fork; }

}  // namespace

Task<std::vector<SandboxView>> Changer::fork(RecordPtr record, size_t count) {
  if (count == 0 || count > kMostChildren) {
    co_return Error(Code::invalid_argument, "count: it is between 1 and 64");
  }
  CO_TRY(auto turn, co_await record->turns.take());
  CO_TRY_OK(check_able(*record, "fork", can_fork));
  if (record->state != State::running && record->state != State::paused) {
    co_return Error(Code::conflict, "sandbox " + record->id + " does not run");
  }
  if (parts_.sandboxes.size() + count > parts_.options.most_sandboxes) {
    co_return Error(Code::resource_exhausted, "there would be more sandboxes than the limit");
  }
  CO_TRY_OK(check_tenant_has_room(parts_, record->tenant, count));
  CO_TRY_OK(co_await ensure_handle(record));

  std::vector<RecordPtr> children;
  std::vector<SandboxSpec> specs;
  for (size_t i = 0; i < count; ++i) {
    // Others may have taken the room meanwhile.
    if (auto room = check_tenant_has_room(parts_, record->tenant, 1); !room) {
      co_return co_await drop_children(record, std::move(children), std::move(room).error());
    }
    children.push_back(make_child(*record));
    specs.push_back(to_spec(*children.back()));
    const auto child = children.back();
    auto begun = co_await parts_.journal.begin(child, Op::fork);
    if (!begun) {
      auto why = std::move(begun).error().at_stage("intent");
      co_return co_await drop_children(record, std::move(children), std::move(why));
    }
    child->run_intent = begun->id;
  }
  const auto handle = record->handle;
  auto forked = co_await handle->fork(std::move(specs));
  if (!forked) {
    auto why = std::move(forked).error().with("forking sandbox " + record->id).at_stage("create");
    co_return co_await drop_children(record, std::move(children), std::move(why));
  }
  auto attached = co_await attach_children(record, children);
  if (!attached) {
    auto why = std::move(attached).error().with("forking sandbox " + record->id);
    co_return co_await drop_children(record, std::move(children), std::move(why));
  }
  std::vector<SandboxView> views;
  views.reserve(children.size());
  for (const auto& child : children) views.push_back(child->view());
  co_return views;
}

RecordPtr Changer::make_child(const SandboxRecord& parent) {
  auto child = std::make_shared<SandboxRecord>(parts_.executor);
  child->id = make_sandbox_id();
  child->tenant = parent.tenant;
  child->owner = parent.owner;
  child->asked = parent.asked;
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

Task<> Changer::attach_children(RecordPtr parent, std::vector<RecordPtr> children) {
  CO_TRY(DriverSlot * slot, parts_.drivers.get_ready(parent->driver));
  for (const auto& child : children) {
    CO_TRY(auto handle, co_await slot->driver->attach(child->id));
    child->handle = std::move(handle);
    parts_.sandboxes.move_to(*child, State::running);
    const Intent intent{child->run_intent, Op::fork};
    CO_TRY_OK(co_await parts_.journal.settle(child, intent, store::IntentState::done));
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
    parts_.sandboxes.move_to(*child, State::failed);
    child->ended_at = parts_.clock.wall();
    child->creation->end(why);
    parts_.bury(child, "could not be made: " + why.message());
    parts_.journal.settle_later(child, Intent{child->run_intent, Op::fork},
                                store::IntentState::failed, why.message());
  }
  co_return why;
}

}  // namespace atl
