#include "core/creator.h"

#include "base/ids.h"
#include "core/request_check.h"
#include "core/router.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace atl {
namespace {

Result<HostDirectory> copy(const HostDirectory& directory) {
  TRY(auto duplicate, directory.directory.duplicate());
  return HostDirectory{std::move(duplicate), directory.host_path, directory.guest_path,
                       directory.access};
}

// A driver consumes its spec, so each but the last of a route gets a copy.
Result<SandboxSpec> copy(const SandboxSpec& spec) {
  SandboxSpec other;
  other.id = spec.id;
  other.resources = spec.resources;
  other.env = spec.env;
  other.expires_at = spec.expires_at;
  other.is_run = spec.is_run;
  other.warm = spec.warm;
  if (spec.workspace) {
    TRY(other.workspace, copy(*spec.workspace));
  }
  for (const auto& mount : spec.mounts) {
    TRY(auto duplicate, copy(mount));
    other.mounts.push_back(std::move(duplicate));
  }
  if (spec.root) {
    TRY(other.root, copy(*spec.root));
  }
  return other;
}

}  // namespace

SandboxSpec to_spec(const SandboxRecord& record) {
  SandboxSpec spec;
  spec.id = record.id;
  spec.resources = record.resources;
  if (record.env) spec.env = *record.env;
  spec.expires_at = record.expires_boot;
  spec.is_run = record.lifecycle == Lifecycle::ephemeral;
  return spec;
}

Task<SandboxView> Creator::create(Caller caller, CreateRequest request,
                                  std::optional<Idempotency> idempotency) {
  telemetry::StageTimer timer(parts_.clock);
  timer.trace_to(caller.trace);
  CO_TRY_OK(check_create(request, parts_.options));
  if (idempotency) CO_TRY_OK(check_idempotency(*idempotency));
  CO_TRY_OK(co_await ask_if_needed(to_wish(request)));
  CO_TRY(auto made, co_await find_made(caller, request, idempotency));
  if (made) co_return *std::move(made);

  CO_TRY(auto planned, plan(caller, std::move(request), Lifecycle::session, std::move(timer)));
  const auto record = planned.record;
  if (idempotency) {
    auto key = parts_.idempotency.remember(caller, *idempotency, record->id);
    if (!key) {
      give_up(planned, Intent{}, key.error());
      co_return std::move(key).error();
    }
    planned.key = *std::move(key);
  }
  auto created = co_await make(std::move(planned));
  record->creation->end(created);
  if (!created) co_return std::move(created).error();
  co_return record->view();
}

Task<Explanation> Creator::explain(CreateRequest request) {
  CO_TRY_OK(check_create(request, parts_.options));
  CO_TRY_OK(co_await ask_if_needed(to_wish(request)));
  CO_TRY(const auto route, at_stage("route", find_route(parts_.drivers, to_wish(request))));
  const DriverSlot& slot = *route.front();
  SandboxSpec spec;
  spec.id = make_sandbox_id();
  spec.resources = request.resources;
  spec.env = std::move(request.env);
  spec.workspace = std::move(request.workspace);
  spec.mounts = std::move(request.mounts);
  spec.root = std::move(request.root);
  Explanation explanation{slot.name(), slot.capabilities->isolation, {}};
  CO_TRY(explanation.plan, co_await slot.driver->explain(std::move(spec)));
  co_return explanation;
}

Task<> Creator::ask_if_needed(RouteWish wish) {
  if (!parts_.drivers.has_unasked() || find_route(parts_.drivers, wish)) co_return Result<>();
  co_return co_await parts_.drivers.ask_rest();
}

Task<RecordPtr> Creator::create_for_run(Caller caller, CreateRequest request,
                                        telemetry::StageTimer timer) {
  timer.trace_to(caller.trace);
  CO_TRY_OK(check_create(request, parts_.options));
  CO_TRY_OK(co_await ask_if_needed(to_wish(request)));
  if (!request.name.empty() && parts_.sandboxes.find_name(caller.tenant, request.name)) {
    co_return Error(Code::already_exists, "the name " + request.name + " is taken");
  }
  CO_TRY(auto planned, plan(caller, std::move(request), Lifecycle::ephemeral, std::move(timer)));
  const auto record = planned.record;
  auto created = co_await make(std::move(planned));
  record->creation->end(created);
  if (!created) co_return std::move(created).error();
  co_return record;
}

Task<std::optional<SandboxView>> Creator::find_made(const Caller& caller,
                                                    const CreateRequest& request,
                                                    const std::optional<Idempotency>& idempotency) {
  if (idempotency) {
    CO_TRY(auto by_key, co_await find_by_key(caller, *idempotency));
    if (by_key) co_return by_key;
  }
  if (request.name.empty()) co_return std::optional<SandboxView>();
  const auto named = parts_.sandboxes.find_name(caller.tenant, request.name);
  if (!named) co_return std::optional<SandboxView>();
  if (!sees(caller, *named)) {
    co_return Error(Code::already_exists, "the name " + request.name + " is taken")
        .with_hint("use another name");
  }
  if (const auto differing = differences(*named, request); !differing.empty()) {
    co_return Error(
        Code::already_exists,
        "the name " + request.name + " is taken by a sandbox that differs in: " + differing)
        .with_hint("use another name, or destroy " + named->id + " first");
  }
  if (named->state == State::stopping) {
    co_return Error(Code::conflict, "sandbox " + request.name + " is being ended")
        .with_hint("try again in a moment");
  }
  CO_TRY(auto view, co_await join(named));
  view.was_there = true;
  co_return std::optional(std::move(view));
}

