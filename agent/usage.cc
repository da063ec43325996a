#include "agent/usage.h"

#include <unistd.h>

#include "agent/process_tree.h"
#include "os/process.h"

namespace atl::agent {

guest::Stats usage_of_descendants() {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const auto ticks_per_second = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  guest::Stats stats;
  for (const pid_t pid : descendants()) {
    const auto process = os::find_process(pid);
    if (!process || process->state == 'Z') continue;
    ++stats.processes;
    stats.memory_bytes += process->resident_pages * page;
    stats.cpu_us += process->cpu_ticks * 1'000'000 / ticks_per_second;
  }
  return stats;
}

}  // namespace atl::agent
