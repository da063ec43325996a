#include "driver/fake_driver.h"

#include <algorithm>

#include <boost/asio/this_coro.hpp>

#include "driver/fake_guest.h"

namespace atl {

class FakeSandbox final : public Sandbox {
 public:
  FakeSandbox(std::shared_ptr<FakeHost> host, std::shared_ptr<FakeBox> box)
      : host_(std::move(host)), box_(std::move(box)), guest_(make_fake_guest(box_)) {}

  const std::string& id() const override { return box_->id; }
  bool is_running() const override { return box_->exists && box_->running; }
  Guest& guest() override { return *guest_; }

  Task<SandboxStats> stats() override {
    CO_TRY_OK(co_await host_->enter("stats", box_->id));
    co_return SandboxStats{.processes = box_->processes.size(), .memory_bytes = 4096};
  }

  Task<> stop() override {
    CO_TRY_OK(co_await host_->enter("stop", box_->id));
    CO_TRY_OK(answer());
    box_->end_processes();
    co_return co_await host_->leave("stop");
  }

  Task<> recreate(SandboxSpec spec) override {
    CO_TRY_OK(co_await host_->enter("recreate", box_->id));
    if (!host_->has(box_->id)) co_return Error(Code::not_found, "no sandbox " + box_->id);
    CO_TRY_OK(answer());
    box_->end_processes();
    box_->processes.clear();
    if (!spec.env.empty()) box_->spec.env = std::move(spec.env);
    box_->spec.expires_at = spec.expires_at;
    box_->running = true;
    co_return co_await host_->leave("recreate");
  }

  Task<> renew(Micros expires_at) override {
    CO_TRY_OK(co_await host_->enter("renew", box_->id));
    if (!host_->has(box_->id)) co_return Error(Code::not_found, "no sandbox " + id());
    box_->spec.expires_at = expires_at;
    co_return co_await host_->leave("renew");
  }

  Task<> destroy() override {
    CO_TRY_OK(co_await host_->enter("destroy", box_->id));
    box_->end_processes();
    box_->exists = false;
    host_->boxes.erase(box_->id);
    host_->remains.insert(box_->id);
    CO_TRY_OK(co_await host_->leave("destroy half"));
    host_->remains.erase(box_->id);
    co_return co_await host_->leave("destroy");
  }

  Task<> pause() override {
    if (host_->capabilities.pause == Pause::none) co_return lacking("pause");
    CO_TRY_OK(co_await host_->enter("pause", box_->id));
    if (!is_running()) co_return Error(Code::conflict, "sandbox " + id() + " does not run");
    box_->paused = true;
    co_return co_await host_->leave("pause");
  }

  Task<> resume() override {
    if (host_->capabilities.pause == Pause::none) co_return lacking("resume");
    CO_TRY_OK(co_await host_->enter("resume", box_->id));
    box_->paused = false;
    co_return co_await host_->leave("resume");
  }

  Task<> resize(Resources resources) override {
    if (!host_->capabilities.resize) co_return lacking("resize");
    CO_TRY_OK(co_await host_->enter("resize", box_->id));
    box_->spec.resources = resources;
    co_return co_await host_->leave("resize");
  }

 private:
  // A frozen one answers nobody.
  Result<> answer() const {
    if (box_->paused) return Error(Code::deadline_exceeded, "sandbox " + id() + " is frozen");
    return {};
  }

  Error lacking(const std::string& what) const {
    return Error(Code::unsupported, host_->name() + " cannot " + what);
  }

  const std::shared_ptr<FakeHost> host_;
  const std::shared_ptr<FakeBox> box_;
  const std::unique_ptr<Guest> guest_;
};

class FakeDriver final : public Driver {
 public:
  explicit FakeDriver(std::shared_ptr<FakeHost> host) : host_(std::move(host)) {
    host_->driver_ = this;
  }
  ~FakeDriver() override {
    if (host_->driver_ != this) return;
    host_->driver_ = nullptr;
    host_->forget_waiters();
  }

  std::string_view name() const override { return host_->name(); }
  std::optional<int64_t> only_user() const override { return host_->user; }
  Isolation strongest(std::string_view runtime) const override {
    if (runtime.empty()) return host_->capabilities.isolation;
    for (const auto& one : host_->capabilities.runtimes)
      if (one.name == runtime) return one.isolation;
    return Isolation::none;
  }
  bool is_somebody_elses() const override { return host_->is_somebody_elses; }

  Task<Capabilities> probe() override {
    CO_TRY_OK(co_await host_->enter("probe", ""));
    Capabilities can = host_->capabilities;
    if (host_->tries_runtimes) can.runtimes.clear();
    co_return can;
  }

