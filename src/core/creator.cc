#include "core/creator.h"

#include <algorithm>

#include "base/ids.h"
#include "core/lifetime.h"
#include "core/pool_shape.h"
#include "core/profile_use.h"
#include "core/request_check.h"
#include "core/route_plan.h"
#include "core/router.h"
#include "core/run_mode.h"
#include "core/startup.h"
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
  other.tenant = spec.tenant;
  other.resources = spec.resources;
  other.env = spec.env;
  other.expires_at = spec.expires_at;
  other.is_run = spec.is_run;
  other.warm = spec.warm;
  other.template_id = spec.template_id;
  other.image = spec.image;
  other.pull = spec.pull;
  other.on_progress = spec.on_progress;
  other.give_up = spec.give_up;
  other.runtime = spec.runtime;
  other.persistence = spec.persistence;
  other.network = spec.network;
  other.engine_socket = spec.engine_socket;
  other.mount_roots = spec.mount_roots;
  other.home = spec.home;
  other.snapshot = spec.snapshot;
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

constexpr Micros kProgressPace = std::chrono::milliseconds(500);

// To a run, and to one that waits in a pool, nobody comes back.
void never_wait(CreateRequest& request) {
  if (request.persistence == Persistence::checkpoint) request.persistence = Persistence::ephemeral;
  request.checkpoint = std::nullopt;
  request.lifecycle = std::nullopt;
  request.on_expire = request.on_idle = std::nullopt;
  request.keep = std::nullopt;
  request.on_failure = std::nullopt;
}

}  // namespace

SandboxSpec to_spec(const SandboxRecord& record) {
  SandboxSpec spec;
  spec.id = record.id;
  spec.tenant = record.tenant;
  spec.resources = record.resources;
  if (record.env) spec.env = *record.env;
  spec.expires_at = record.drivers_moment();
  spec.is_run = record.lifecycle == Lifecycle::ephemeral;
  spec.image = record.asked.image;
  spec.runtime = record.asked.runtime;
  spec.persistence = record.asked.persistence;
  spec.network = record.asked.network;
  spec.engine_socket = record.asked.engine_socket;
  spec.mount_roots = record.asked.mount_roots;
  spec.home = record.asked.home;
  return spec;
}

Task<SandboxView> Creator::create(Caller caller, CreateRequest request,
                                  std::optional<Idempotency> idempotency) {
  telemetry::StageTimer timer(parts_.clock);
  timer.trace_to(caller.trace);
  CO_TRY_OK(settle(request, Lifecycle::session));
  CO_TRY_OK(check_checkpoint(request));
  CO_TRY_OK(check_lifecycle(caller, request));
  const Lifecycle lifecycle =
      request.lifecycle == Life::persistent ? Lifecycle::persistent : Lifecycle::session;
  const bool goes_on = request.persistence == Persistence::checkpoint && request.snapshot.empty();
  CO_TRY(auto snapshot, use_newest(caller, request));
  CO_TRY_OK(check_create(request, parts_.options));
  if (idempotency) CO_TRY_OK(check_idempotency(*idempotency));
  CO_TRY_OK(co_await ask_if_needed(wish_of(caller, request)));
  CO_TRY(auto made, co_await find_made(caller, request, idempotency));
  if (made) co_return *std::move(made);
  CO_TRY(auto entry, co_await admit(caller, request, Lifecycle::session, timer));
  if (entry.has_waited) {
    CO_TRY(made, co_await find_made(caller, request, idempotency));
    if (made) co_return *std::move(made);
  }
  // One of this name may have ended meanwhile.
  const auto newest = parts_.snapshots.find_checkpoint(caller.tenant, request.name);
  if (goes_on && request.snapshot != (newest ? newest->view.id : "")) {
    co_return Error(Code::conflict, "sandbox " + request.name + " has only just ended")
        .with_hint("try again");
  }

  CO_TRY(auto planned,
         plan(caller, std::move(request), lifecycle, std::move(timer), std::move(entry)));
  planned.snapshot = std::move(snapshot);
  const auto record = planned.record;
  if (idempotency) {
    auto key = parts_.idempotency.remember(caller, *idempotency, record->id);
    if (!key) {
      CO_TRY_OK(co_await let_go(planned));
      co_return give_up(planned, Intent{}, std::move(key).error());
    }
    planned.key = *std::move(key);
  }
  auto created = co_await make(std::move(planned));
  record->place.leave();
  record->creation->end(created);
  if (!created) co_return std::move(created).error();
  co_return record->view();
}