Task<std::optional<SandboxView>> Creator::find_by_key(const Caller& caller,
                                                      const Idempotency& idempotency) {
  CO_TRY(const auto id, parts_.idempotency.find(caller, idempotency));
  if (!id) co_return std::optional<SandboxView>();
  if (const auto live = parts_.sandboxes.find(*id)) {
    if (!sees(caller, *live)) {
      co_return Error(Code::idempotency_mismatch, "this idempotency key came with another request")
          .with_hint("use a new key for a new request");
    }
    CO_TRY(auto view, co_await join(live));
    co_return std::optional(std::move(view));
  }
  // Whoever asks wants a sandbox to work with; one that has ended would look like success.
  co_return Error(Code::conflict, "sandbox " + *id + ", which this idempotency key made, has ended")
      .with_hint("use a new Idempotency-Key to make another one");
}

Task<SandboxView> Creator::join(RecordPtr record) {
  const auto creation = record->creation;
  CO_TRY_OK(co_await creation->done.wait());
  if (creation->failure) co_return *creation->failure;
  co_return record->view();
}

Result<Creator::Plan> Creator::plan(const Caller& caller, CreateRequest request,
                                    Lifecycle lifecycle, telemetry::StageTimer timer) {
  if (parts_.is_shutting_down) {
    return Error(Code::unavailable, "Atoll is shutting down").with_hint("try again in a moment");
  }
  if (parts_.sandboxes.size() >= parts_.options.most_sandboxes) {
    return Error(Code::resource_exhausted, "there are " + std::to_string(parts_.sandboxes.size()) +
                                               " sandboxes, which is the limit")
        .with_hint("destroy some, or raise the limit in the configuration");
  }
  TRY_OK(check_tenant_has_room(parts_, caller.tenant, 1));
  RouteWish wish = to_wish(request);
  if (caller.role != Role::admin) wish.floor = parts_.options.members_floor;
  TRY(auto route, at_stage("route", find_route(parts_.drivers, wish)));
  timer.mark("route");

  const auto record = std::make_shared<SandboxRecord>(parts_.executor);
  record->tenant = caller.tenant;
  record->owner = caller.subject;
  record->name = request.name;
  record->asked = to_asked(request);
  record->lifecycle = lifecycle;
  record->resources = request.resources;
  record->env = std::move(request.env);
  record->created_at = parts_.clock.wall();
  record->last_active_at = record->created_at;
  record->last_active_boot = parts_.clock.boot();
  record->ttl = request.ttl.value_or(parts_.options.default_ttl);
  record->idle = request.idle;
  place(*record, *route.front());

  SandboxSpec spec = to_spec(*record);
  spec.workspace = std::move(request.workspace);
  spec.mounts = std::move(request.mounts);
  spec.root = std::move(request.root);
  spec.warm = std::move(request.warm);
  record->id = route.front()->driver->reserve(spec);
  const bool was_parked = !record->id.empty();
  if (!was_parked) record->id = make_sandbox_id();
  spec.id = record->id;
  parts_.sandboxes.insert(record);
  caller.trace.note_sandbox(record->id);
  return Plan{record,     std::move(spec),  std::move(route),        std::nullopt,
              was_parked, std::move(timer), std::move(request.files)};
}

void Creator::place(SandboxRecord& record, const DriverSlot& slot) {
  record.driver = slot.name();
  record.isolation = slot.capabilities->isolation;
  record.placement = slot.capabilities->placement;
  auto ttl = record.ttl;
  if (const auto most = slot.capabilities->max_lifetime_s) {
    ttl = std::min(ttl, std::chrono::seconds(*most));
  }
  record.expires_at = record.created_at + ttl;
  record.expires_boot = record.last_active_boot + ttl;
}

Task<> Creator::make(Plan plan) {
  const auto record = plan.record;
  CO_TRY(auto turn, co_await record->turns.take());
  parts_.sandboxes.move_to(*record, State::starting);
  if (plan.key) plan.more.push_back(store::PutIdempotency{*plan.key});
  auto begun = co_await announce(plan);
  if (!begun) {
    give_up(plan, Intent{}, begun.error());
    co_return std::move(begun).error().at_stage("intent");
  }
  const Intent intent = *begun;
  plan.timer.mark("intent");

  auto made = co_await make_journalled(plan, intent);
  parts_.metrics.creates.at(record->driver, made ? "ok" : to_string(made.error().code())).add();
  if (!made) {
    give_up(plan, intent, made.error());
    co_return std::move(made).error();
  }
  const auto took = std::chrono::duration<double, std::milli>(plan.timer.total_ms());
  parts_.metrics.create_duration.at(record->driver)
      .observe(std::chrono::duration_cast<std::chrono::nanoseconds>(took));
  record->stages = plan.timer.stages();
  parts_.reaper.schedule(record);
  co_return Result<>();
}

