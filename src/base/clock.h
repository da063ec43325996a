// Time as a parameter, so that tests can move it (fake_clock.h).
#pragma once

#include <chrono>
#include <string>

namespace atl {

using Millis = std::chrono::milliseconds;
using Micros = std::chrono::microseconds;

// Wall time, for people and for the store.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Millis>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime wall() const = 0;
  // Since boot, counting suspended time: what a TTL is measured on, because nobody can set it.
  virtual Micros boot() const = 0;
};

// The real one; it has no state, so one for everybody is no hidden coupling.
const Clock& system_clock();

// "2026-11-15T07:43:48.120Z"
std::string to_rfc3339(WallTime time);

}  // namespace atl