  Task<Capabilities> probe_with_runtimes() override {
    if (!host_->tries_runtimes) co_return co_await probe();
    CO_TRY_OK(co_await host_->enter("try_runtimes", ""));
    co_return host_->capabilities;
  }

  Task<std::unique_ptr<Sandbox>> create(SandboxSpec spec) override {
    if (host_->fetches) {
      const GiveUp::Listening listening(spec.give_up, [this] { host_->release("fetch"); });
      CO_TRY_OK(co_await host_->enter("fetch", spec.id));
      if (is_given_up(spec.give_up)) co_return Error(Code::cancelled, "nobody wants it any more");
    }
    CO_TRY_OK(co_await host_->enter("create", spec.id));
    if (host_->on_create) host_->on_create(spec);
    if (host_->has(spec.id) || host_->remains.contains(spec.id)) {
      co_return Error(Code::already_exists, "sandbox " + spec.id + " exists");
    }
    auto box = std::make_shared<FakeBox>();
    box->id = spec.id;
    box->programs = host_->programs;
    box->files["/workspace"] = {.kind = FileKind::directory, .mode = 0755};
    if (!spec.snapshot.empty()) {
      const auto kept = host_->snapshots.find(spec.snapshot);
      if (kept == host_->snapshots.end() || host_->broken_snapshots.contains(spec.snapshot))
        co_return Error(Code::not_found, "no snapshot " + spec.snapshot);
      box->files = kept->second;
    }
    host_->remains.insert(box->id);
    auto begun = co_await host_->leave("create half");
    host_->remains.erase(box->id);
    CO_TRY_OK(std::move(begun));
    box->spec = std::move(spec);
    host_->boxes[box->id] = box;
    CO_TRY_OK(co_await host_->leave("create"));
    co_return std::make_unique<FakeSandbox>(host_, box);
  }

  Task<std::string> explain(SandboxSpec spec) override {
    CO_TRY_OK(co_await host_->enter("explain", ""));
    std::string text = "made by " + host_->name() + "\n";
    if (spec.root) text += "root " + spec.root->host_path + "\n";
    co_return text;
  }

  Task<std::unique_ptr<Sandbox>> attach(std::string id) override {
    CO_TRY_OK(co_await host_->enter("attach", id));
    if (!host_->has(id)) co_return Error(Code::not_found, "no sandbox " + id);
    const auto box = host_->boxes.at(id);
    if (box->lets_nobody_in)
      co_return Error(Code::unavailable, "the agent of " + id + " is silent");
    co_return std::make_unique<FakeSandbox>(host_, box);
  }

  Task<std::vector<std::string>> list() override {
    CO_TRY_OK(co_await host_->enter("list", ""));
    auto ids = host_->ids();
    ids.insert(ids.end(), host_->remains.begin(), host_->remains.end());
    co_return ids;
  }

  Task<> destroy_orphan(std::string id) override {
    CO_TRY_OK(co_await host_->enter("destroy_orphan", id));
    host_->remains.erase(id);
    const auto found = host_->boxes.find(id);
    if (found != host_->boxes.end()) {
      found->second->end_processes();
      found->second->exists = false;
      host_->boxes.erase(found);
    }
    co_return co_await host_->leave("destroy_orphan");
  }

  Task<SnapshotFacts> snapshot(Sandbox& sandbox, SnapshotRequest request) override {
    if (!host_->capabilities.snapshot) co_return co_await Driver::snapshot(sandbox, request);
    const std::string id = sandbox.id();
    CO_TRY_OK(co_await host_->enter("snapshot", id));
    if (!host_->has(id)) co_return Error(Code::not_found, "no sandbox " + id);
    host_->snapshots[request.id] = host_->boxes.at(id)->files;
    CO_TRY_OK(co_await host_->leave("snapshot"));
    co_return SnapshotFacts{.bytes = 4096};
  }

  Task<std::vector<std::string>> list_snapshots() override {
    CO_TRY_OK(co_await host_->enter("list_snapshots", ""));
    std::vector<std::string> ids;
    for (const auto& [id, files] : host_->snapshots) ids.push_back(id);
    co_return ids;
  }

  Task<std::vector<std::string>> list_broken_snapshots() override {
    co_return std::vector(host_->broken_snapshots.begin(), host_->broken_snapshots.end());
  }

  Task<std::vector<std::string>> list_doubtful_snapshots() override {
    co_return std::vector(host_->doubtful_snapshots.begin(), host_->doubtful_snapshots.end());
  }

