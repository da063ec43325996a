#include "core/engine.h"

#include <algorithm>

#include "base/text.h"
#include "core/changer.h"
#include "core/creator.h"
#include "core/destroyer.h"
#include "core/detached.h"
#include "core/health_prober.h"
#include "core/operation.h"
#include "core/parts.h"
#include "core/pool_keeper.h"
#include "core/profile_use.h"
#include "core/pulse.h"
#include "core/recovery.h"
#include "core/route_plan.h"
#include "core/router.h"
#include "core/runs.h"
#include "core/sessions.h"
#include "core/start_records.h"
#include "core/sweeper.h"
#include "json/describe.h"
#include "telemetry/log.h"

namespace atl {
namespace {

std::string reason_of(EndedBy why, const std::string& driver) {
  if (why == EndedBy::memory) return "it was out of memory, and its first process was killed";
  if (why == EndedBy::engine) return driver + "'s engine was restarted or died, and it with that";
  return "its first process died";
}

constexpr Millis kPatienceAtEnd = std::chrono::seconds(30);
// Before something is tried again that failed because a driver does not answer.
constexpr Micros kPauseAfterTrouble = std::chrono::seconds(10);
// A sandbox that falls asleep again before whoever woke it has come in, this often in a row, is
// nobody's luck.
constexpr int kMostWakings = 3;

// Its driver answers, and is asked for it again soon.
Error not_handed_over(const SandboxRecord& record) {
  return Error(Code::unavailable,
               "driver " + record.driver + " has not handed over sandbox " + record.id)
      .with_hint("try again in a moment, or destroy it if it stays away");
}

// What a sandbox changes in the tree of a template is in no directory of the host's; the places
// where such directories are shown are of the tree, too.
bool is_in_copy(const std::vector<Changes::Copy>& copies, const std::string& path) {
  return std::ranges::any_of(
      copies, [&](const Changes::Copy& copy) { return path.starts_with(copy.path + "/"); });
}

}  // namespace

struct Engine::Impl : std::enable_shared_from_this<Engine::Impl> {
  Impl(asio::any_io_executor executor, store::Store& store, std::vector<EngineDriver> given,
       telemetry::Metrics& metrics, const Clock& clock, EngineOptions options)
      : parts(std::move(executor), store, std::move(given), metrics, clock, std::move(options)),
        calls(parts.executor),
        destroyer(parts),
        creator(parts),
        changer(parts),
        runs(parts, creator, destroyer),
        recovery(parts),
        sweeper(parts, recovery, destroyer, changer),
        keeper(parts, creator, destroyer, calls),
        prober(parts),
        pulse(parts),
        sessions(parts, creator, destroyer, changer) {
    parts.on_behind = [this] { sweeper.wake(); };
    parts.reaper.set_expire([this](const RecordPtr& record) { act_on(record); });
    destroyer.set_keeper([this](RecordPtr record) { return changer.keep(std::move(record)); });
  }

  template <typename T>
  Task<T> to_end(Task<T> call) {
    return run_to_end(shared_from_this(), calls, std::move(call));
  }

  // Finds the sandbox when its turn to be looked for comes, then changes it.
  template <typename T, typename... Parameters, typename... Arguments>
  Task<T> change(const char* verb, Caller caller, std::string id_or_name,
                 Task<T> (Changer::*act)(RecordPtr, Parameters...), Arguments... arguments) {
    return to_end(find_and_change(verb, std::move(caller), std::move(id_or_name), act,
                                  std::move(arguments)...));
  }

  template <typename T, typename... Parameters, typename... Arguments>
  Task<T> find_and_change(const char* verb, Caller caller, std::string id_or_name,
                          Task<T> (Changer::*act)(RecordPtr, Parameters...),
                          Arguments... arguments) {
    CO_TRY(auto record, parts.sandboxes.get(caller, id_or_name));
    CO_TRY_OK(co_await take_up(record));
    Operation operation(caller, parts.metrics, {record->driver, record->id}, verb);
    auto changed = co_await (changer.*act)(record, std::move(arguments)...);
    operation.end(changed);
    co_return changed;
  }

