#include "tests/simulation/linked_driver.h"

#include <boost/asio/this_coro.hpp>

namespace atl::simulation {
namespace {

// What a request says; whoever sent it no longer listens.
SandboxSpec copy_of(const SandboxSpec& spec) {
  SandboxSpec copy;
  copy.id = spec.id;
  copy.tenant = spec.tenant;
  copy.resources = spec.resources;
  copy.env = spec.env;
  copy.persistence = spec.persistence;
  copy.snapshot = spec.snapshot;
  copy.expires_at = spec.expires_at;
  copy.is_run = spec.is_run;
  return copy;
}

Task<> create_unheard(Driver& driver, SandboxSpec spec) {
  CO_TRY(const auto made, co_await driver.create(std::move(spec)));
  co_return Result<>();
}

// A creation of which nobody takes the sandbox.
Link::Request unheard(std::shared_ptr<FakeHost> host, const SandboxSpec& spec) {
  return {.ask = [sent = std::make_shared<SandboxSpec>(copy_of(spec))](
                     Driver& driver) { return create_unheard(driver, std::move(*sent)); },
          .has_arrived = [host = std::move(host),
                          id = spec.id] { return host->has(id) || host->remains.contains(id); }};
}

// A destruction that comes late means the sandbox that it was about, and not what has its id since.
Task<> destroy_if_same(std::shared_ptr<FakeHost> host, std::shared_ptr<FakeBox> meant,
                       std::shared_ptr<Sandbox> sandbox) {
  const auto there = host->boxes.find(sandbox->id());
  if (there == host->boxes.end() || there->second != meant) co_return Result<>();
  co_return co_await sandbox->destroy();
}

class LinkedSandbox final : public Sandbox {
 public:
  LinkedSandbox(std::shared_ptr<FakeHost> host, Link& link, std::shared_ptr<Sandbox> inner)
      : host_(std::move(host)), link_(link), inner_(std::move(inner)) {}

  const std::string& id() const override { return inner_->id(); }
  bool is_running() const override { return inner_->is_running(); }
  Guest& guest() override { return inner_->guest(); }

  Task<SandboxStats> stats() override {
    return link_.carry<SandboxStats>("stats", [inner = inner_] { return inner->stats(); });
  }
  Task<> stop() override {
    return link_.carry<void>("stop", [inner = inner_] { return inner->stop(); });
  }
  Task<> recreate(SandboxSpec spec) override {
    const auto sent = std::make_shared<SandboxSpec>(std::move(spec));
    return link_.carry<void>("recreate",
                             [inner = inner_, sent] { return inner->recreate(std::move(*sent)); });
  }
  Task<> renew(Micros expires_at) override {
    return link_.carry<void>("renew",
                             [inner = inner_, expires_at] { return inner->renew(expires_at); });
  }
  Task<> destroy() override {
    const auto there = host_->boxes.find(id());
    if (there != host_->boxes.end() && link_.comes_late()) {
      return link_.carry_late("destroy", [host = host_, meant = there->second, inner = inner_] {
        return destroy_if_same(host, meant, inner);
      });
    }
    return link_.carry<void>(
        "destroy", [inner = inner_] { return inner->destroy(); }, Habit::sends_again);
  }
  Task<> pause() override {
    return link_.carry<void>("pause", [inner = inner_] { return inner->pause(); });
  }
  Task<> resume() override {
    return link_.carry<void>("resume", [inner = inner_] { return inner->resume(); });
  }
  Task<> resize(Resources resources) override {
    return link_.carry<void>("resize",
                             [inner = inner_, resources] { return inner->resize(resources); });
  }

 private:
  const std::shared_ptr<FakeHost> host_;
  Link& link_;
  // What is under way needs it after the engine has let go of this.
  const std::shared_ptr<Sandbox> inner_;
};

class LinkedDriver final : public Driver, private DriverListener {
 public:
  LinkedDriver(std::shared_ptr<FakeHost> host, Link& link, Watch watch)
      : host_(std::move(host)),
        link_(link),
        watch_(std::move(watch)),
        inner_(make_fake_driver(host_)) {
    inner_->set_listener(this);
  }

  void receive_left_over(const asio::any_io_executor& executor) {
    for (auto& request : link_.take_left_over()) {
      spawn(executor, link_.arrive_late("create", [this, request = std::move(request)] {
        return request.ask(*inner_);
      }));
    }
  }

  std::string_view name() const override { return inner_->name(); }
  std::optional<int64_t> only_user() const override { return inner_->only_user(); }
  Isolation strongest(std::string_view runtime) const override {
    return inner_->strongest(runtime);
  }
  bool is_somebody_elses() const override { return inner_->is_somebody_elses(); }

