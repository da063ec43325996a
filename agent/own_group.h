// What the control group of a container tells of it: what it uses, and how many of its processes
// the kernel has killed for want of memory.
//
// Only where the agent is the first process: /sys/fs/cgroup shows the container's own group there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace atl::agent {

// 0 when nobody tells.
uint64_t count_oom_kills();

struct OwnUse {
  uint64_t memory_bytes = 0;  // all that counts against its limit, files in memory too
  std::optional<uint64_t> cpu_us;
};

// Nothing when the kernel does not tell.
std::optional<OwnUse> find_own_use();
// The same of groups that are mounted at `root`, as either version of control groups has them.
std::optional<OwnUse> read_own_use(const std::string& root);

}  // namespace atl::agent
