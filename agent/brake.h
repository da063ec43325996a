// Whether a command does nothing but run against a limit of its sandbox, and is to be slowed down:
// one that has all the processes there may be and goes on forking, or whose processes are killed
// for their memory again and again. The kernel holds both, but every attempt takes time from
// everybody else on the host, in locks and in memory that is filled and freed.
//
// The brake lasts longer each time that it was let go in vain. A command that has fewer processes
// again is let go at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/clock.h"

namespace atl::agent {

class Brake final {
 public:
  static constexpr int kFullLooks = 3;
  static constexpr uint64_t kKills = 3;
  static constexpr Micros kKillSpan = Millis(2'000);
  static constexpr Micros kFirst = Millis(10'000);
  static constexpr Micros kLongest = Millis(320'000);
  // So long a command must go without it for the next time to be the first again.
  static constexpr Micros kForgiven = Millis(60'000);

  struct Sight {
    Micros at{0};
    bool is_full = false;  // the sandbox has as many processes as it may have
    uint64_t cpu_user_us = 0, cpu_system_us = 0;
    uint64_t kills = 0;  // for want of memory
  };

  // Returns whether it is on from now on.
  bool look(Sight sight) {
    // What only grows and is less than before could not be read.
    sight.cpu_user_us = std::max(sight.cpu_user_us, last_.cpu_user_us);
    sight.cpu_system_us = std::max(sight.cpu_system_us, last_.cpu_system_us);
    sight.kills = std::max(sight.kills, last_.kills);
    const Sight before = std::exchange(last_, sight);
    if (before.at.count() == 0) return false;
    if (on_) {
      on_ = sight.at < until_ && (!for_processes_ || sight.is_full);
      if (!on_) {
        released_ = sight.at;
        full_looks_ = 0;
        kills_ = 0;
      }
      return on_;
    }
    const uint64_t user = sight.cpu_user_us - before.cpu_user_us;
    const uint64_t system = sight.cpu_system_us - before.cpu_system_us;
    busy_ = (user + system) * 4 > static_cast<uint64_t>((sight.at - before.at).count());
    // Who works with its processes uses more time outside of the kernel than in it.
    full_looks_ = sight.is_full && busy_ && system > user ? full_looks_ + 1 : 0;
    if (sight.at - kills_since_ > kKillSpan) {
      kills_since_ = sight.at;
      kills_ = 0;
    }
    kills_ += sight.kills - before.kills;
    if (full_looks_ < kFullLooks && kills_ < kKills) return false;
    on_ = true;
    for_processes_ = full_looks_ >= kFullLooks;
    const bool again = released_.count() > 0 && sight.at - released_ < kForgiven;
    lasts_ = again ? std::min(lasts_ * 2, kLongest) : kFirst;
    until_ = sight.at + lasts_;
    return true;
  }

  bool is_on() const { return on_; }
  // It does something, so that it may become a reason.
  bool is_busy() const { return busy_ || kills_ > 0; }

 private:
  Sight last_;
  bool on_ = false;
  bool busy_ = false;
  bool for_processes_ = false;
  int full_looks_ = 0;
  uint64_t kills_ = 0;
  Micros kills_since_{0};
  Micros until_{0}, released_{0}, lasts_{0};
};

}  // namespace atl::agent
