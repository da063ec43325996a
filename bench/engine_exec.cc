// exec of `true` on `local` through the engine, and posix_spawn of the same, alternating so that
// both see the same machine.
//
//   bench_engine_exec LIBEXEC RUN_DIRECTORY COUNT
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

namespace {

using namespace atl;

[[noreturn]] void fail(const char* what, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, error.message().c_str());
  std::exit(1);
}

Task<ExecResult> exec_true(Engine& engine, std::string id) {
  CO_TRY(auto guest, engine.guest({}, id));
  ExecRequest request;
  request.argv = {"/bin/true"};
  co_return co_await exec_collect(*guest, std::move(request), {}, 1 << 20);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int count = std::atoi(argv[3]);
  asio::io_context loop;
  auto launcher = native::LauncherClient::embedded(loop.get_executor(), {argv[2], argv[1]});
  if (!launcher) fail("launcher", launcher.error());
  std::vector<EngineDriver> drivers;
  const drivers::Context context{loop.get_executor(), launcher->get()};
  for (const auto& entry : drivers::all()) {
    drivers.push_back({entry.make(context), std::string(entry.summary)});
  }
  store::MemoryStore store(loop.get_executor());
  telemetry::Metrics metrics;
  Engine engine(loop.get_executor(), store, std::move(drivers), metrics, system_clock(), {});
  if (auto ready = run_task(loop, engine.recover()); !ready) fail("recover", ready.error());
  CreateRequest create;
  create.driver = "local";
  auto box = run_task(loop, engine.create({}, std::move(create), std::nullopt));
  if (!box) fail("create", box.error());

  bench::Series exec{"engine_exec_us", {}}, spawn{"posix_spawn_us", {}};
  for (int i = -count / 10; i < count; ++i) {
    const auto start = std::chrono::steady_clock::now();
    auto done = run_task(loop, exec_true(engine, box->id));
    const double took = bench::micros_since(start);
    if (!done || done->status.exit_code != 0)
      fail("exec", done ? Error(Code::internal, "bad exit") : done.error());
    const double bare = bench::spawn_true();
    if (i < 0) continue;  // warming up
    exec.micros.push_back(took);
    spawn.micros.push_back(bare);
  }
  bench::print({exec, spawn});
  auto ended = run_task(loop, engine.shut_down(Ending::end_sandboxes));
  return ended ? 0 : 1;
}
