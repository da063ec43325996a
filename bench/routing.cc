// What the engine adds to a driver: routing and journalling, beside the same calls of the bare
// driver, alternating; and how many intents a second reach the disk.
//
//   bench_routing DIRECTORY COUNT
//
// The driver is the fake one, which does nothing, so all that is measured is ours. DIRECTORY is on
// a real disk, or the flushes mean nothing.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include <boost/asio/io_context.hpp>

#include "base/event.h"
#include "base/ids.h"
#include "base/run_task.h"
#include "bench/spawn.h"
#include "core/engine.h"
#include "driver/fake_driver.h"
#include "store/sqlite_store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace {

using namespace atl;

constexpr int kDrivers = 8;
constexpr int kAtATime = 256;
constexpr std::chrono::seconds kFor{3};

[[noreturn]] void fail(const char* what, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, error.message().c_str());
  std::exit(1);
}

std::unique_ptr<store::SqliteStore> open_store(asio::io_context& loop, const std::string& path) {
  auto opened = store::SqliteStore::open(loop.get_executor(), path);
  if (!opened) fail("store", opened.error());
  return *std::move(opened);
}

Task<> destroy(std::unique_ptr<Sandbox> sandbox) {
  const std::unique_ptr<Sandbox> hold = std::move(sandbox);
  co_return co_await hold->destroy();
}

// The times of creates alone; what is made is destroyed between them.
class Creates final {
 public:
  Creates(asio::io_context& loop, const std::string& directory)
      : loop_(loop), store_(open_store(loop, directory + "/creates.db")) {
    std::vector<EngineDriver> drivers;
    for (int i = 0; i < kDrivers; ++i) {
      hosts_.push_back(FakeHost::make("d" + std::to_string(i), Isolation::container));
      hosts_.back()->capabilities.typical_start_ms = i + 1;
      drivers.push_back({make_fake_driver(hosts_.back()), ""});
    }
    bare_host_ = FakeHost::make("bare", Isolation::container);
    bare_ = make_fake_driver(bare_host_);
    engine_ = std::make_unique<Engine>(loop.get_executor(), *store_, std::move(drivers), metrics_,
                                       system_clock(), EngineOptions{});
    if (auto ready = run_task(loop_, engine_->recover()); !ready) fail("recover", ready.error());
  }
  ~Creates() {
    auto ended = run_task(loop_, engine_->shut_down(Ending::end_sandboxes));
    if (!ended) std::fprintf(stderr, "%s\n", ended.error().message().c_str());
  }

  double kept(std::optional<policy::Strategy> strategy) {
    CreateRequest request;
    request.strategy = strategy;
    const auto start = std::chrono::steady_clock::now();
    auto made = run_task(loop_, engine_->create({}, std::move(request), std::nullopt));
    const double took = bench::micros_since(start);
    if (!made) fail("create", made.error());
    if (auto gone = run_task(loop_, engine_->destroy({}, made->id)); !gone) {
      fail("destroy", gone.error());
    }
    settle();
    forget_calls();
    return took;
  }