  // What an earlier daemon had begun is finished or undone before anything new is: it would undo
  // that.
  Task<> take_up(RecordPtr record) {
    if (!record->awaits_driver) co_return Result<>();
    CO_TRY_OK(co_await recovery.settle(record));
    if (!record->awaits_driver) co_return Result<>();
    CO_TRY_OK(parts.drivers.get_ready(record->driver));
    co_return not_handed_over(*record);
  }

  Task<> find_and_destroy(Caller caller, std::string id_or_name, Remains remains) {
    if (!parts.sandboxes.get_any(caller, id_or_name) &&
        parts.admission.send_away(caller, id_or_name))
      co_return Result<>();
    CO_TRY(auto record, parts.sandboxes.get_any(caller, id_or_name));
    Operation operation(caller, parts.metrics, {record->driver, record->id}, "destroy");
    const EndReason why = remains == Remains::discarded ? EndReason::discarded : EndReason::asked;
    auto destroyed = co_await destroyer.destroy(record, why);
    operation.end(destroyed);
    co_return destroyed;
  }

  Task<> find_and_drop(Caller caller, std::string id_or_name) {
    CO_TRY(auto snapshot, parts.snapshots.get(caller, id_or_name));
    const SnapshotView view = snapshot->view;
    if (view.state == SnapshotState::making) {
      co_return Error(Code::conflict, "snapshot " + view.id + " is being made")
          .with_hint("try again in a moment");
    }
    Operation operation(caller, parts.metrics, {view.driver, view.sandbox}, "drop_snapshot");
    auto dropped = co_await parts.snapshots.drop(std::move(snapshot));
    operation.end(dropped);
    co_return dropped;
  }

  // Owned by the engine's calls, like everything that somebody asked for.
  void end_later(const RecordPtr& record, EndReason reason) {
    calls.begin();
    spawn(parts.executor, destroyer.destroy(record, reason),
          [self = shared_from_this()](Result<>) { self->calls.end(); });
  }

  // What the reaper has found to be due.
  void act_on(const RecordPtr& record) {
    const auto due = record->due();
    const Act act = due ? due->act : Act::kill;
    if (act == Act::kill) return end_later(record, EndReason::expired);
    calls.begin();
    spawn(parts.executor, act == Act::revive ? revive(record) : rest(record),
          [self = shared_from_this()](Result<>) { self->calls.end(); });
  }

  Task<> rest(RecordPtr record) {
    auto taken_up = co_await take_up(record);
    if (!taken_up) {
      record->rest_not_before = parts.clock.boot() + kPauseAfterTrouble;
      parts.reaper.schedule(record);
      co_return taken_up;
    }
    co_return co_await changer.rest(record);
  }

  Task<> revive(RecordPtr record) {
    auto taken_up = co_await take_up(record);
    if (!taken_up) {
      if (record->recover_at.count() != 0)
        record->recover_at = parts.clock.boot() + kPauseAfterTrouble;
      parts.reaper.schedule(record);
      co_return taken_up;
    }
    co_return co_await changer.revive(record);
  }

  // Whether a use has to wait for the sandbox first.
  static bool rests(const SandboxRecord& record) {
    const bool is_still = record.state == State::paused || record.state == State::stopped;
    return record.is_dozing_off || record.waking ||
           (is_still && record.asked.course.rest != Rest::none);
  }

  Task<> wake(Caller caller, RecordPtr record) {
    if (const auto joint = record->waking) {
      CO_TRY_OK(co_await joint->done.wait());
      if (joint->failure) co_return *joint->failure;
      co_return Result<>();
    }
    const auto joint = std::make_shared<Joint>(parts.executor);
    record->waking = joint;
    Operation operation(caller, parts.metrics, {record->driver, record->id}, "wake");
    auto woken = co_await take_up(record);
    if (woken) woken = co_await changer.wake(record);
    operation.end(woken);
    record->waking = nullptr;
    joint->end(woken);
    co_return woken;
  }

  Task<> find_and_wake(Caller caller, std::string id_or_name) {
    CO_TRY(const auto record, parts.sandboxes.get(caller, id_or_name));
    co_return co_await wake_if_resting(std::move(caller), record);
  }

