#include "core/engine.h"

#include <algorithm>

#include "base/text.h"
#include "core/changer.h"
#include "core/creator.h"
#include "core/destroyer.h"
#include "core/detached.h"
#include "core/operation.h"
#include "core/parts.h"
#include "core/recovery.h"
#include "core/router.h"
#include "core/runs.h"
#include "core/sweeper.h"
#include "json/describe.h"
#include "telemetry/log.h"

namespace atl {
namespace {

constexpr Millis kPatienceAtEnd = std::chrono::seconds(30);

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
        sweeper(parts, recovery, destroyer, changer) {
    parts.reaper.set_expire([this](RecordPtr record) { end_later(record, EndReason::expired); });
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
    Operation operation(caller, parts.metrics, {record->driver, record->id}, verb);
    auto changed = co_await (changer.*act)(record, std::move(arguments)...);
    operation.end(changed);
    co_return changed;
  }

  Task<> find_and_destroy(Caller caller, std::string id_or_name) {
    CO_TRY(auto record, parts.sandboxes.get(caller, id_or_name));
    Operation operation(caller, parts.metrics, {record->driver, record->id}, "destroy");
    auto destroyed = co_await destroyer.destroy(record, EndReason::asked);
    operation.end(destroyed);
    co_return destroyed;
  }

  // Owned by the engine's calls, like everything that somebody asked for.
  void end_later(const RecordPtr& record, EndReason reason) {
    calls.begin();
    spawn(parts.executor, destroyer.destroy(record, reason),
          [self = shared_from_this()](Result<>) { self->calls.end(); });
  }

  Task<> recover() {
    CO_TRY_OK(co_await parts.drivers.probe_all());
    CO_TRY_OK(co_await recovery.load());
    CO_TRY_OK(co_await sweeper.sweep(Sweeper::Orphans::at_once));
    spawn(parts.executor, parts.reaper.run(), [self = shared_from_this()](Result<>) {});
    spawn(parts.executor, sweeper.run(), [self = shared_from_this()](Result<>) {});
    if (parts.sandboxes.size() > 0) {
      telemetry::log_info("sandboxes taken up", {{"count", parts.sandboxes.size()}});
    }
    co_return Result<>();
  }

