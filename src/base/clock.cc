#include "base/clock.h"

#include <time.h>

namespace atl {
namespace {

Micros read_clock(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return std::chrono::seconds(now.tv_sec) +
         std::chrono::duration_cast<Micros>(std::chrono::nanoseconds(now.tv_nsec));
}

class SystemClock final : public Clock {
 public:
  WallTime wall() const override {
    return WallTime(std::chrono::duration_cast<Millis>(read_clock(CLOCK_REALTIME)));
  }
  Micros boot() const override { return read_clock(CLOCK_BOOTTIME); }
};

}  // namespace

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace atl