RouteWish Creator::wish_of(const Caller& caller, const CreateRequest& request) const {
  RouteWish wish = to_wish(request);
  if (caller.role != Role::admin) wish.floor = parts_.options.members_floor;
  // What is for a pool is nobody's yet; whoever takes it is held to their own.
  if (!caller.tenant.empty()) {
    const policy::Quota& quota = parts_.options.admission.quotas.of(caller.tenant);
    wish.tenant_floor = quota.min_isolation.value_or(Isolation::none);
    wish.tenant_placement = quota.placement;
  }
  wish.root_print = root_print(request);
  if (!wish.root_print.empty()) {
    wish.known = &parts_.programs;
    wish.root_name = root_name(request);
    wish.startup = request.startup;
  }
  return wish;
}

Result<> Creator::settle(CreateRequest& request, Lifecycle lifecycle) const {
  auto settled = has_profile(request)
                     ? settle_profile(request, profiles_of(parts_.options), lifecycle)
                     : settle_without_profile(request);
  TRY_OK(at_stage("request", std::move(settled)));
  if (!request.strategy) request.strategy = parts_.options.routing.strategy;
  return settle_run_mode(request);
}

Task<RoutePlan> Creator::plan_route(Caller caller, CreateRequest request, std::string as) {
  // What is for single commands can be planned, too.
  CO_TRY_OK(settle(request, Lifecycle::ephemeral));
  CO_TRY(const auto snapshot, use_snapshot(caller, request));
  CO_TRY_OK(check_create(request, parts_.options));
  if (parts_.drivers.has_unasked()) CO_TRY_OK(co_await parts_.drivers.ask_rest());
  RouteWish wish = wish_of(caller, request);
  if (!wish.runtime.empty()) CO_TRY_OK(co_await parts_.drivers.ask_for_runtimes());
  co_return at_stage("route", atl::plan_route(parts_.drivers, request, std::move(wish), as));
}

Task<Explanation> Creator::explain(Caller caller, CreateRequest request) {
  CO_TRY_OK(settle(request, Lifecycle::ephemeral));
  CO_TRY(const auto snapshot, use_snapshot(caller, request));
  CO_TRY_OK(check_create(request, parts_.options));
  const RouteWish wish = wish_of(caller, request);
  CO_TRY_OK(co_await ask_if_needed(wish));
  CO_TRY(const auto route, at_stage("route", find_route(parts_.drivers, wish)));
  const DriverSlot& slot = *route.front();
  SandboxSpec spec;
  spec.id = make_sandbox_id();
  spec.resources = request.resources;
  spec.env = std::move(request.env);
  spec.workspace = std::move(request.workspace);
  spec.mounts = std::move(request.mounts);
  spec.root = std::move(request.root);
  spec.template_id = std::move(request.template_id);
  spec.image = std::move(request.image);
  spec.pull = request.pull;
  spec.persistence = request.persistence;
  spec.network = request.network.value_or(Network::none);
  spec.engine_socket = request.engine_socket;
  spec.mount_roots = request.mount_roots;
  spec.home = request.home;
  spec.snapshot = request.snapshot;
  Explanation explanation{slot.name(), isolation_of(*slot.capabilities, wish), {}};
  spec.runtime = std::move(request.runtime);
  CO_TRY(explanation.plan, co_await slot.driver->explain(std::move(spec)));
  co_return explanation;
}

Task<> Creator::ask_if_needed(RouteWish wish) {
  // One that a profile prefers may be among them.
  const bool is_settled =
      !parts_.drivers.has_unasked() || (wish.preferred.empty() && find_route(parts_.drivers, wish));
  if (!is_settled) CO_TRY_OK(co_await parts_.drivers.ask_rest());
  if (!wish.runtime.empty()) CO_TRY_OK(co_await parts_.drivers.ask_for_runtimes());
  co_return Result<>();
}