  Task<> drop_snapshot(std::string id) override {
    CO_TRY_OK(co_await host_->enter("drop_snapshot", id));
    host_->snapshots.erase(id);
    co_return co_await host_->leave("drop_snapshot");
  }

  Task<> fork(Sandbox& parent, std::vector<SandboxSpec> children, SnapshotRequest by) override {
    if (!host_->capabilities.fork)
      co_return co_await Driver::fork(parent, std::move(children), std::move(by));
    const std::string id = parent.id();
    CO_TRY_OK(co_await host_->enter("fork", id));
    if (!host_->has(id)) co_return Error(Code::not_found, "no sandbox " + id);
    const auto box = host_->boxes.at(id);
    // What a driver may leave to whoever drops it.
    host_->snapshots[by.id] = box->files;
    for (auto& spec : children) {
      auto child = std::make_shared<FakeBox>();
      child->id = spec.id;
      child->parent = id;
      host_->forked.insert(child->id);
      child->files = box->files;
      child->spec = std::move(spec);
      child->spec.env = box->spec.env;
      host_->boxes[child->id] = std::move(child);
    }
    co_return co_await host_->leave("fork");
  }

  void tell(std::string id, EndedBy why) {
    if (listener_ != nullptr) listener_->on_ended(*this, std::move(id), why);
  }

 private:
  const std::shared_ptr<FakeHost> host_;
};

FakeHost::FakeHost(std::string name, Isolation isolation) : name_(std::move(name)) {
  capabilities.isolation = isolation;
  capabilities.limits = {.cpu = Limit::enforced,
                         .memory = Limit::enforced,
                         .pids = Limit::enforced,
                         .disk = Limit::enforced};
  capabilities.host_dir_ro = true;
}

std::shared_ptr<FakeHost> FakeHost::make(std::string name, Isolation isolation) {
  return std::shared_ptr<FakeHost>(new FakeHost(std::move(name), isolation));
}

void FakeHost::fail(std::string call, Error error, int count) {
  faults_.insert_or_assign(std::move(call), Fault{std::move(error), count});
}

void FakeHost::hold(const std::string& call) { to_hold_.push_back(call); }

void FakeHost::release(const std::string& call) {
  std::erase(to_hold_, call);
  const auto held = holds_.extract(call);
  if (!held.empty()) held.mapped()->fire();
}

Task<> FakeHost::enter(std::string call, std::string id) {
  calls.push_back(id.empty() ? call : call + " " + id);
  if (down_) {
    co_return Error(Code::unavailable, name_ + " does not answer").with_hint("start " + name_);
  }
  if (const auto fault = faults_.find(call); fault != faults_.end()) {
    Error error = fault->second.error;
    if (--fault->second.count <= 0) faults_.erase(fault);
    co_return error;
  }
  if (std::ranges::find(to_hold_, call) != to_hold_.end()) {
    const auto executor = co_await asio::this_coro::executor;
    const auto held = holds_.try_emplace(call, std::make_shared<Event>(executor)).first->second;
    CO_TRY_OK(co_await held->wait());
  }
  if (!on_step) co_return Result<>();
  co_return co_await on_step(call + " before");
}

Task<> FakeHost::leave(std::string call) {
  if (!on_step) co_return Result<>();
  co_return co_await on_step(call + " after");
}

void FakeHost::forget_waiters() {
  holds_.clear();
  for (const auto& [id, box] : boxes) box->forget_waiters();
}

void FakeHost::end_unheard(const std::string& id) {
  boxes.at(id)->end_processes();
  boxes.at(id)->paused = false;  // nobody is left who could stand still
}

void FakeHost::end(const std::string& id, EndedBy why) {
  end_unheard(id);
  if (driver_ != nullptr) driver_->tell(id, why);
}

void FakeHost::add_orphan(const std::string& id) {
  auto box = std::make_shared<FakeBox>();
  box->id = id;
  boxes[id] = std::move(box);
}

std::vector<std::string> FakeHost::ids() const {
  std::vector<std::string> ids;
  ids.reserve(boxes.size());
  for (const auto& [id, box] : boxes) ids.push_back(id);
  return ids;
}

size_t FakeHost::count(std::string_view call) const {
  return static_cast<size_t>(std::ranges::count_if(calls, [&](const std::string& made) {
    return made == call || made.starts_with(std::string(call) + " ");
  }));
}

std::unique_ptr<Driver> make_fake_driver(std::shared_ptr<FakeHost> host) {
  return std::make_unique<FakeDriver>(std::move(host));
}

}  // namespace atl