  Task<> wake_if_resting(Caller caller, RecordPtr record) {
    for (int tries = 0; tries < kMostWakings && rests(*record); ++tries) {
      CO_TRY_OK(co_await to_end(wake(caller, record)));
    }
    co_return Result<>();
  }

  Task<> recover() {
    CO_TRY_OK(co_await parts.drivers.probe_all());
    CO_TRY(const auto pools, co_await recovery.load());
    keeper.set_owner(weak_from_this());
    sweeper.set_owner(weak_from_this());
    sessions.set_owner(weak_from_this());
    keeper.load(pools);
    CO_TRY_OK(co_await sweeper.sweep(Sweeper::Orphans::at_once));
    CO_TRY_OK(co_await sessions.load());
    spawn(parts.executor, sessions.run(), [self = shared_from_this()](Result<>) {});
    spawn(parts.executor, parts.reaper.run(), [self = shared_from_this()](Result<>) {});
    spawn(parts.executor, sweeper.run(), [self = shared_from_this()](Result<>) {});
    const auto self = shared_from_this();
    if (parts.options.pooling == Pooling::on)
      spawn(parts.executor, keeper.run(), [self](Result<>) {});
    spawn(parts.executor, prober.run(self), [self](Result<>) {});
    spawn(parts.executor, pulse.run(), [self](Result<>) {});
    if (parts.sandboxes.size() > 0) {
      telemetry::log_info("sandboxes taken up", {{"count", parts.sandboxes.size()}});
    }
    co_return Result<>();
  }

  Task<> ask_rest() {
    CO_TRY_OK(co_await parts.drivers.ask_rest());
    co_return co_await parts.drivers.ask_for_runtimes();
  }

  Task<> shut_down(Ending ending) {
    parts.is_shutting_down = true;
    parts.admission.close();
    parts.reaper.stop();
    sweeper.stop();
    keeper.stop(ending);
    keeper.give_up_fills();
    prober.stop();
    pulse.stop();
    sessions.stop();
    for (const auto& record : parts.sandboxes.all()) {
      const bool ends =
          ending == Ending::end_sandboxes || record->lifecycle == Lifecycle::ephemeral;
      if (ends) end_later(record, EndReason::asked);
    }
    size_t left = parts.sandboxes.size();
    auto quiet = co_await calls.wait_for_none(kPatienceAtEnd);
    // Thousands take longer: while some end, so may the rest.
    while (!quiet && parts.sandboxes.size() < left) {
      left = parts.sandboxes.size();
      quiet = co_await calls.wait_for_none(kPatienceAtEnd);
    }
    if (!quiet) co_return std::move(quiet).error().with("waiting for calls to end");
    if (ending == Ending::leave_sandboxes) CO_TRY_OK(co_await keeper.write_down());
    if (ending == Ending::end_sandboxes && parts.sandboxes.size() > 0) {
      co_return Error(Code::unavailable,
                      std::to_string(parts.sandboxes.size()) + " sandboxes could not be destroyed");
    }
    if (ending == Ending::leave_sandboxes) co_return Result<>();
    // What a fork needed its child needed, too; nobody may come who would sweep it later.
    for (auto& slot : parts.drivers.slots()) {
      if (slot.capabilities) CO_TRY_OK(co_await parts.snapshots.drop_waiting(slot));
    }
    co_return Result<>();
  }

  Task<SandboxView> create(Caller caller, CreateRequest request,
                           std::optional<Idempotency> idempotency) {
    if (!request.stop) request.stop = std::make_shared<RunStop>();
    const auto stop = request.stop;
    auto created = co_await to_end(
        creator.create(std::move(caller), std::move(request), std::move(idempotency)));
    // Whoever waited was cancelled: a place in the queue is somebody else's.
    if (!created && created.error().code() == Code::cancelled) stop->stop();
    co_return created;
  }

