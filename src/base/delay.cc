#include "base/delay.h"

#include <optional>

#include <boost/asio/steady_timer.hpp>

namespace atl {

// What is put off again and again would set a timer each time, a call of the kernel and a handler
// that is told of nothing. So a timer that is set is left alone, and when it runs out too early it
// is set once more.
struct Delay::State final : std::enable_shared_from_this<State> {
  using Time = asio::steady_timer::time_point;

  explicit State(const asio::any_io_executor& executor) : timer(executor) {}

  void arm() {
    const uint64_t round = ++rounds;
    armed_for = at;
    timer.expires_at(at);
    timer.async_wait([weak = weak_from_this(), round](const boost::system::error_code& cancelled) {
      const auto state = weak.lock();
      if (!cancelled && state && state->rounds == round) state->on_time();
    });
  }

  void on_time() {
    armed_for.reset();
    if (!then) return;
    if (asio::steady_timer::clock_type::now() < at) return arm();
    const auto now = std::exchange(then, nullptr);
    now();
  }

  void forget() {
    then = nullptr;
    ++rounds;
    armed_for.reset();
    timer.cancel();
  }

  asio::steady_timer timer;
  std::function<void()> then;
  Time at{};
  std::optional<Time> armed_for;
  uint64_t rounds =
      0;  // a timer that has run out already cannot be cancelled, only not be listened to
};

Delay::Delay(const asio::any_io_executor& executor) : state_(std::make_shared<State>(executor)) {}

Delay::~Delay() { state_->forget(); }

void Delay::after(Micros time, std::function<void()> then) {
  State& state = *state_;
  if (time.count() == 0) {
    state.forget();
    return then();
  }
  state.then = std::move(then);
  state.at = asio::steady_timer::clock_type::now() + time;
  if (!state.armed_for || state.at < *state.armed_for) state.arm();
}

}  // namespace atl