Task<RecordPtr> Creator::create_for_run(Caller caller, CreateRequest request,
                                        telemetry::StageTimer timer,
                                        std::shared_ptr<GiveUp> give_up) {
  timer.trace_to(caller.trace);
  CO_TRY(auto snapshot, use_snapshot(caller, request));
  CO_TRY_OK(check_create(request, parts_.options));
  never_wait(request);
  CO_TRY_OK(co_await ask_if_needed(wish_of(caller, request)));
  if (!request.name.empty() && parts_.sandboxes.find_name(caller.tenant, request.name)) {
    co_return Error(Code::already_exists, "the name " + request.name + " is taken");
  }
  CO_TRY(auto entry, co_await admit(caller, request, Lifecycle::ephemeral, timer));
  if (!request.name.empty() && parts_.sandboxes.find_name(caller.tenant, request.name)) {
    co_return Error(Code::already_exists, "the name " + request.name + " is taken");
  }
  CO_TRY(auto planned, plan(caller, std::move(request), Lifecycle::ephemeral, std::move(timer),
                            std::move(entry)));
  planned.snapshot = std::move(snapshot);
  const auto record = planned.record;
  record->give_up = std::move(give_up);
  auto created = co_await make(std::move(planned));
  record->place.made();
  record->creation->end(created);
  if (!created) co_return std::move(created).error();
  co_return record;
}

Task<RecordPtr> Creator::create_for_pool(CreateRequest request, Parking parking) {
  CO_TRY_OK(check_create(request, parts_.options));
  never_wait(request);
  CO_TRY_OK(co_await ask_if_needed(to_wish(request)));
  // A member of no tenant: what is below the members' floor would be for few. Where a driver below
  // it is named, it is for those.
  Caller nobody{.tenant = ""};
  RouteWish wish = to_wish(request);
  wish.floor = parts_.options.members_floor;
  const bool is_named = !wish.driver.empty() || !wish.preferred.empty();
  if (is_named && !find_route(parts_.drivers, wish)) nobody.role = Role::admin;
  CO_TRY(auto planned, plan(nobody, std::move(request), Lifecycle::pooled,
                            telemetry::StageTimer(parts_.clock), Entry()));
  // A request gets what its first driver would make, so what others make would be for nobody.
  planned.route.resize(1);
  const auto record = planned.record;
  record->asked.pool = std::move(parking.pool);
  record->asked.pool_print = std::move(parking.print);
  record->ttl = parking.ttl;
  record->idle.reset();
  place(*record, *planned.route.front());
  planned.spec.expires_at = record->drivers_moment();
  auto created = co_await make(std::move(planned));
  record->creation->end(created);
  if (!created) co_return std::move(created).error();
  co_return record;
}