  // Create, command and end, which is what a run is.
  double run() {
    ExecRequest exec;
    exec.argv = {"true"};
    const auto start = std::chrono::steady_clock::now();
    auto done = run_task(loop_, engine_->run({}, {}, std::move(exec), "", 1'000));
    const double took = bench::micros_since(start);
    if (!done) fail("run", done.error());
    settle();
    forget_calls();
    return took;
  }

  double bare_create() {
    SandboxSpec spec;
    spec.id = make_sandbox_id();
    const auto start = std::chrono::steady_clock::now();
    auto made = run_task(loop_, bare_->create(std::move(spec)));
    const double took = bench::micros_since(start);
    if (!made) fail("bare create", made.error());
    if (auto gone = run_task(loop_, destroy(*std::move(made))); !gone) fail("bare", gone.error());
    return took;
  }

  double bare_run() {
    SandboxSpec spec;
    spec.id = make_sandbox_id();
    spec.is_run = true;
    const auto start = std::chrono::steady_clock::now();
    auto done = run_task(loop_, create_and_exec(std::move(spec)));
    const double took = bench::micros_since(start);
    if (!done) fail("bare run", done.error());
    forget_calls();
    return took;
  }

 private:
  // A run tells its result before what it leaves is cleared away, so neither side waits for that.
  Task<> create_and_exec(SandboxSpec spec) {
    CO_TRY(auto made, co_await bare_->create(std::move(spec)));
    ExecRequest exec;
    exec.argv = {"true"};
    CO_TRY(const auto done, co_await exec_collect(made->guest(), std::move(exec), "", 1'000));
    static_cast<void>(done);
    bare_host_->lose(made->id());
    co_return Result<>();
  }

  // What a sample leaves to be done behind its answer is done before the next one, which would pay
  // for it otherwise.
  void settle() {
    loop_.restart();
    while (loop_.poll() != 0) {
    }
  }

  // The fake hosts write down every call, and would grow with the measurement.
  void forget_calls() {
    bare_host_->calls.clear();
    for (const auto& host : hosts_) host->calls.clear();
  }

  asio::io_context& loop_;
  std::unique_ptr<store::Store> store_;
  telemetry::Metrics metrics_;
  std::vector<std::shared_ptr<FakeHost>> hosts_;
  std::shared_ptr<FakeHost> bare_host_;
  std::unique_ptr<Driver> bare_;
  std::unique_ptr<Engine> engine_;
};

struct Flood {
  Flood(store::Store& where, asio::any_io_executor executor) : store(where), over(executor) {}

  store::Store& store;
  Event over;
  std::chrono::steady_clock::time_point until;
  int64_t last_intent = 0;
  uint64_t committed = 0;
  int writers = 0;
};

// Intents of one client after the other, each on the disk before the next one.
Task<> write_intents(std::shared_ptr<Flood> flood) {
  const std::string id = make_sandbox_id();
  while (std::chrono::steady_clock::now() < flood->until) {
    store::SandboxRow row{.id = id, .tenant = "default", .state = "starting", .driver = "far"};
    store::IntentRow intent{.id = ++flood->last_intent, .sandbox = id, .op = "create"};
    store::Transaction transaction{store::Durability::disk, {}};
    transaction.changes = {store::PutSandbox{std::move(row)}, store::PutIntent{std::move(intent)}};
    CO_TRY_OK(co_await flood->store.commit(std::move(transaction)));
    ++flood->committed;
  }
  co_return Result<>();
}

// Flushed intents a second with so many clients at a time.
double intents_per_s(asio::io_context& loop, const std::string& path, int writers) {
  const auto store = open_store(loop, path);
  const auto flood = std::make_shared<Flood>(*store, loop.get_executor());
  const auto start = std::chrono::steady_clock::now();
  flood->until = start + kFor;
  flood->writers = writers;
  for (int i = 0; i < writers; ++i) {
    spawn(loop.get_executor(), write_intents(flood), [flood](Result<> done) {
      if (!done) fail("intent", done.error());
      if (--flood->writers == 0) flood->over.fire();
    });
  }
  if (auto done = run_task(loop, flood->over.wait()); !done) fail("intents", done.error());
  return static_cast<double>(flood->committed) / (bench::micros_since(start) / 1e6);
}

// What the disk itself does: a page appended and flushed, one after the other.
double flushes_per_s(const std::string& path) {
  const int fd = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) fail("flush", os_error("open", path));
  const std::vector<char> page(4'096, 'x');
  const auto start = std::chrono::steady_clock::now();
  uint64_t count = 0;
  while (std::chrono::steady_clock::now() - start < std::chrono::seconds(1)) {
    if (write(fd, page.data(), page.size()) < 0 || fdatasync(fd) != 0)
      fail("flush", os_error("flush"));
    ++count;
  }
  close(fd);
  return static_cast<double>(count) / (bench::micros_since(start) / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string directory = argv[1];
  const int count = std::atoi(argv[2]);
  telemetry::set_level(telemetry::Level::off);
  asio::io_context loop(1);  // as the daemon's
  bench::Series kept{"engine_create_us", {}}, fastest{"engine_create_fastest_us", {}},
      bare{"bare_create_us", {}}, run{"engine_run_us", {}}, bare_run{"bare_run_us", {}};
  {
    Creates creates(loop, directory);
    for (int i = -count / 10; i < count; ++i) {
      const double samples[] = {creates.kept(std::nullopt), creates.kept(policy::Strategy::fastest),
                                creates.bare_create(), creates.run(), creates.bare_run()};
      if (i < 0) continue;  // warming up
      kept.micros.push_back(samples[0]);
      fastest.micros.push_back(samples[1]);
      bare.micros.push_back(samples[2]);
      run.micros.push_back(samples[3]);
      bare_run.micros.push_back(samples[4]);
    }
  }
  bench::Series many{"grouped_intents_per_s", {}}, one{"single_intents_per_s", {}},
      flush{"flushes_per_s", {}};
  for (int round = 0; round < 3; ++round) {
    const std::string base = directory + "/intents" + std::to_string(round);
    many.micros.push_back(intents_per_s(loop, base + "-many.db", kAtATime));
    one.micros.push_back(intents_per_s(loop, base + "-one.db", 1));
    flush.micros.push_back(flushes_per_s(base + ".raw"));
  }
  bench::print({kept, fastest, bare, run, bare_run, many, one, flush});
  return 0;
}