// What is made on this host is seen by the driver, and what no row tells of is destroyed after a
// crash. That is all that a run needs. A sandbox that was parked is there already, and its row is
// written before anybody is told of it. Everybody else waits until the intent is safe.
Task<Intent> Creator::announce(Plan& plan) {
  const auto record = plan.record;
  const bool is_run = record->lifecycle == Lifecycle::ephemeral;
  if (record->placement == Placement::host && (is_run || plan.was_parked)) {
    ++record->generation;
    co_return Intent{};
  }
  co_return co_await parts_.journal.begin(record, is_run ? Op::run : Op::create,
                                          std::exchange(plan.more, {}));
}

Task<> Creator::make_journalled(Plan& plan, Intent intent) {
  const auto record = plan.record;
  auto handle = co_await make_on_route(plan);
  if (!handle) {
    co_return std::move(handle).error().with("creating sandbox " + record->id).at_stage("create");
  }
  plan.timer.mark(plan.was_parked ? "hand_over" : "create");
  record->handle = *std::move(handle);

  auto finished = co_await write_files(plan);
  if (finished) finished = co_await commit(plan, intent);
  if (finished) {
    plan.timer.mark("commit");
    co_return Result<>();
  }
  // What cannot be filled or committed must not exist.
  auto undone = co_await record->handle->destroy();
  record->handle = nullptr;
  if (!undone) {
    telemetry::log_warn("a sandbox is left over, the sweeper will destroy it",
                        {{"sandbox", record->id}, {"why", undone.error().message()}});
  }
  co_return std::move(finished).error().at_stage("commit");
}

Task<> Creator::write_files(Plan& plan) {
  if (plan.files.empty()) co_return Result<>();
  Guest& guest = plan.record->handle->guest();
  auto written = co_await atl::write_files(guest, std::move(plan.files));
  if (!written) co_return std::move(written).error().at_stage("files");
  plan.timer.mark("files");
  co_return Result<>();
}

Task<std::shared_ptr<Sandbox>> Creator::make_on_route(Plan& plan) {
  const auto record = plan.record;
  for (size_t i = 0;; ++i) {
    DriverSlot& slot = *plan.route[i];
    const bool is_last = i + 1 == plan.route.size();
    SandboxSpec spec;
    if (is_last) {
      spec = std::move(plan.spec);
    } else {
      CO_TRY(spec, copy(plan.spec));
    }
    auto made = co_await slot.driver->create(std::move(spec));
    if (made) co_return std::shared_ptr<Sandbox>(*std::move(made));
    if (is_last || !is_retryable(made.error().code())) {
      co_return std::move(made).error().with(slot.name());
    }
    telemetry::log_warn("driver could not create, the next one tries",
                        {{"sandbox", record->id},
                         {"driver", slot.driver->name()},
                         {"why", made.error().message()}});
    // The store must know where to look for it before it can be there.
    place(*record, *plan.route[i + 1]);
    plan.spec.expires_at = record->expires_boot;
    CO_TRY_OK(co_await parts_.journal.note(record));
  }
}

Task<> Creator::commit(Plan& plan, Intent intent) {
  const auto record = plan.record;
  if (!record->handle->is_running()) {
    co_return Error(Code::unavailable, "sandbox " + record->id + " ended while it started");
  }
  parts_.sandboxes.move_to(*record, State::running);
  if (record->lifecycle == Lifecycle::ephemeral) {
    record->run_intent = intent.id;
    co_return Result<>();
  }
  auto settled = co_await parts_.journal.settle(record, intent, store::IntentState::done, {},
                                                std::move(plan.more));
  if (!settled) co_return std::move(settled).error();
  // It may have died while the store was writing, and nobody has been told that it lives yet.
  if (record->state != State::running) {
    co_return Error(Code::unavailable, "sandbox " + record->id + " ended while it started");
  }
  co_return Result<>();
}

void Creator::give_up(Plan& plan, Intent intent, const Error& why) {
  const auto record = plan.record;
  record->failure = why.message();
  if (record->state != State::failed) parts_.sandboxes.move_to(*record, State::failed);
  record->ended_at = parts_.clock.wall();
  ++record->generation;
  parts_.bury(record, "could not be made: " + why.message());
  std::vector<store::Change> more;
  if (plan.key) {
    parts_.idempotency.forget(*plan.key);
    more.push_back(store::DropIdempotency{plan.key->tenant, plan.key->key});
  }
  if (intent.id != 0) {
    parts_.journal.settle_later(record, intent, store::IntentState::failed, why.message(),
                                std::move(more));
  } else if (record->lifecycle == Lifecycle::ephemeral) {
    parts_.journal.note_later(record);
  }
}

}  // namespace atl
