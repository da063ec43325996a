// What a request costs at the engine that gets a sandbox of a pool, beside one for which a sandbox
// is made: fake driver, so that nothing but the engine and its journal is measured.
//
//   bench_pool_hit [COUNT [DIRECTORY]]      COUNT requests of each kind, 2,000 unless told
//
// With a directory the journal is a file there (SQLite, as a daemon's), otherwise memory. One line
// of JSON with every sample: {"pool_hit_us": […], "pool_miss_us": […]}.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/run_task.h"
#include "bench/spawn.h"
#include "core/engine.h"
#include "driver/fake_driver.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace atl {
namespace {

// Everything that can go on without waiting has gone on.
void settle(asio::io_context& loop) {
  loop.restart();
  while (loop.poll() != 0) {
  }
}

int run(size_t count, const char* directory) {
  telemetry::set_level(telemetry::Level::off);
  asio::io_context loop;
  std::unique_ptr<store::Store> store;
  if (directory != nullptr) {
    auto opened =
        store::SqliteStore::open(loop.get_executor(), std::string(directory) + "/bench.db");
    if (!opened) {
      std::fprintf(stderr, "%s\n", opened.error().message().c_str());
      return 1;
    }
    store = *std::move(opened);
  } else {
    store = std::make_unique<store::MemoryStore>(loop.get_executor());
  }
  telemetry::Metrics metrics;
  auto host = FakeHost::make("fake", Isolation::container);
  std::vector<EngineDriver> drivers;
  drivers.push_back({make_fake_driver(host), "for the benchmark"});
  EngineOptions options;
  options.pooling = Pooling::on;
  Engine engine(loop.get_executor(), *store, std::move(drivers), metrics, system_clock(), options);
  PoolSpec spec;
  spec.size.target = 4;
  spec.size.max = 4;
  if (!run_task(loop, engine.recover()) || !run_task(loop, engine.create_pool("bench", spec))) {
    std::fprintf(stderr, "the engine does not start\n");
    return 1;
  }

  const auto measure = [&](bool fits) {
    while (engine.get_pool("bench")->ready < 4) {
      engine.tend_pools();
      settle(loop);
    }
    CreateRequest request;
    if (!fits) request.env["OTHER"] = "1";
    const auto start = std::chrono::steady_clock::now();
    auto made = run_task(loop, engine.create({}, std::move(request), {}));
    const double took = bench::micros_since(start);
    // A sandbox from elsewhere would make the figure one of something else.
    if (!made || made->pool.empty() == fits) std::abort();
    if (!run_task(loop, engine.destroy({}, made->id))) std::abort();
    host->calls.clear();
    return took;
  };
  for (size_t i = 0; i < 100; ++i) measure(i % 2 == 0);
  bench::Series hit{"pool_hit_us", {}}, miss{"pool_miss_us", {}};
  // In turns, so that both see the same moods of the machine.
  for (size_t i = 0; i < count; ++i) {
    hit.micros.push_back(measure(true));
    miss.micros.push_back(measure(false));
  }
  bench::print({hit, miss});
  return 0;
}

}  // namespace
}  // namespace atl

int main(int argc, char** argv) {
  const unsigned long count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2'000;
  if (count == 0 || count > 1'000'000 || argc > 3) {
    std::fprintf(stderr, "usage: %s [COUNT [DIRECTORY]]\n", argv[0]);
    return 2;
  }
  return atl::run(count, argc > 2 ? argv[2] : nullptr);
}
