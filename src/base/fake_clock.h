// A clock that stands still until a test moves it.
#pragma once

#include "base/clock.h"

namespace atl {

class FakeClock final : public Clock {
 public:
  WallTime wall() const override { return wall_; }
  Micros boot() const override { return boot_; }
  void advance(Micros by) {
    boot_ += by;
    wall_ += std::chrono::duration_cast<Millis>(by);
  }
  // Somebody sets the time of day; how long things take is not touched.
  void set_wall(WallTime to) { wall_ = to; }

 private:
  WallTime wall_{std::chrono::seconds(1'700'000'000)};
  Micros boot_{std::chrono::seconds(1'000)};
};

}  // namespace atl