  Task<RunResult> run(Caller caller, CreateRequest request, ExecRequest exec,
                      std::string stdin_bytes, RunOutput output, std::shared_ptr<RunStop> stop) {
    auto call = runs.run(std::move(caller), std::move(request), std::move(exec),
                         std::move(stdin_bytes), std::move(output), stop, weak_from_this());
    auto result = co_await to_end(std::move(call));
    // Whoever waited was cancelled, so nobody wants the run any more.
    if (!result && result.error().code() == Code::cancelled) stop->stop();
    co_return result;
  }

  Parts parts;
  CallCount calls;
  Destroyer destroyer;
  Creator creator;
  Changer changer;
  Runs runs;
  Recovery recovery;
  Sweeper sweeper;
  PoolKeeper keeper;
  HealthProber prober;
  Pulse pulse;
  Sessions sessions;
};

namespace {

// What a GuestLease holds on to. The record and the handle outlive the engine's knowledge of them.
struct Lease {
  Lease(RecordPtr of, std::shared_ptr<Sandbox> through, std::weak_ptr<void> engine, Parts& with)
      : record(std::move(of)), handle(std::move(through)), alive(std::move(engine)), parts(with) {
    ++record->leases;
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    --record->leases;
    const auto hold = alive.lock();
    if (!hold) return;
    record->last_active_at = parts.clock.wall();
    record->last_active_boot = parts.clock.boot();
    if (record->idle) parts.reaper.schedule(record);
  }

