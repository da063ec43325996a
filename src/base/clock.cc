#include "base/clock.h"

#include <time.h>

#include <cstdio>

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

std::string to_rfc3339(WallTime time) {
  const auto millis = time.time_since_epoch().count();
  const time_t seconds = static_cast<time_t>(millis / 1000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  const size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + length, sizeof text - length, ".%03dZ", static_cast<int>(millis % 1000));
  return text;
}

}  // namespace atl
