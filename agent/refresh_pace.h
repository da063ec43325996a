// When a file that shows the present is written again: soon after somebody has read it or a command
// has begun, never often, and not at all while nobody looks.
//
// Whoever reads sees what was written for the reader before, so a reader that comes back is
// followed for a while: it finds text that is a second old at most. A reader that comes without a
// pause gets new text twenty times a second. Where one writing is dear, there is more time between
// two of them: it never costs more than a twentieth of a processor. Once the first command is over
// there is usually nobody left, because a run is over with it, so that can wait a little longer.
#pragma once

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace atl::agent {

class RefreshPace final {
 public:
  static constexpr Micros kGap = Millis(50);
  static constexpr Micros kCommandGap = Millis(100);
  static constexpr Micros kFirstDelay = Millis(3);
  static constexpr Micros kLastDelay = Millis(200);
  static constexpr Micros kFollowGap = Millis(1000);
  static constexpr Micros kFollowed = Millis(5000);
  static constexpr int kCheapness = 20;

  // The watch has told of a reader, and tells of no other until it is armed again.
  void was_read(Micros now) {
    armed_ = false;
    wanted_ = true;
    follow_until_ = now + kFollowed;
  }
  void command_began(Micros now) {
    if (now >= last_ + std::max(kCommandGap, gap_)) wanted_ = true;
  }
  // Nothing has run here yet, so what was written is nearly true: the command is not held up.
  void first_command_began(Micros now) {
    wanted_ = is_first_ = true;
    not_before_ = now + kFirstDelay;
  }
  void nothing_runs(Micros now) {
    if (std::exchange(is_first_, false)) not_before_ = now + kLastDelay;
  }
  void was_written(Micros now, Micros cost) {
    last_ = now;
    gap_ = std::clamp(cost * kCheapness, kGap, kFollowGap);
    wanted_ = is_first_ = false;
  }
  void was_armed() { armed_ = true; }

  bool should_write(Micros now) const {
    return (wanted_ && now >= soonest()) || (follows(last_) && now >= last_ + kFollowGap);
  }
  bool should_arm(Micros now) const { return !armed_ && !wanted_ && now >= soonest(); }
  // When one of the two may become true by itself; zero = never.
  Micros next() const {
    if (wanted_ || !armed_) return soonest();
    return follows(last_) ? last_ + kFollowGap : Micros(0);
  }

 private:
  bool follows(Micros from) const { return from + kFollowGap <= follow_until_; }

  Micros soonest() const { return std::max(last_ + gap_, not_before_); }

  Micros last_{0};
  Micros not_before_{0};
  Micros gap_ = kGap;
  Micros follow_until_{0};
  bool wanted_ = true;
  bool is_first_ = false;  // command, and nothing was written since it began
  bool armed_ = false;
};

}  // namespace atl::agent
