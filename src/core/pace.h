// Pace: how often something happens, as seen lately; for telling people when to come again.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace atl {

class Pace final {
 public:
  void note(Micros now) {
    if (last_.count() != 0) {
      const double seen = std::chrono::duration<double>(now - last_).count();
      // Each counts as much as the four before it together, nearly.
      seconds_ = has_seen_two_ ? seconds_ + (seen - seconds_) / 4 : seen;
      has_seen_two_ = true;
    }
    last_ = now;
  }

  // How long until it has happened `times` times more, from 1 second to `kLongest`. Silence that is
  // longer than the pace is the pace. Where nothing is known, the shortest: whoever tries teaches.
  std::chrono::seconds until(Micros now, double times) const {
    if (!has_seen_two_) return std::chrono::seconds(1);
    const double silence = std::chrono::duration<double>(now - last_).count();
    const double wait = std::max(seconds_, silence) * std::max(times, 1.0);
    const double most = static_cast<double>(kLongest.count());
    return std::chrono::ceil<std::chrono::seconds>(
        std::chrono::duration<double>(std::clamp(wait, 0.001, most)));
  }

  static constexpr std::chrono::seconds kLongest{300};

 private:
  Micros last_{0};
  double seconds_ = 0;
  bool has_seen_two_ = false;
};

}  // namespace atl
