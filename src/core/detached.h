// Calls that go on to their end even if whoever waits for them is cancelled: a half-done change
// would be nobody's.
#pragma once

#include <memory>
#include <optional>

#include "base/event.h"
#include "base/task.h"

namespace atl {

// How many such calls are under way, for those who wait until there are none.
class CallCount final {
 public:
  explicit CallCount(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  const asio::any_io_executor& executor() const { return executor_; }
  size_t count() const { return count_; }
  void begin() { ++count_; }
  void end() {
    if (--count_ == 0 && none_) std::exchange(none_, nullptr)->fire();
  }
  // Code::deadline_exceeded if some are left then.
  Task<> wait_for_none(Millis most) {
    if (count_ == 0) co_return Result<>();
    if (!none_) none_ = std::make_shared<Event>(executor_);
    const auto none = none_;
    co_return co_await none->wait_for(most);
  }

 private:
  asio::any_io_executor executor_;
  size_t count_ = 0;
  std::shared_ptr<Event> none_;
};

namespace detail {

template <typename T>
struct CallOutcome {
  explicit CallOutcome(const asio::any_io_executor& executor) : done(executor) {}

  Event done;
  std::optional<Result<T>> result;
};

template <typename T>
Task<> make_call(Task<T> call, std::shared_ptr<CallOutcome<T>> outcome) {
  auto result = co_await std::move(call);
  outcome->result.emplace(std::move(result));
  co_return Result<>();
}

}  // namespace detail

// `keep` owns what the call works on, `calls` among it.
template <typename T>
Task<T> run_to_end(std::shared_ptr<void> keep, CallCount& calls, Task<T> call) {
  const auto outcome = std::make_shared<detail::CallOutcome<T>>(calls.executor());
  calls.begin();
  spawn(calls.executor(), detail::make_call(std::move(call), outcome),
        [keep, &calls, outcome](Result<> made) {
          if (!made) outcome->result.emplace(std::move(made).error());
          outcome->done.fire();
          calls.end();
        });
  CO_TRY_OK(co_await outcome->done.wait());
  co_return *std::move(outcome->result);
}

}  // namespace atl
