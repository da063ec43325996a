#include "net/event.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace atl::net {

struct Event::Timer {
  explicit Timer(const asio::any_io_executor& executor) : timer(executor) {}
  asio::steady_timer timer;
};

Event::Event(const asio::any_io_executor& executor) : timer_(std::make_unique<Timer>(executor)) {}
Event::~Event() = default;

void Event::set() {
  is_set_ = true;
  timer_->timer.cancel();
}

asio::awaitable<void> Event::wait() {
  while (!is_set_) co_await wait_until(TimePoint::max());
}

asio::awaitable<bool> Event::wait_until(TimePoint deadline) {
  while (!is_set_) {
    if (deadline <= std::chrono::steady_clock::now()) co_return false;
    // A change of expiry wakes the other waiters, who then wait again; so only an earlier one is
    // set.
    if (timer_->timer.expiry() == TimePoint() || deadline < timer_->timer.expiry() ||
        timer_->timer.expiry() <= std::chrono::steady_clock::now()) {
      timer_->timer.expires_at(deadline);
    }
    co_await timer_->timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  co_return true;
}

}  // namespace atl::net
