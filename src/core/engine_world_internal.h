// The engine over fake hosts and a fake clock, for tests: nothing here waits for real time.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/fake_clock.h"
#include "base/ids.h"
#include "core/engine.h"
#include "driver/fake_driver.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace atl {

// A call that was started and is not waited for.
template <typename T>
class Pending final {
 public:
  bool done() const { return result_->has_value(); }
  Result<T>& get() const {
    if (!done()) throw std::logic_error("the call has not ended");
    return **result_;
  }

  std::shared_ptr<std::optional<Result<T>>> result_ = std::make_shared<std::optional<Result<T>>>();
};

// Over another store: takes so many writes as `accepts` says, and then refuses, like a full disk.
class FullStore final : public store::Store {
 public:
  static constexpr int kPlenty = 1'000'000;

  FullStore(std::unique_ptr<store::Store> inner, asio::any_io_executor executor, int& accepts)
      : inner_(std::move(inner)), executor_(std::move(executor)), accepts_(accepts) {}

  Task<store::Contents> load() override { return inner_->load(); }
  Task<std::optional<store::SandboxRow>> find_sandbox(std::string id) override {
    return inner_->find_sandbox(std::move(id));
  }
  Task<> commit(store::Transaction transaction) override {
    if (accepts_-- <= 0) co_return Error(Code::out_of_space, "the disk is full");
    co_return co_await inner_->commit(std::move(transaction));
  }
  void enqueue(store::Transaction transaction, store::OnCommitted on_done) override {
    if (accepts_-- > 0) return inner_->enqueue(std::move(transaction), std::move(on_done));
    asio::post(executor_, [on_done = std::move(on_done)] {
      if (on_done) on_done(Error(Code::out_of_space, "the disk is full"));
    });
  }

 private:
  std::unique_ptr<store::Store> inner_;
  asio::any_io_executor executor_;
  int& accepts_;
};

class EngineWorld {
 public:
  enum class Keeps : uint8_t { memory, file };

  explicit EngineWorld(Keeps keeps = Keeps::memory) : keeps_(keeps) {
    options.boot_id = "boot-1";
    options.run_pause = Micros(0);
    // A driver is what its last answer says; tests of hysteresis set this.
    options.routing.health = {.failures = 1, .answers = 1};
    options.routing.retries.pause = Micros(0);
    telemetry::set_level(telemetry::Level::off);
    if (keeps_ == Keeps::file) std::filesystem::create_directories(directory_);
  }
  ~EngineWorld() {
    crash();
    if (keeps_ == Keeps::file) std::filesystem::remove_all(directory_);
  }

  FakeHost& add(std::string name = "fake", Isolation isolation = Isolation::container) {
    hosts_.push_back(FakeHost::make(std::move(name), isolation));
    return *hosts_.back();
  }
  FakeHost& host(size_t i = 0) { return *hosts_[i]; }

  // A daemon starts: over the same hosts, and over the same file if there is one.
  void start() {
    loop_ = std::make_unique<asio::io_context>();
    if (keeps_ == Keeps::file) {
      auto opened = store::SqliteStore::open(loop_->get_executor(), directory_ / "state.db");
      ASSERT_TRUE(opened) << opened.error().message();
      store_ = *std::move(opened);
    } else {
      store_ = std::make_unique<store::MemoryStore>(loop_->get_executor());
    }
    if (wrap_store) store_ = wrap_store(std::move(store_));
    std::vector<EngineDriver> drivers;
    for (const auto& one : hosts_) drivers.push_back({make_fake_driver(one), "for tests"});
    engine_ = std::make_unique<Engine>(loop_->get_executor(), *store_, std::move(drivers), metrics,
                                       clock, options);
    const auto recovered = run(engine_->recover());
    ASSERT_TRUE(recovered) << recovered.error().message();
  }
  // kill -9: whatever was under way is never heard of again.
  void crash() {
    engine_.reset();
    store_.reset();
    loop_.reset();
  }
  void restart() {
    crash();
    start();
  }

  Engine& engine() { return *engine_; }
  store::Store& store() { return *store_; }
  asio::io_context& loop() { return *loop_; }

  template <typename T>
  Pending<T> begin(Task<T> task) {
    Pending<T> pending;
    spawn(loop_->get_executor(), keep(std::move(task), pending.result_), [](Result<>) {});
    settle();
    return pending;
  }
  // The same for a caller that goes away when the signal is emitted.
  template <typename T>
  Pending<T> begin(Task<T> task, asio::cancellation_signal& cancel) {
    Pending<T> pending;
    asio::co_spawn(*loop_, keep(std::move(task), pending.result_),
                   asio::bind_cancellation_slot(cancel.slot(), [](auto&&...) {}));
    settle();
    return pending;
  }
  template <typename T>
  Result<T> run(Task<T> task) {
    auto pending = begin(std::move(task));
    while (!pending.done()) {
      loop_->restart();
      if (loop_->run_one_for(std::chrono::seconds(10)) == 0) break;
    }
    if (!pending.done()) return Error(Code::internal, "the call never ends");
    return std::move(pending.get());
  }
  // Everything that can go on without waiting has gone on.
  void settle() {
    loop_->restart();
    while (loop_->poll() != 0) {
    }
  }

  // For what the store's thread takes part in.
  void wait_until(const std::function<bool()>& holds) {
    while (!holds()) {
      loop_->restart();
      ASSERT_NE(loop_->run_one_for(std::chrono::seconds(10)), 0U) << "it never comes true";
    }
  }

  Result<SandboxView> create(CreateRequest request = {},
                             std::optional<Idempotency> idempotency = {}) {
    return run(engine_->create(caller, std::move(request), std::move(idempotency)));
  }
  // With the name and nothing else.
  std::string create_named(std::string name) {
    CreateRequest request;
    request.name = std::move(name);
    return create(std::move(request)).value().id;
  }
  State state_of(const std::string& id) { return engine_->get(caller, id).value().state; }
  std::string exec(const std::string& id, std::vector<std::string> argv) {
    auto lease = engine_->guest(caller, id).value();
    ExecRequest request;
    request.argv = std::move(argv);
    return run(exec_collect(*lease, std::move(request), "", 10'000)).value().out;
  }
  void advance(Micros by) { clock.advance(by); }
  void reap() {
    ASSERT_TRUE(run(engine_->reap()));
    settle();
  }
  void sweep() { ASSERT_TRUE(run(engine_->sweep())); }

  const Caller caller;
  FakeClock clock;
  telemetry::Metrics metrics;
  EngineOptions options;
  std::function<std::unique_ptr<store::Store>(std::unique_ptr<store::Store>)> wrap_store;

 private:
  template <typename T>
  static Task<> keep(Task<T> task, std::shared_ptr<std::optional<Result<T>>> out) {
    auto result = co_await std::move(task);
    out->emplace(std::move(result));
    co_return Result<>();
  }

  const Keeps keeps_;
  std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("atoll-core-" + random_name(8));
  std::vector<std::shared_ptr<FakeHost>> hosts_;
  std::unique_ptr<asio::io_context> loop_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace atl