Result<Creator::Plan> Creator::plan(const Caller& caller, CreateRequest request,
                                    Lifecycle lifecycle, telemetry::StageTimer timer, Entry entry) {
  if (parts_.is_shutting_down) {
    return Error(Code::unavailable, "Atoll is shutting down").with_hint("try again in a moment");
  }
  const bool is_parking = lifecycle == Lifecycle::pooled;
  auto found = at_stage("route", take_route(parts_.drivers, wish_of(caller, request)));
  if (!found) {
    return refuse(caller, request, lifecycle, std::move(timer), std::move(entry.id),
                  std::move(found).error());
  }
  auto route = *std::move(found);
  timer.mark("route");
  StartPrint root = start_print(request);
  Layering layering = choose_layer(parts_, caller.tenant, request, *route.front());
  const bool may_take = !is_parking && !parts_.shelf.is_empty();
  const std::string shape = may_take ? shape_of(request) : "";

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
  spec.template_id = std::move(request.template_id);
  spec.pull = request.pull;
  spec.snapshot = request.snapshot;
  if (layering.from) spec.snapshot = layering.from->id;
  spec.warm = std::move(request.warm);
  // One that waited keeps the id that it was seen under, and so takes nothing from a pool.
  const bool has_id = !entry.id.empty();
  Taken taken;
  if (!has_id) taken = parts_.shelf.take(shape, *route.front(), record->isolation, record->ttl);
  if (taken.handle) record->asked.pool = taken.pool->name;
  if (has_id) {
    record->id = std::move(entry.id);
  } else {
    record->id = taken.handle ? taken.id : route.front()->driver->reserve(spec);
  }
  const bool was_parked = !has_id && !taken.handle && !record->id.empty();
  if (record->id.empty()) record->id = make_sandbox_id();
  spec.id = record->id;
  parts_.sandboxes.insert(record);
  entry.place.settle();
  record->place = std::move(entry.place);
  caller.trace.note_sandbox(record->id);
  Plan planned{record,     std::move(spec),  std::move(route),        std::nullopt,
               was_parked, std::move(timer), std::move(request.files)};
  planned.startup = std::move(request.startup);
  planned.layering = std::move(layering);
  planned.root = std::move(root);
  planned.pool = std::move(taken.pool);
  planned.parked = std::move(taken.handle);
  return planned;
}

void Creator::place(SandboxRecord& record, const DriverSlot& slot) {
  record.driver = slot.name();
  record.isolation = record.asked.engine_socket
                         ? Isolation::none
                         : isolation_of(*slot.capabilities, record.asked.runtime);
  record.placement = slot.capabilities->placement;
  parts_.sandboxes.move_driver(record);
  set_lifetime(record, {record.created_at, record.last_active_boot}, record.ttl, slot,
               parts_.options);
}

Task<> Creator::make(Plan plan) {
  const auto record = plan.record;
  CO_TRY(auto turn, co_await record->turns.take());
  parts_.sandboxes.move_to(*record, State::starting);
  if (plan.key) plan.more.push_back(store::PutIdempotency{*plan.key});
  Result<Intent> begun = Intent{};
  auto settled = co_await settle_failed_tries(plan);
  if (settled && plan.parked) settled = co_await take_over(plan);
  if (settled) {
    begun = co_await announce(plan);
  } else {
    begun = std::move(settled).error();
  }
  if (!begun) {
    CO_TRY_OK(co_await let_go(plan));
    co_return give_up(plan, Intent{}, std::move(begun).error().at_stage("intent"));
  }
  const Intent intent = *begun;
  plan.timer.mark("intent");

  auto made = co_await make_journalled(plan, intent);
  if (!made && plan.snapshot && made.error().code() == Code::not_found) {
    made = co_await look_for_snapshot(plan, std::move(made).error());
  }
  if (record->lifecycle == Lifecycle::pooled) {
    if (!made) co_return give_up(plan, intent, std::move(made).error());
    co_return made;
  }
  parts_.metrics.creates.at(record->driver, made ? "ok" : to_string(made.error().code())).add();
  if (!made) {
    co_return give_up(plan, intent, std::move(made).error());
  }
  const auto took = std::chrono::duration<double, std::milli>(plan.timer.total_ms());
  parts_.metrics.create_duration.at(record->driver)
      .observe(std::chrono::duration_cast<std::chrono::nanoseconds>(took));
  record->stages = plan.timer.stages();
  parts_.reaper.schedule(record);
  note_pool(plan);
  co_return Result<>();
}

Task<> Creator::take_over(Plan& plan) {
  const auto record = plan.record;
  const Micros at = record->drivers_moment();
  auto renewed = co_await plan.parked->renew(at);
  if (renewed && plan.parked->is_running()) {
    // That was done before it was parked.
    plan.startup = nullptr;
    plan.timer.mark("pool");
    co_return Result<>();
  }
  telemetry::log_warn("a parked sandbox has died, another is made",
                      {{"sandbox", record->id}, {"driver", record->driver}});
  auto destroyed = co_await plan.parked->destroy();
  plan.parked = nullptr;
  record->asked.pool.clear();
  if (destroyed) co_return Result<>();
  // It is still there, so its driver can have no other of this id, and does not answer anyway. What
  // is left there is nobody's, and the sweeper destroys it.
  // Others may have stopped answering meanwhile.
  plan.route.erase(plan.route.begin());
  std::erase_if(plan.route, [](const DriverSlot* slot) { return !slot->capabilities; });
  if (plan.route.empty()) co_return std::move(destroyed).error().with(record->driver);
  place(*record, *plan.route.front());
  plan.spec.expires_at = record->drivers_moment();
  co_return Result<>();
}

