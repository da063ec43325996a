// What admission costs whoever finds room, and whether those who do not are served fairly: creates
// of many tenants that all wait for one engine over a fake driver, half of them one tenant's, sent
// tenant by tenant.
//
//   bench_admission_load [REQUESTS [TENANTS]]        10000 of 50
//
// Prints one JSON object:
//   requests, tenants, served
//   share_max_min   the worst ratio of what two tenants had been given, looked at ten times while
//                   everybody had somebody waiting
//   serve_us        from one turn to the next, a create on the fake driver included
//   enter_ns        taking a place that is free and giving it back; the best of many rounds
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/run_task.h"
#include "core/admission.h"
#include "core/engine.h"
#include "core/event_log.h"
#include "driver/fake_driver.h"
#include "store/memory_store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace {

using namespace atl;
using SteadyClock = std::chrono::steady_clock;

// The ratio where somebody has had nothing; JSON has no infinity.
constexpr double kLeftOut = 1e6;

struct Load {
  int requests = 10'000;
  int tenants = 50;
  int others = 0;  // requests of each tenant but the first
  std::vector<int> served;
  int all = 0;
  double worst = 0;

  explicit Load(int of, int by) : requests(of), tenants(by), others(of / by / 2) {
    served.resize(static_cast<size_t>(by));
  }
  int count_of(int tenant) const {
    return tenant != 0 ? others : requests - others * (tenants - 1);
  }

  void on_served(int tenant) {
    ++served[static_cast<size_t>(tenant)];
    ++all;
    // Later some have nobody left.
    if (all > others * tenants || all % std::max(others * tenants / 10, 1) != 0) return;
    const auto [least, most] = std::ranges::minmax(served);
    worst = std::max(worst, least == 0 ? kLeftOut : static_cast<double>(most) / least);
  }
};

Task<> create(Engine& engine, Load& load, int tenant) {
  const Caller caller{.tenant = "tenant" + std::to_string(tenant)};
  CO_TRY_OK(co_await engine.create(caller, {}, {}));
  load.on_served(tenant);
  co_return Result<>();
}

// Everybody waits for one that is held; gives the time of all together.
double serve_all(Load& load) {
  asio::io_context loop;
  const auto host = FakeHost::make();
  std::vector<EngineDriver> drivers;
  drivers.push_back({make_fake_driver(host), "for the benchmark"});
  store::MemoryStore store(loop.get_executor());
  telemetry::Metrics metrics;
  EngineOptions options;
  options.boot_id = "bench";
  options.most_sandboxes = options.most_sandboxes_per_tenant = 1'000'000;
  options.admission.most_creations = 1;
  options.admission.longest_queue = static_cast<size_t>(load.requests);
  options.admission.queue_timeout = std::chrono::minutes(5);
  Engine engine(loop.get_executor(), store, std::move(drivers), metrics, system_clock(), options);
  if (auto ready = run_task(loop, engine.recover()); !ready) {
    std::fprintf(stderr, "recover: %s\n", ready.error().message().c_str());
    std::exit(1);
  }
  const auto settle = [&] {
    loop.restart();
    while (loop.poll() != 0) {
    }
  };
  host->hold("create");
  Load first(1, 1);
  spawn(loop.get_executor(), create(engine, first, 0), [](Result<>) {});
  settle();
  for (int tenant = 0; tenant < load.tenants; ++tenant) {
    for (int i = 0; i < load.count_of(tenant); ++i)
      spawn(loop.get_executor(), create(engine, load, tenant), [](Result<>) {});
  }
  settle();
  const auto began = SteadyClock::now();
  host->release("create");
  settle();
  return std::chrono::duration<double, std::micro>(SteadyClock::now() - began).count();
}

double enter_ns() {
  constexpr int kRounds = 200, kEach = 1'000;
  asio::io_context loop;
  telemetry::Metrics metrics;
  EngineOptions options;
  options.admission.most_creations = 256;
  options.admission.quotas.usual = {
      .milli_cpus = 64'000, .memory_mb = 1'000'000, .disk_mb = 1'000'000, .at_once = 64};
  EventLog events(loop.get_executor(), system_clock());
  SandboxTable table(metrics, events, options.admission.quotas.assumed);
  Admission admission(loop.get_executor(), system_clock(), metrics, table, events, options);
  const std::string tenant = "default";
  const Resources resources{.cpu = 0.5, .memory_mb = 256};
  double best = std::numeric_limits<double>::max();
  for (int round = 0; round < kRounds; ++round) {
    const auto began = SteadyClock::now();
    for (int i = 0; i < kEach; ++i) {
      auto place = admission.try_enter(tenant, admission.amounts_of(resources));
      if (!place || !*place) std::exit(1);
      (*place)->settle();
    }
    const std::chrono::duration<double, std::nano> took = SteadyClock::now() - began;
    best = std::min(best, took.count() / kEach);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const int requests = argc > 1 ? std::atoi(argv[1]) : 10'000;
  const int tenants = argc > 2 ? std::atoi(argv[2]) : 50;
  if (tenants < 1 || tenants > 10'000 || requests < 2 * tenants || requests > 1'000'000) return 2;
  telemetry::set_level(telemetry::Level::off);
  Load load(requests, tenants);
  const double took = serve_all(load);
  std::printf(
      "{\"requests\":%d,\"tenants\":%d,\"served\":%d,\"share_max_min\":%.4f,\"serve_us\":%.2f,"
      "\"enter_ns\":%.0f}\n",
      requests, tenants, load.all, load.worst, took / requests, enter_ns());
  return load.all == requests ? 0 : 1;
}
