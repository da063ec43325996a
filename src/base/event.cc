#include "base/event.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

namespace atl {

// A timer is what Asio offers for waking coroutines: cancelling it is the wake-up. Waits with a
// deadline have timers of their own, because setting a deadline on the shared one would wake those
// that have none.
struct Event::State {
  explicit State(const asio::any_io_executor& on) : executor(on), unbounded(on) {
    unbounded.expires_at(asio::steady_timer::time_point::max());
  }

  asio::any_io_executor executor;
  asio::steady_timer unbounded;
  std::vector<std::weak_ptr<asio::steady_timer>> bounded;
  bool fired = false;
};

Event::Event(const asio::any_io_executor& executor) : state_(std::make_shared<State>(executor)) {}

void Event::fire() {
  if (std::exchange(state_->fired, true)) return;
  state_->unbounded.cancel();
  for (auto& weak : state_->bounded) {
    if (auto timer = weak.lock()) timer->cancel();
  }
  state_->bounded.clear();
}

bool Event::fired() const { return state_->fired; }

Task<> Event::wait() {
  const auto state = state_;
  if (state->fired) co_return Result<>();
  try {
    co_await state->unbounded.async_wait(asio::as_tuple(asio::use_awaitable));
  } catch (const boost::system::system_error&) {
    // The coroutine was cancelled before it got here.
  }
  if (state->fired) co_return Result<>();
  co_return Error(Code::cancelled, "the wait was cancelled");
}

Task<> Event::wait_for(Millis most) {
  const auto state = state_;
  if (state->fired) co_return Result<>();
  auto timer = std::make_shared<asio::steady_timer>(state->executor, most);
  std::erase_if(state->bounded, [](const auto& weak) { return weak.expired(); });
  state->bounded.push_back(timer);
  bool passed = false;
  try {
    auto [error] = co_await timer->async_wait(asio::as_tuple(asio::use_awaitable));
    passed = !error;
  } catch (const boost::system::system_error&) {
    // As above.
  }
  if (state->fired) co_return Result<>();
  if (passed) co_return Error(Code::deadline_exceeded, "nothing came in time");
  co_return Error(Code::cancelled, "the wait was cancelled");
}

}  // namespace atl
