#include "core/batch.h"

#include <algorithm>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/event.h"
#include "core/turns.h"

namespace atl {
namespace {

bool is_success(const RunResult& result) {
  const auto& status = result.exec.status;
  return status.reason == ExitReason::exited && status.exit_code == 0;
}

}  // namespace

void BatchStop::stop() {
  stopped_ = true;
  for (const auto& weak : std::exchange(under_way_, {})) {
    if (const auto run = weak.lock()) run->stop();
  }
}

class BatchWork final {
 public:
  BatchWork(Engine& engine, Caller caller, std::shared_ptr<BatchRuns> runs, BatchOptions options,
            std::shared_ptr<BatchStop> stop, const asio::any_io_executor& executor)
      : engine_(engine),
        caller_(std::move(caller)),
        runs_(std::move(runs)),
        options_(options),
        stop_(std::move(stop)),
        taking_(executor),
        done_(executor) {}

  static Task<> run(std::shared_ptr<BatchWork> work) {
    const auto executor = co_await asio::this_coro::executor;
    const size_t workers =
        std::min(std::max<size_t>(work->options_.at_once, 1), work->runs_->size());
    if (workers == 0) co_return Result<>();
    work->workers_ = workers;
    for (size_t i = 0; i < workers; ++i) {
      spawn(executor, go_on(work), [work](Result<> ended) { work->on_worker_ended(ended); });
    }
    // Those under way use what belongs to whoever waits, so only stop() ends the wait.
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    CO_TRY_OK(co_await work->done_.wait());
    if (work->failure_) co_return *work->failure_;
    co_return Result<>();
  }

 private:
  static Task<> go_on(std::shared_ptr<BatchWork> work) {
    while (!work->stop_->stopped() && work->next_ < work->runs_->size()) {
      const size_t index = work->next_++;
      int attempts = 0;
      auto result = co_await work->try_run(index, attempts);
      CO_TRY(const auto turn, co_await work->taking_.take());
      CO_TRY_OK(co_await work->runs_->take(index, attempts, std::move(result)));
    }
    co_return Result<>();
  }

  Task<RunResult> try_run(size_t index, int& attempts) {  // awaited at once
    for (;;) {
      ++attempts;
      CO_TRY(auto run, runs_->make(index));
      const auto stop = std::make_shared<RunStop>();
      std::erase_if(stop_->under_way_, [](const auto& weak) { return weak.expired(); });
      stop_->under_way_.push_back(stop);
      auto result = co_await engine_.run(caller_, std::move(run.sandbox), std::move(run.exec),
                                         std::move(run.stdin_bytes), run.keep, stop);
      const bool again = result ? options_.retry_failures && !is_success(*result)
                                : is_retryable(result.error().code());
      if (!again || attempts >= options_.attempts || stop_->stopped()) co_return result;
    }
  }

  void on_worker_ended(const Result<>& ended) {
    if (!ended && !failure_) {
      failure_ = ended.error();
      stop_->stop();
    }
    if (--workers_ == 0) done_.fire();
  }

  Engine& engine_;
  Caller caller_;
  std::shared_ptr<BatchRuns> runs_;
  BatchOptions options_;
  std::shared_ptr<BatchStop> stop_;
  Turns taking_;
  Event done_;
  size_t next_ = 0, workers_ = 0;
  std::optional<Error> failure_;
};

Task<> run_batch(Engine& engine, Caller caller, std::shared_ptr<BatchRuns> runs,
                 BatchOptions options, std::shared_ptr<BatchStop> stop) {
  const auto executor = co_await asio::this_coro::executor;
  const auto work = std::make_shared<BatchWork>(engine, std::move(caller), std::move(runs), options,
                                                std::move(stop), executor);
  co_return co_await BatchWork::run(work);
}

}  // namespace atl