void Creator::note_pool(const Plan& plan) {
  if (!plan.pool) return;
  const auto took = std::chrono::duration_cast<Micros>(
      std::chrono::duration<double, std::milli>(plan.timer.total_ms()));
  if (plan.record->asked.pool.empty()) {
    parts_.shelf.note_miss(*plan.pool, plan.record->driver, took);
  } else {
    parts_.shelf.note_hit(*plan.pool, plan.record->driver, took);
  }
}

// What was taken for a plan that comes to nothing is nobody's again, and not to be trusted.
Task<> Creator::let_go(Plan& plan) {
  const auto parked = std::exchange(plan.parked, nullptr);
  if (!parked) co_return Result<>();
  auto destroyed = co_await parked->destroy();
  if (!destroyed) {
    telemetry::log_warn("a sandbox is left over, the sweeper will destroy it",
                        {{"sandbox", plan.record->id}, {"why", destroyed.error().message()}});
  }
  co_return Result<>();
}

// After a crash a try that failed is found as one that was interrupted, and goes on, unless its end
// is written: then there would be two for one key or one name.
Task<> Creator::settle_failed_tries(const Plan& plan) {
  std::erase_if(failed_tries_, [](const auto& tried) { return tried.record->unsettled.empty(); });
  const auto tries = failed_tries_;
  for (const auto& tried : tries) {
    if (tried.record->tenant != plan.record->tenant) continue;
    const bool same_key = plan.key && plan.key->key == tried.key;
    const bool same_name = !tried.record->name.empty() && tried.record->name == plan.record->name;
    if (same_key || same_name) CO_TRY_OK(co_await parts_.journal.catch_up(tried.record));
  }
  co_return Result<>();
}

// What is made on this host is seen by the driver, and what no row tells of is destroyed after a
// crash. That is all that a run needs, or a sandbox that is nobody's. One that was parked is there
// already, and its row is written before anybody is told of it. Everybody else waits until the
// intent is safe.
Task<Intent> Creator::announce(Plan& plan) {
  const auto record = plan.record;
  const bool is_run = record->lifecycle == Lifecycle::ephemeral;
  const bool is_there = plan.parked || record->lifecycle == Lifecycle::pooled;
  if (is_there || (record->placement == Placement::host && (is_run || plan.was_parked))) {
    ++record->generation;
    co_return Intent{};
  }
  co_return co_await parts_.journal.begin(record, is_run ? Op::run : Op::create,
                                          std::exchange(plan.more, {}));
}

Task<> Creator::make_journalled(Plan& plan, Intent intent) {
  const auto record = plan.record;
  for (;;) {
    if (plan.parked) {
      record->handle = std::move(plan.parked);
    } else {
      auto handle = co_await make_on_route(plan);
      if (!handle) {
        co_return std::move(handle)
            .error()
            .with("creating sandbox " + record->id)
            .at_stage("create");
      }
      plan.timer.mark(plan.was_parked ? "hand_over" : "create");
      record->handle = *std::move(handle);
    }

    auto finished = co_await write_files(plan);
    if (finished) finished = co_await start_up(plan);
    if (finished) finished = co_await commit(plan, intent);
    if (finished) {
      plan.timer.mark("commit");
      co_return Result<>();
    }
    // What cannot be filled or committed must not exist.
    auto undone = co_await record->handle->destroy();
    record->handle = nullptr;
    if (undone) {
      auto elsewhere = co_await go_elsewhere(plan, std::move(finished).error());
      if (elsewhere) continue;
      co_return std::move(elsewhere).error().at_stage("commit");
    }
    telemetry::log_warn("a sandbox is left over, the sweeper will destroy it",
                        {{"sandbox", record->id}, {"why", undone.error().message()}});
    co_return std::move(finished).error().at_stage("commit");
  }
}

