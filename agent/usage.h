// What everything below the agent uses right now, as /proc tells.
#pragma once

#include <sys/time.h>

#include "guest/protocol.h"

namespace atl::agent {

// Processes, processor time and resident memory; shared pages count for each process that has them.
guest::Stats usage_of_descendants();

inline uint64_t micros_of(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_usec);
}

}  // namespace atl::agent
