// How many processes of a container the kernel has killed for want of memory.
//
// Only where the agent is the first process: /sys/fs/cgroup shows the container's own group there.
#pragma once

#include <cstdint>

namespace atl::agent {

// 0 when nobody tells.
uint64_t count_oom_kills();

}  // namespace atl::agent