Task<> Creator::write_files(Plan& plan) {
  if (plan.files.empty()) co_return Result<>();
  Guest& guest = plan.record->handle->guest();
  // Another driver may have to do it again.
  const bool is_last = plan.at + 1 == plan.route.size();
  auto files = is_last ? std::move(plan.files) : plan.files;
  auto written = co_await atl::write_files(guest, std::move(files));
  if (!written) co_return std::move(written).error().at_stage("files");
  plan.timer.mark("files");
  co_return Result<>();
}

Task<> Creator::start_up(Plan& plan) {
  const auto record = plan.record;
  if (!plan.startup) co_return Result<>();
  const auto handle = record->handle;
  StartupFacts facts = startup_facts(parts_, *record, plan.snapshot.get());
  facts.known = &parts_.programs;
  facts.root = plan.root;
  const Layering& layering = plan.layering;
  facts.why_no_layer = layering.why_not;
  if (layering.from) {
    facts.has = layering.kind;
    plan.timer.tell("layer", "from layer " + layering.from->id);
  } else if (!layering.key.empty()) {
    facts.keeps = layering.kind;
    facts.keep = [this, record, key = layering.key] { return keep_layer(parts_, record, key); };
  }
  co_return co_await atl::start_up(handle->guest(), plan.startup, std::move(facts), parts_.clock,
                                   plan.timer);
}

Task<std::shared_ptr<Sandbox>> Creator::make_on_route(Plan& plan) {
  const auto record = plan.record;
  if (plan.at == 0) parts_.failover.note_request();
  for (;;) {
    if (record->give_up->is_given_up())
      co_return Error(Code::cancelled, "nobody wants it any more");
    DriverSlot& slot = *plan.route[plan.at];
    // It is asked twice if need be.
    const bool is_last = plan.at > 0 && plan.at + 1 == plan.route.size();
    if (!plan.layering.driver.empty() && plan.layering.driver != slot.name()) {
      if (plan.layering.from) plan.spec.snapshot.clear();
      plan.layering = {.why_not = "another driver was to make it"};
    }
    SandboxSpec spec;
    if (is_last && !plan.layering.from) {
      spec = std::move(plan.spec);
    } else {
      CO_TRY(spec, copy(plan.spec));
    }
    // What takes its time there is a stage of its own.
    spec.on_progress = [this, &told = *record, next = Micros(0), &timer = plan.timer,
                        &under_way = plan.under_way, &said = plan.said,
                        listener = std::move(spec.on_progress)](const Progress& progress) mutable {
      tell_progress(told, progress, next);
      under_way = progress.is_over ? "" : progress.stage;
      if (progress.is_over) timer.mark(progress.stage);
      if (!progress.log.empty()) said.emplace_back(progress.stage, progress.log);
      if (listener) listener(progress);
    };
    spec.give_up = record->give_up;
    auto made = co_await parts_.failover.create(slot, std::move(spec));
    if (made) co_return std::shared_ptr<Sandbox>(*std::move(made));
    if (plan.layering.from && made.error().code() == Code::not_found) {
      // Somebody has removed it there.
      const auto judged = co_await parts_.snapshots.judge(slot);
      static_cast<void>(judged);  // the sweeper judges again
      plan.layering.from = nullptr;
      plan.spec.snapshot.clear();
      continue;
    }
    const std::string why = slot.name() + ": " + made.error().message();
    auto next = co_await next_try(plan, std::move(made).error());
    if (!next) co_return std::move(next).error().with(slot.name());
    const std::string stage = std::exchange(plan.under_way, "");
    // Of one that is not to be.
    plan.said.clear();
    plan.timer.tell(stage.empty() ? "create" : stage, why);
    if (*next != plan.at) CO_TRY_OK(co_await move_to(plan, *next));
  }
}

