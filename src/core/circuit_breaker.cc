#include "core/circuit_breaker.h"

#include <algorithm>
#include <array>

#include "base/ids.h"

namespace atl {

Micros with_jitter(Micros time) {
  std::array<uint8_t, 2> bytes{};
  fill_random(bytes);
  const double share = (bytes[0] * 256 + bytes[1]) / 65'535.0;  // 0 to 1
  return Micros(static_cast<int64_t>(static_cast<double>(time.count()) * (0.8 + 0.4 * share)));
}

std::optional<CircuitBreaker::Pass> CircuitBreaker::begin() {
  if (!until_) return Pass{};
  if (!may_pass()) return std::nullopt;
  has_trial_ = true;
  return Pass{.is_trial = true};
}

void CircuitBreaker::end(Pass pass, Outcome outcome) {
  if (pass.is_trial) {
    has_trial_ = false;
  } else if (until_) {
    return;  // it began before the circuit opened, and says nothing new
  }
  if (outcome == Outcome::says_nothing) return;
  if (outcome == Outcome::worked) {
    failures_ = 0;
    openings_ = 0;
    until_.reset();
    return;
  }
  ++failures_;
  if (pass.is_trial || failures_ >= options_.failures) open();
}

void CircuitBreaker::end_pause() {
  if (until_) until_ = std::min(*until_, clock_->boot());
}

void CircuitBreaker::open() {
  Micros pause = options_.first_pause;
  for (int i = 0; i < openings_ && pause < options_.longest_pause; ++i) pause *= 2;
  ++openings_;
  until_ = clock_->boot() + with_jitter(std::min(pause, options_.longest_pause));
}

Circuit CircuitBreaker::state() const {
  if (!until_) return Circuit::closed;
  return clock_->boot() < *until_ ? Circuit::open : Circuit::half_open;
}

bool CircuitBreaker::may_pass() const {
  const Circuit now = state();
  return now == Circuit::closed || (now == Circuit::half_open && !has_trial_);
}

Micros CircuitBreaker::remaining() const {
  return state() == Circuit::open ? *until_ - clock_->boot() : Micros(0);
}

}  // namespace atl
