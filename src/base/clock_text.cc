// The part of clock.h for people: times as text.
#include <time.h>

#include <cstdio>

#include "base/clock.h"

namespace atl {

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