// An image that comes tells of every piece, and whoever follows the events wants to know now and
// then. What nobody has been told of yet is parked, and nobody's.
void Creator::tell_progress(const SandboxRecord& record, const Progress& progress, Micros& next) {
  const bool is_awaited = progress.stage == "pull" || progress.stage == "load";
  if (!is_awaited || record.lifecycle == Lifecycle::pooled) return;
  const Micros now = parts_.clock.boot();
  if (progress.is_over || now < next) return;
  next = now + kProgressPace;
  parts_.events.add_progress(record, progress);
}

size_t Creator::find_next(const Plan& plan) const {
  // Whoever has stopped answering or working since the route was made is passed over.
  size_t next = plan.at;
  do ++next;
  while (next < plan.route.size() &&
         (!plan.route[next]->capabilities || why_not_now(*plan.route[next], plan.record->amounts)));
  return next;
}

Task<> Creator::move_to(Plan& plan, size_t next) {
  plan.at = next;
  plan.was_parked = false;
  // The store must know where to look for it before it can be there.
  place(*plan.record, *plan.route[next]);
  plan.spec.expires_at = plan.record->drivers_moment();
  co_return co_await parts_.journal.note(plan.record);
}

Task<size_t> Creator::next_try(Plan& plan, Error why) {
  DriverSlot& slot = *plan.route[plan.at];
  const size_t next = find_next(plan);
  if (next == plan.route.size()) {
    // Of two failures of the same driver the first one is told: remains of it may be in the way of
    // the other.
    if (plan.first_failure) co_return *std::move(plan.first_failure);
    if (plan.at > 0) co_return why;
    plan.first_failure = why;
    CO_TRY_OK(
        co_await parts_.failover.may_try_again(slot, plan.record->id, plan.record->give_up, why));
    telemetry::log_warn(
        "driver could not create, it tries again",
        {{"sandbox", plan.record->id}, {"driver", slot.driver->name()}, {"why", why.message()}});
    co_return plan.at;
  }
  CO_TRY_OK(parts_.failover.go_on(slot, why));
  telemetry::log_warn(
      "driver could not create, the next one tries",
      {{"sandbox", plan.record->id}, {"driver", slot.driver->name()}, {"why", why.message()}});
  co_return next;
}

// It costs no token: a driver that is not in trouble makes no more work for the next one than a
// route without it would.
Task<> Creator::go_elsewhere(Plan& plan, Error why) {
  if (why.code() != Code::unsupported || why.stage() != "requires") co_return why;
  const DriverSlot& slot = *plan.route[plan.at];
  const size_t next = find_next(plan);
  if (next == plan.route.size()) co_return std::move(why).with(slot.name());
  plan.timer.tell("requires", slot.name() + ": " + why.message());
  telemetry::log_info(
      "driver lacks what the profile requires, the next one tries",
      {{"sandbox", plan.record->id}, {"driver", slot.name()}, {"why", why.message()}});
  co_return co_await move_to(plan, next);
}

Task<> Creator::commit(Plan& plan, Intent intent) {
  const auto record = plan.record;
  if (!record->handle->is_running()) {
    co_return Error(Code::unavailable, "sandbox " + record->id + " ended while it started");
  }
  parts_.sandboxes.move_to(*record, State::running);
  if (record->lifecycle == Lifecycle::pooled) co_return Result<>();
  if (record->lifecycle == Lifecycle::ephemeral) {
    record->run_intent = intent.id;
    co_return Result<>();
  }
  note_stages(plan);
  record->asked.course.stages = plan.timer.stages();
  // What cannot be written is undone, so nobody may write it later.
  auto more = std::move(plan.more);
  if (intent.id != 0) more.push_back(store::EndIntent{intent.id, store::IntentState::done, {}});
  CO_TRY_OK(co_await parts_.journal.note(record, std::move(more)));
  // It may have died while the store was writing, and nobody has been told that it lives yet.
  if (record->state != State::running) {
    co_return Error(Code::unavailable, "sandbox " + record->id + " ended while it started");
  }
  co_return Result<>();
}

}  // namespace atl