  Task<Capabilities> probe() override {
    CO_TRY(auto found,
           co_await link_.carry<Capabilities>("probe", [this] { return inner_->probe(); }));
    watch_.on_probed(found);
    co_return found;
  }
  Task<Capabilities> probe_with_runtimes() override {
    CO_TRY(auto found, co_await link_.carry<Capabilities>(
                           "probe", [this] { return inner_->probe_with_runtimes(); }));
    watch_.on_probed(found);
    co_return found;
  }
  Task<std::string> explain(SandboxSpec spec) override {
    const auto sent = std::make_shared<SandboxSpec>(std::move(spec));
    return link_.carry<std::string>("explain",
                                    [this, sent] { return inner_->explain(std::move(*sent)); });
  }
  std::string reserve(const SandboxSpec& spec) override { return inner_->reserve(spec); }

  Task<std::unique_ptr<Sandbox>> create(SandboxSpec spec) override {
    watch_.on_create(spec.id);
    if (link_.comes_late()) {
      const auto given_up = co_await link_.carry_late(
          "create", [this, copy = unheard(host_, spec)] { return copy.ask(*inner_); });
      co_return given_up.error();
    }
    if (link_.comes_twice()) {
      const auto executor = co_await asio::this_coro::executor;
      spawn(executor, link_.carry_copy("create", [this, copy = unheard(host_, spec)] {
        return copy.ask(*inner_);
      }));
    }
    const uint64_t number = link_.send(unheard(host_, spec));
    const auto sent = std::make_shared<SandboxSpec>(std::move(spec));
    auto made = co_await link_.carry<std::unique_ptr<Sandbox>>(
        "create", [this, sent] { return inner_->create(std::move(*sent)); });
    link_.forget(number);
    if (!made) co_return std::move(made).error();
    co_return std::make_unique<LinkedSandbox>(host_, link_, *std::move(made));
  }

  Task<std::unique_ptr<Sandbox>> attach(std::string id) override {
    CO_TRY(auto found, co_await link_.carry<std::unique_ptr<Sandbox>>(
                           "attach", [this, id] { return inner_->attach(id); }));
    co_return std::make_unique<LinkedSandbox>(host_, link_, std::move(found));
  }

  Task<std::vector<std::string>> list() override {
    return link_.carry<std::vector<std::string>>("list", [this] { return inner_->list(); });
  }
  Task<> destroy_orphan(std::string id) override {
    return link_.carry<void>(
        "destroy_orphan", [this, id] { return inner_->destroy_orphan(id); }, Habit::sends_again);
  }

  Task<SnapshotFacts> snapshot(Sandbox& sandbox, SnapshotRequest request) override {
    return link_.carry<SnapshotFacts>("snapshot", [this, parent = &sandbox, request] {
      return inner_->snapshot(*parent, request);
    });
  }
  Task<std::vector<std::string>> list_snapshots() override {
    return link_.carry<std::vector<std::string>>("list_snapshots",
                                                 [this] { return inner_->list_snapshots(); });
  }
  Task<std::vector<std::string>> list_broken_snapshots() override {
    return inner_->list_broken_snapshots();
  }
  Task<> drop_snapshot(std::string id) override {
    return link_.carry<void>(
        "drop_snapshot", [this, id] { return inner_->drop_snapshot(id); }, Habit::sends_again);
  }
  Task<> fork(Sandbox& parent, std::vector<SandboxSpec> children, SnapshotRequest by) override {
    for (const auto& child : children) watch_.on_fork(parent.id(), child.id);
    const auto sent = std::make_shared<std::vector<SandboxSpec>>(std::move(children));
    return link_.carry<void>("fork", [this, forked = &parent, sent, by] {
      return inner_->fork(*forked, std::move(*sent), by);
    });
  }

 private:
  void on_ended(const Driver&, std::string id, EndedBy why) override {
    if (!link_.is_cut() && listener_ != nullptr) listener_->on_ended(*this, std::move(id), why);
  }

  const std::shared_ptr<FakeHost> host_;
  Link& link_;
  const Watch watch_;
  const std::unique_ptr<Driver> inner_;
};

}  // namespace

std::unique_ptr<Driver> make_linked_driver(std::shared_ptr<FakeHost> host, Link& link, Watch watch,
                                           const asio::any_io_executor& executor) {
  auto driver = std::make_unique<LinkedDriver>(std::move(host), link, std::move(watch));
  driver->receive_left_over(executor);
  return driver;
}

}  // namespace atl::simulation
