// Outside: what a program finds out from the kernel and no seed decides, decided by the seed.
//
// Ids come from getrandom(), and order things in maps; timers go by the monotonic clock. Both are
// replaced in this program, so that a life depends on its seed alone, on a busy machine, too.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace atl::simulation::outside {

// A new life: other ids.
void begin(uint64_t seed);
// What timers go by from now on.
void set_time(Micros boot, WallTime wall);
// The real one, for saying how long all took.
double seconds();
// How long this process has had a processor.
double processor_seconds();

}  // namespace atl::simulation::outside
