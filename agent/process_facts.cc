// What the process table tells of its commands, and of the sandbox as a whole.
#include <sys/resource.h>

#include <algorithm>

#include "agent/own_group.h"
#include "agent/process_table.h"
#include "agent/usage.h"
#include "guest/frame.h"

namespace atl::agent {

guest::ProcessRow ProcessTable::row_of(const Process& process) const {
  guest::ProcessRow row = process.row;
  row.process = process.id;
  row.pid = static_cast<uint32_t>(process.pid);
  row.running = !process.reaped;
  row.stdout_first = process.streams[0].ring.first();
  row.stdout_end = process.streams[0].ring.end();
  row.stderr_first = process.streams[1].ring.first();
  row.stderr_end = process.streams[1].ring.end();
  return row;
}

std::vector<guest::ProcessRow> ProcessTable::rows() const {
  std::vector<guest::ProcessRow> rows;
  // Newest last; with kMostRunning and kMostFinished entries of a few kilobytes at most they fit
  // one frame by far, unless every command line is at its longest, and then the oldest are left
  // out.
  size_t bytes = 0;
  for (auto it = processes_.rbegin(); it != processes_.rend() && bytes < guest::kLargestBody / 2;
       ++it) {
    if (it->second->is_tool) continue;
    rows.push_back(row_of(*it->second));
    for (const auto& argument : rows.back().argv) bytes += argument.size() + 4;
    bytes += 256 + rows.back().cwd.size();
  }
  std::ranges::reverse(rows);
  return rows;
}

guest::Stats ProcessTable::stats() const {
  guest::Stats stats = groups_.available() ? groups_.stats() : usage_of_descendants();
  if (!groups_.available()) {
    // Files in memory belong to no process, and count against a container's limit all the same.
    const auto own = find_own_use();
    if (own) stats.memory_bytes = own->memory_bytes;
    stats.cpu_us = own && own->cpu_us ? *own->cpu_us : stats.cpu_us + finished_cpu_us_;
  }
  stats.age_us = static_cast<uint64_t>((system_clock().boot() - born_).count());
  return stats;
}

WorkUsage ProcessTable::work_usage() const {
  if (groups_.available()) return groups_.work_usage();
  const guest::Stats now = stats();
  WorkUsage usage{.processes = now.processes, .cpu_us = now.cpu_us};
  usage.memory.used = usage.memory.active_anon = now.memory_bytes;
  rusage finished{};
  getrusage(RUSAGE_CHILDREN, &finished);
  usage.cpu_user_part = micros_of(finished.ru_utime);
  usage.cpu_system_part = micros_of(finished.ru_stime);
  return usage;
}

}  // namespace atl::agent
