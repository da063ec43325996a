#include "lib/engine_thread.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <system_error>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "app/drivers.h"
#include "app/embedded_launcher.h"
#include "base/run_task.h"
#include "native/launcher_client.h"
#include "store/memory_store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace libatoll {
namespace {

using namespace atl;

// A Sandbox lives as long as its owner wants.
constexpr std::chrono::seconds kForEver = std::chrono::hours(24 * 365);

}  // namespace

// In the order of dependence: each member uses only those above it.
struct EngineThread::Impl {
  Impl(std::unique_ptr<asio::io_context> made, std::unique_ptr<native::LauncherClient> opened,
       const Options& options)
      : loop(std::move(made)),
        launcher(std::move(opened)),
        store(loop->get_executor()),
        engine(loop->get_executor(), store,
               app::make_drivers(loop->get_executor(), *launcher, options.most_parked,
                                 app::engines_of(*launcher, options.libexec)),
               metrics, system_clock(),
               {.default_ttl = kForEver, .longest_ttl = kForEver, .asking = Asking::when_needed}) {}

  const pid_t owner = getpid();
  std::unique_ptr<asio::io_context> loop;
  std::unique_ptr<native::LauncherClient> launcher;
  store::MemoryStore store;
  telemetry::Metrics metrics;
  Engine engine;
  std::thread thread;
};

EngineThread::EngineThread(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<EngineThread>> EngineThread::create(const Options& options) {
  // Stderr is the program's.
  const bool is_silent = getenv("ATOLL_LOG") == nullptr;
  if (is_silent) telemetry::set_level(telemetry::Level::off);
  auto loop = std::make_unique<asio::io_context>();
  TRY(auto launcher, app::open_embedded_launcher(loop->get_executor(), options.libexec, is_silent));
  auto impl = std::make_unique<Impl>(std::move(loop), std::move(launcher), options);
  TRY_OK(run_task(*impl->loop, impl->engine.recover()));

  // Signals are the program's, and its own threads take them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Result<> started;
  try {
    impl->thread = std::thread([loop = impl->loop.get()] {
      const auto guard = asio::make_work_guard(*loop);
      loop->restart();
      loop->run();
    });
  } catch (const std::system_error& failure) {
    started = os_error_from(failure.code().value(), "starting a thread");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  TRY_OK(started);
  return std::unique_ptr<EngineThread>(new EngineThread(std::move(impl)));
}

EngineThread::~EngineThread() {
  if (!is_here()) {
    // What it has belongs to the process that we were forked from.
    [[maybe_unused]] const auto* const parents = impl_.release();
    return;
  }
  static_cast<void>(
      call<void>([](Engine& engine) { return engine.shut_down(Ending::end_sandboxes); }));
  // Those that were made ahead.
  static_cast<void>(call<void>([this](Engine&) { return impl_->launcher->end_all(); }));
  impl_->loop->stop();
  impl_->thread.join();
  // What was told to stop comes to its end while everything that it uses is still there.
  impl_->loop->restart();
  impl_->loop->poll();
}

bool EngineThread::is_here() const { return impl_->owner == getpid(); }

void EngineThread::post(std::function<Task<>(Engine&)> start) {
  asio::post(*impl_->loop, [this, start = std::move(start)] {
    spawn(impl_->loop->get_executor(), start(impl_->engine), [](Result<>) {});
  });
}

}  // namespace libatoll
