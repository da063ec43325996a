// A run of `true` and a create on the native sandbox through the engine in this process, and
// posix_spawn of the same, in turns; bursts with a pause in which what was taken is made again.
//
//   bench_engine_native LIBEXEC RUN_DIRECTORY COUNT BURST PAUSE_MS
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <boost/asio/io_context.hpp>

#include "base/run_task.h"
#include "bench/spawn.h"
#include "core/engine.h"
#include "drivers/registry.h"
#include "native/launcher_client.h"
#include "store/memory_store.h"
#include "telemetry/metrics.h"

using namespace atl;

namespace {

[[noreturn]] void fail(const char* what, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, error.message().c_str());
  std::exit(1);
}

CreateRequest on_native() {
  CreateRequest request;
  request.driver = "native";
  return request;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const int count = std::atoi(argv[3]), burst = std::atoi(argv[4]), pause = std::atoi(argv[5]);
  asio::io_context loop;
  auto launcher = native::LauncherClient::embedded(loop.get_executor(), {argv[2], argv[1]});
  if (!launcher) fail("launcher", launcher.error());
  std::vector<EngineDriver> drivers;
  const drivers::Context context{loop.get_executor(), launcher->get(), 64};
  for (const auto& entry : drivers::all())
    drivers.push_back({entry.make(context), std::string(entry.summary)});
  store::MemoryStore store(loop.get_executor());
  telemetry::Metrics metrics;
  Engine engine(loop.get_executor(), store, std::move(drivers), metrics, system_clock(), {});
  if (auto ready = run_task(loop, engine.recover()); !ready) fail("recover", ready.error());
  const auto rest = [&](int millis) {
    loop.restart();
    loop.run_for(std::chrono::milliseconds(millis));
  };

  bench::Series runs{"run_us", {}}, creates{"create_us", {}}, bare{"bare_us", {}};
  for (int i = -4 * burst; i < count; ++i) {
    if (i % burst == 0) rest(pause);
    const double alone = bench::spawn_true();
    ExecRequest exec;
    exec.argv = {"/bin/true"};
    auto start = std::chrono::steady_clock::now();
    auto done = run_task(loop, engine.run({}, on_native(), std::move(exec), "", 1 << 20));
    const double ran = bench::micros_since(start);
    if (!done || done->exec.status.exit_code != 0)
      fail("run", done ? Error(Code::internal, "bad exit") : done.error());
    start = std::chrono::steady_clock::now();
    auto box = run_task(loop, engine.create({}, on_native(), std::nullopt));
    const double made = bench::micros_since(start);
    if (!box) fail("create", box.error());
    if (auto gone = run_task(loop, engine.destroy({}, box->id)); !gone)
      fail("destroy", gone.error());
    const auto is_hit = [](const std::vector<Stage>& stages) {
      return std::ranges::any_of(stages, [](const Stage& s) { return s.name == "hand_over"; });
    };
    if (i < 0) continue;  // warming up
    bare.micros.push_back(alone);
    if (is_hit(done->stages)) runs.micros.push_back(ran);
    if (is_hit(box->stages)) creates.micros.push_back(made);
  }
  bench::print({runs, creates, bare});
  auto ended = run_task(loop, engine.shut_down(Ending::end_sandboxes));
  return ended ? 0 : 1;
}
