// Workers: threads for what takes long and blocks, so that the core loop goes on meanwhile.
//
//   CO_TRY(auto made, co_await workers->run<Made>([fd] { return make(fd); }));
//
// What is run uses only what it was given. It ends early when stopping() turns true.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "base/event.h"
#include "base/task.h"

namespace atl {

class Workers final {
 public:
  // `executor` is the core loop's. Threads come with the first work: most daemons have none.
  Workers(asio::any_io_executor executor, size_t threads);
  ~Workers();
  // Waits for what is under way; nothing is begun afterwards.
  void stop();

  // Work goes on to its end even if whoever waits for it is cancelled.
  template <typename T>
  Task<T> run(std::function<Result<T>()> work) {
    if (*stopping_) co_return Error(Code::unavailable, "the daemon is stopping");
    const auto kept = std::make_shared<std::optional<Result<T>>>();
    Event done(executor_);
    later([kept, done, back = busy(), work = std::move(work)]() mutable {
      auto result = work();
      // Moved, so that nothing of the loop's ends on this thread.
      post_to(back, [kept = std::move(kept), done = std::move(done),
                     result = std::move(result)]() mutable {
        kept->emplace(std::move(result));
        done.fire();
      });
    });
    CO_TRY_OK(co_await done.wait());
    co_return std::move(**kept);
  }
  // Nobody waits for it, and after stop() it is not done.
  void later(std::function<void()> work);

  const std::shared_ptr<std::atomic<bool>>& stopping() const { return stopping_; }
  const asio::any_io_executor& executor() const { return executor_; }

 private:
  template <typename Callable>
  static void post_to(const asio::any_io_executor& executor, Callable callable) {
    // A std::function wants to be copied, and results cannot be.
    auto shared = std::make_shared<Callable>(std::move(callable));
    post(executor, [shared = std::move(shared)] { (*shared)(); });
  }
  // The loop does not run out of work while somebody has it.
  asio::any_io_executor busy() const;
  static void post(const asio::any_io_executor& executor, std::function<void()> work);

  struct Pool;
  asio::any_io_executor executor_;
  size_t threads_;
  std::shared_ptr<std::atomic<bool>> stopping_ = std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<Pool> pool_;  // null before the first work
};

}  // namespace atl