  RecordPtr record;
  std::shared_ptr<Sandbox> handle;
  std::weak_ptr<void> alive;
  Parts& parts;
};

}  // namespace

Engine::Engine(asio::any_io_executor executor, store::Store& store,
               std::vector<EngineDriver> drivers, telemetry::Metrics& metrics, const Clock& clock,
               EngineOptions options)
    : impl_(std::make_shared<Impl>(std::move(executor), store, std::move(drivers), metrics, clock,
                                   std::move(options))) {
  for (auto& slot : impl_->parts.drivers.slots()) slot.driver->set_listener(this);
}

Engine::~Engine() {
  for (auto& slot : impl_->parts.drivers.slots()) slot.driver->set_listener(nullptr);
  impl_->parts.reaper.stop();
  impl_->sweeper.stop();
  impl_->keeper.stop(Ending::leave_sandboxes);
  impl_->prober.stop();
  impl_->pulse.stop();
  impl_->sessions.stop();
}

Task<> Engine::recover() { return impl_->to_end(impl_->recover()); }

// Not one of the calls that it waits for.
Task<> Engine::shut_down(Ending ending) { return impl_->shut_down(ending); }

Task<SandboxView> Engine::create(Caller caller, CreateRequest request,
                                 std::optional<Idempotency> idempotency) {
  return impl_->create(std::move(caller), std::move(request), std::move(idempotency));
}

Task<RoutePlan> Engine::plan(Caller caller, CreateRequest request, std::string as) {
  return impl_->to_end(
      impl_->creator.plan_route(std::move(caller), std::move(request), std::move(as)));
}

const policy::Profiles& Engine::profiles() const { return profiles_of(impl_->parts.options); }

Task<Explanation> Engine::explain(Caller caller, CreateRequest request) {
  return impl_->to_end(impl_->creator.explain(std::move(caller), std::move(request)));
}

Result<SandboxView> Engine::get(const Caller& caller, std::string_view id_or_name) {
  auto record = impl_->parts.sandboxes.get_any(caller, id_or_name);
  if (record) return (*record)->view();
  if (auto waiting = impl_->parts.admission.find(caller, id_or_name)) return *std::move(waiting);
  return std::move(record).error();
}

Result<SandboxPage> Engine::list(const Caller& caller, const ListFilter& filter) {
  return impl_->parts.sandboxes.list(caller, filter);
}

std::optional<std::string> Engine::find_tenant(std::string_view id) const {
  const auto record = impl_->parts.sandboxes.find(id);
  return record ? std::optional(record->tenant) : std::nullopt;
}

int64_t Engine::resets_of(std::string_view id) const {
  const auto record = impl_->parts.sandboxes.find(id);
  return record ? record->asked.resets : 0;
}

size_t Engine::count_of(const std::string& tenant) const {
  return static_cast<size_t>(impl_->parts.sandboxes.used_by(tenant).sandboxes);
}

TenantUse Engine::use_of(const std::string& tenant) const {
  return impl_->parts.admission.use_of(tenant);
}

void Engine::close_admission() { impl_->parts.admission.close(); }

bool Engine::has_root(std::string_view host_path) const {
  return std::ranges::any_of(impl_->parts.sandboxes.all(), [&](const RecordPtr& record) {
    return record->asked.root && record->asked.root->host_path == host_path;
  });
}

bool Engine::has_kept() const {
  return std::ranges::any_of(impl_->parts.sandboxes.all(), [](const RecordPtr& record) {
    return record->is_kept() && record->state != State::stopping;
  });
}

const EngineOptions& Engine::options() const { return impl_->parts.options; }

Task<> Engine::destroy(Caller caller, std::string id_or_name, Remains remains) {
  return impl_->to_end(impl_->find_and_destroy(std::move(caller), std::move(id_or_name), remains));
}

Task<SandboxView> Engine::stop(Caller caller, std::string id_or_name) {
  return impl_->change("stop", std::move(caller), std::move(id_or_name), &Changer::stop);
}

Task<SandboxView> Engine::start(Caller caller, std::string id_or_name) {
  return impl_->change("start", std::move(caller), std::move(id_or_name), &Changer::start);
}

Task<SandboxView> Engine::recreate(Caller caller, std::string id_or_name) {
  return impl_->change("recreate", std::move(caller), std::move(id_or_name), &Changer::recreate);
}

Task<SandboxView> Engine::renew(Caller caller, std::string id_or_name,
                                std::optional<std::chrono::seconds> ttl) {
  return impl_->change("renew", std::move(caller), std::move(id_or_name), &Changer::renew, ttl);
}

Task<SandboxView> Engine::pause(Caller caller, std::string id_or_name) {
  return impl_->change("pause", std::move(caller), std::move(id_or_name), &Changer::pause);
}

Task<SandboxView> Engine::resume(Caller caller, std::string id_or_name) {
  return impl_->change("resume", std::move(caller), std::move(id_or_name), &Changer::resume);
}

Task<SandboxView> Engine::reset(Caller caller, std::string id_or_name,
                                std::map<std::string, std::string> env) {
  return impl_->change("reset", caller, std::move(id_or_name), &Changer::reset, caller,
                       std::move(env));
}

Task<SnapshotView> Engine::snapshot(Caller caller, std::string id_or_name, SnapshotAsk ask) {
  return impl_->change("snapshot", caller, std::move(id_or_name), &Changer::snapshot,
                       caller.subject, std::move(ask));
}

Result<SnapshotView> Engine::get_snapshot(const Caller& caller, std::string_view id_or_name) {
  TRY(const auto snapshot, impl_->parts.snapshots.get(caller, id_or_name));
  return snapshot->view;
}

std::vector<SnapshotView> Engine::list_snapshots(const Caller& caller, std::string_view sandbox) {
  return impl_->parts.snapshots.list(caller, sandbox);
}

Task<> Engine::drop_snapshot(Caller caller, std::string id_or_name) {
  return impl_->to_end(impl_->find_and_drop(std::move(caller), std::move(id_or_name)));
}

Task<std::vector<SandboxView>> Engine::fork(Caller caller, std::string id_or_name, size_t count,
                                            SnapshotKind kind) {
  return impl_->change("fork", caller, std::move(id_or_name), &Changer::fork, caller, count, kind);
}

Task<SandboxView> Engine::resize(Caller caller, std::string id_or_name, Resources resources) {
  return impl_->change("resize", caller, std::move(id_or_name), &Changer::resize, caller,
                       resources);
}

Result<ExecRequest> Engine::complete(const Caller& caller, std::string_view id_or_name,
                                     ExecRequest request) {
  TRY(const auto record, impl_->parts.sandboxes.get(caller, id_or_name));
  fill_in(request, record->asked.defaults());
  const DriverSlot* slot = impl_->parts.drivers.find(record->driver);
  const Asked& asked = record->asked;
  const auto number = request.user == asked.user ? asked.user_number : std::nullopt;
  if (slot == nullptr || !slot->capabilities || slot->capabilities->users ||
      !is_other_user(*slot->driver, request.user, number)) {
    return request;
  }
  return impl_->parts.drivers.lacking(record->driver, "run as user " + to_printable(request.user),
                                      can_be_other_users);
}

Task<GuestLease> Engine::use(Caller caller, std::string id_or_name) {
  // Who may only look changes nothing, and so wakes nobody.
  if (may(caller, Action::use)) CO_TRY_OK(co_await impl_->find_and_wake(caller, id_or_name));
  co_return guest(caller, id_or_name);
}

Result<GuestLease> Engine::guest(const Caller& caller, std::string_view id_or_name) {
  TRY(const auto record, impl_->parts.sandboxes.get(caller, id_or_name));
  if (record->awaits_driver) {
    const DriverSlot* slot = impl_->parts.drivers.find(record->driver);
    if (slot != nullptr && slot->capabilities) return not_handed_over(*record);
    return Error(Code::unavailable, "driver " + record->driver + " does not answer, so sandbox " +
                                        record->id + " cannot be reached now");
  }
  if (record->state != State::running || !record->handle || record->is_dozing_off) {
    const char* hint = record->is_dozing_off             ? "try again in a moment"
                       : record->state == State::stopped ? "start it first"
                       : record->state == State::paused  ? "resume it first"
                       : record->state == State::failed  ? kAfterFailure
                                                         : "";
    return Error(Code::conflict, "sandbox " + record->id + " is " +
                                     std::string(json::name_of(record->state)) +
                                     ", so nothing can be done in it")
        .with_hint(hint);
  }
  const auto handle = record->handle;
  auto lease = std::make_shared<Lease>(record, handle, impl_, impl_->parts);
  return GuestLease(std::move(lease), handle->guest(), record->driver, record->id);
}

Task<Changes> Engine::changes(Caller caller, std::string id_or_name, std::string path) {
  CO_TRY(const auto record, impl_->parts.sandboxes.get(caller, id_or_name));
  CO_TRY(const auto lease, co_await use(caller, record->id));
  Changes told{.copies = copies_of(record->asked), .created_at = record->created_at};
  CO_TRY(told.changes, co_await lease->changes(std::move(path)));
  std::erase_if(told.changes, [&](const FileChange& change) {
    return !record->asked.template_.empty() && !is_in_copy(told.copies, change.path);
  });
  co_return told;
}

Task<SandboxStats> Engine::stats(Caller caller, std::string id_or_name) {
  return impl_->change("stats", std::move(caller), std::move(id_or_name), &Changer::stats);
}

Task<RunResult> Engine::run(Caller caller, CreateRequest request, ExecRequest exec,
                            std::string stdin_bytes, size_t keep, std::shared_ptr<RunStop> stop) {
  if (!stop) stop = std::make_shared<RunStop>();
  return impl_->run(std::move(caller), std::move(request), std::move(exec), std::move(stdin_bytes),
                    RunOutput{.keep = keep}, std::move(stop));
}

Task<RunResult> Engine::run(Caller caller, CreateRequest request, ExecRequest exec,
                            std::string stdin_bytes, std::shared_ptr<RunObserver> observer,
                            std::shared_ptr<RunStop> stop) {
  if (!stop) stop = std::make_shared<RunStop>();
  return impl_->run(std::move(caller), std::move(request), std::move(exec), std::move(stdin_bytes),
                    RunOutput{.observer = std::move(observer)}, std::move(stop));
}

std::vector<PoolView> Engine::pools() const { return impl_->keeper.list(); }

Result<PoolView> Engine::get_pool(std::string_view name) const { return impl_->keeper.get(name); }

Task<PoolView> Engine::create_pool(std::string name, PoolSpec spec) {
  return impl_->to_end(impl_->keeper.create(std::move(name), std::move(spec)));
}

Task<PoolView> Engine::change_pool(std::string name, policy::PoolAsk ask) {
  return impl_->to_end(impl_->keeper.change(std::move(name), ask));
}

Result<PoolView> Engine::drain_pool(std::string_view name) { return impl_->keeper.drain(name); }

Task<> Engine::remove_pool(std::string name) {
  return impl_->to_end(impl_->keeper.remove(std::move(name)));
}

Result<CreateRequest> Engine::pool_request(std::string_view name) const {
  return impl_->keeper.request_of(name);
}

std::vector<DriverView> Engine::drivers() const { return impl_->parts.drivers.views(); }

Task<> Engine::ask_rest() { return impl_->to_end(impl_->ask_rest()); }

Task<> Engine::probe_drivers() { return impl_->to_end(impl_->prober.step(impl_)); }

EventLog& Engine::events() { return impl_->parts.events; }

std::vector<MadeAheadView> Engine::made_ahead() const {
  std::vector<MadeAheadView> views;
  for (const auto& slot : impl_->parts.drivers.slots()) {
    if (const auto counts = slot.driver->made_ahead()) views.push_back({slot.name(), *counts});
  }
  return views;
}

QueueLengths Engine::queue_lengths() const {
  QueueLengths lengths;
  lengths.calls = impl_->calls.count();
  lengths.admission = impl_->parts.admission.waiting();
  lengths.cleanup = impl_->runs.waiting();
  lengths.store = impl_->parts.journal.under_way();
  for (const auto& record : impl_->parts.sandboxes.all()) {
    lengths.turns += record->turns.waiting();
    switch (record->health()) {
      case Health::ok:
        break;
      case Health::unresponsive:
        ++lengths.unresponsive;
        break;
      case Health::recovering:
        ++lengths.recovering;
        break;
      case Health::failed:
        ++lengths.failed;
    }
  }
  return lengths;
}

const std::string& Engine::instance_id() const { return impl_->parts.instance_id; }

Task<> Engine::reap() {
  impl_->parts.reaper.step();
  impl_->parts.admission.step();
  co_return Result<>();
}

Task<> Engine::sweep() {
  return impl_->to_end(impl_->sweeper.sweep(Sweeper::Orphans::when_seen_twice));
}

void Engine::tend_pools() { impl_->keeper.step(); }
Task<> Engine::feel_pulses() { return impl_->to_end(impl_->pulse.feel()); }

Task<> Engine::end_sessions() { return impl_->to_end(impl_->sessions.step()); }

Task<SessionView> Engine::open_session(Caller caller, SessionAsk ask,
                                       std::optional<CreateRequest> request) {
  return impl_->to_end(impl_->sessions.open(std::move(caller), std::move(ask), std::move(request)));
}

Result<SessionView> Engine::get_session(const Caller& caller, std::string_view id) {
  return impl_->sessions.get(caller, id);
}

std::vector<SessionView> Engine::list_sessions(const Caller& caller) {
  return impl_->sessions.list(caller);
}

Task<SessionView> Engine::renew_session(Caller caller, std::string id,
                                        std::optional<std::chrono::seconds> ttl) {
  return impl_->to_end(impl_->sessions.renew(std::move(caller), std::move(id), ttl));
}

Task<> Engine::close_session(Caller caller, std::string id) {
  return impl_->to_end(impl_->sessions.close(std::move(caller), std::move(id)));
}

Task<StartRecord> Engine::start_record(Caller caller, std::string id_or_name) {
  return impl_->to_end(find_start_record(impl_->parts, std::move(caller), std::move(id_or_name)));
}
void Engine::forget_templates() {
  spawn(impl_->parts.executor, impl_->sweeper.forget_templates(), [self = impl_](Result<>) {});
}
Task<> Engine::catch_up() { return impl_->to_end(impl_->sweeper.catch_up()); }

void Engine::on_ended(const Driver& by, std::string id, EndedBy why) {
  const auto record = impl_->parts.sandboxes.find(id);
  // What ends on a driver that the request fell over from, and whose answer was lost, is not the
  // sandbox.
  if (!record || record->driver != by.name()) return;
  // A driver tells what its handle says already.
  if (!record->handle || record->handle->is_running()) return;
  if (why == EndedBy::expiry && record->lifecycle != Lifecycle::pooled) {
    impl_->end_later(record, EndReason::ended);
  } else {
    impl_->changer.note_death(record, reason_of(why, record->driver));
  }
}

}  // namespace atl
