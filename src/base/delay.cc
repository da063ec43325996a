#include "base/delay.h"

#include <boost/asio/steady_timer.hpp>

namespace atl {

struct Delay::State {
  explicit State(const asio::any_io_executor& executor) : timer(executor) {}

  asio::steady_timer timer;
  std::function<void()> then;
  uint64_t round =
      0;  // a timer that has run out already cannot be put off, only not be listened to
};

Delay::Delay(const asio::any_io_executor& executor) : state_(std::make_shared<State>(executor)) {}

Delay::~Delay() {
  ++state_->round;
  state_->timer.cancel();
}

void Delay::after(Micros time, std::function<void()> then) {
  const uint64_t round = ++state_->round;
  if (time.count() == 0) {
    state_->timer.cancel();
    return then();
  }
  state_->then = std::move(then);
  state_->timer.expires_after(time);
  state_->timer.async_wait(
      [weak = std::weak_ptr(state_), round](const boost::system::error_code& put_off) {
        const auto state = weak.lock();
        if (put_off || !state || state->round != round) return;
        const auto now = std::move(state->then);
        now();
      });
}

}  // namespace atl