  Task<> shut_down(Ending ending) {
    parts.is_shutting_down = true;
    parts.reaper.stop();
    sweeper.stop();
    for (const auto& record : parts.sandboxes.all()) {
      const bool ends =
          ending == Ending::end_sandboxes || record->lifecycle == Lifecycle::ephemeral;
      if (ends) end_later(record, EndReason::asked);
    }
    auto quiet = co_await calls.wait_for_none(kPatienceAtEnd);
    if (!quiet) co_return std::move(quiet).error().with("waiting for calls to end");
    if (ending == Ending::end_sandboxes && parts.sandboxes.size() > 0) {
      co_return Error(Code::unavailable,
                      std::to_string(parts.sandboxes.size()) + " sandboxes could not be destroyed");
    }
    co_return Result<>();
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
}

Task<> Engine::recover() { return impl_->to_end(impl_->recover()); }

// Not one of the calls that it waits for.
Task<> Engine::shut_down(Ending ending) { return impl_->shut_down(ending); }

Task<SandboxView> Engine::create(Caller caller, CreateRequest request,
                                 std::optional<Idempotency> idempotency) {
  return impl_->to_end(
      impl_->creator.create(std::move(caller), std::move(request), std::move(idempotency)));
}

Task<Explanation> Engine::explain(CreateRequest request) {
  return impl_->to_end(impl_->creator.explain(std::move(request)));
}

Result<SandboxView> Engine::get(const Caller& caller, std::string_view id_or_name) {
  TRY(const auto record, impl_->parts.sandboxes.get(caller, id_or_name));
  return record->view();
}

Result<SandboxPage> Engine::list(const Caller& caller, const ListFilter& filter) {
  return impl_->parts.sandboxes.list(caller, filter);
}

std::optional<std::string> Engine::find_tenant(std::string_view id) const {
  const auto record = impl_->parts.sandboxes.find(id);
  return record ? std::optional(record->tenant) : std::nullopt;
}

size_t Engine::count_of(const std::string& tenant) const {
  return impl_->parts.sandboxes.count_of(tenant);
}

bool Engine::has_root(std::string_view host_path) const {
  return std::ranges::any_of(impl_->parts.sandboxes.all(), [&](const RecordPtr& record) {
    return record->asked.root && record->asked.root->host_path == host_path;
  });
}

const EngineOptions& Engine::options() const { return impl_->parts.options; }

Task<> Engine::destroy(Caller caller, std::string id_or_name) {
  return impl_->to_end(impl_->find_and_destroy(std::move(caller), std::move(id_or_name)));
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

Task<std::string> Engine::snapshot(Caller caller, std::string id_or_name, std::string name) {
  return impl_->change("snapshot", std::move(caller), std::move(id_or_name), &Changer::snapshot,
                       std::move(name));
}

Task<std::vector<SandboxView>> Engine::fork(Caller caller, std::string id_or_name, size_t count) {
  return impl_->change("fork", std::move(caller), std::move(id_or_name), &Changer::fork, count);
}

Task<SandboxView> Engine::resize(Caller caller, std::string id_or_name, Resources resources) {
  return impl_->change("resize", std::move(caller), std::move(id_or_name), &Changer::resize,
                       resources);
}

Result<ExecRequest> Engine::complete(const Caller& caller, std::string_view id_or_name,
                                     ExecRequest request) {
  TRY(const auto record, impl_->parts.sandboxes.get(caller, id_or_name));
  fill_in(request, record->asked.defaults());
  const DriverSlot* slot = impl_->parts.drivers.find(record->driver);
  if (slot == nullptr || !slot->capabilities || slot->capabilities->users ||
      !names_other_user(request.user)) {
    return request;
  }
  return impl_->parts.drivers.lacking(record->driver, "run as user " + to_printable(request.user),
                                      can_be_other_users);
}

Result<GuestLease> Engine::guest(const Caller& caller, std::string_view id_or_name) {
  TRY(const auto record, impl_->parts.sandboxes.get(caller, id_or_name));
  if (record->awaits_driver) {
    return Error(Code::unavailable, "driver " + record->driver + " does not answer, so sandbox " +
                                        record->id + " cannot be reached now");
  }
  if (record->state != State::running || !record->handle) {
    const char* hint = record->state == State::stopped  ? "start it first"
                       : record->state == State::paused ? "resume it first"
                       : record->state == State::failed ? "recreate it, or destroy it"
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
  CO_TRY(const auto lease, guest(caller, record->id));
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

std::vector<DriverView> Engine::drivers() const { return impl_->parts.drivers.views(); }

Task<> Engine::ask_rest() { return impl_->to_end(impl_->parts.drivers.ask_rest()); }

EventLog& Engine::events() { return impl_->parts.events; }

QueueLengths Engine::queue_lengths() const {
  QueueLengths lengths;
  lengths.calls = impl_->calls.count();
  lengths.cleanup = impl_->runs.waiting();
  lengths.store = impl_->parts.journal.under_way();
  for (const auto& record : impl_->parts.sandboxes.all()) lengths.turns += record->turns.waiting();
  return lengths;
}

const std::string& Engine::instance_id() const { return impl_->parts.instance_id; }

Task<> Engine::reap() {
  impl_->parts.reaper.step();
  co_return Result<>();
}

Task<> Engine::sweep() {
  return impl_->to_end(impl_->sweeper.sweep(Sweeper::Orphans::when_seen_twice));
}

void Engine::on_ended(std::string id, EndedBy why) {
  const auto record = impl_->parts.sandboxes.find(id);
  if (!record) return;
  if (why == EndedBy::expiry) {
    impl_->end_later(record, EndReason::ended);
  } else {
    impl_->changer.note_death(record, "its first process died");
  }
}

}  // namespace atl
