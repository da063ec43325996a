// An engine on a loop of its own in a thread of its own, and calls to it from other threads.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>

#include "base/task.h"
#include "core/engine.h"

namespace libatoll {

class EngineThread final {
 public:
  struct Options {
    std::string libexec;
    size_t most_parked = 0;
  };
  static atl::Result<std::unique_ptr<EngineThread>> create(const Options& options);
  // Ends all sandboxes.
  ~EngineThread();

  // Whether this is the process that made it: after fork() there is no thread.
  bool is_here() const;

  // Runs what `make` gives on the engine's loop, and waits for it.
  template <typename T>
  atl::Result<T> call(std::function<atl::Task<T>(atl::Engine&)> make) {
    std::promise<atl::Result<T>> promise;
    auto future = promise.get_future();
    post([&make, &promise](atl::Engine& engine) { return keep(make(engine), promise); });
    return future.get();
  }

 private:
  struct Impl;
  explicit EngineThread(std::unique_ptr<Impl> impl);

  template <typename T>
  static atl::Task<> keep(atl::Task<T> task, std::promise<atl::Result<T>>& promise) {
    auto result = co_await std::move(task);
    promise.set_value(std::move(result));
    co_return atl::Result<>();
  }
  void post(std::function<atl::Task<>(atl::Engine&)> start);

  std::unique_ptr<Impl> impl_;
};

}  // namespace libatoll
