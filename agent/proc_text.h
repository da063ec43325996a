// The text of /proc/meminfo, stat and loadavg, from numbers; no I/O.
//
// The kernel's own layout: procps, libuv, the JVM and many scripts parse it by column or by line.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace atl::agent {

// Bytes.
struct MemoryUse {
  uint64_t total = 0;
  uint64_t used = 0;  // all that counts against the limit, caches too
  uint64_t active_anon = 0, inactive_anon = 0;
  uint64_t active_file = 0, inactive_file = 0;
  uint64_t cached = 0;  // files, tmpfs included
  uint64_t shared = 0;  // tmpfs and shared memory
  uint64_t mapped = 0;
  uint64_t slab_reclaimable = 0, slab_unreclaimable = 0;
  uint64_t kernel_stack = 0, page_tables = 0;
};
std::string meminfo_text(const MemoryUse& memory);

// What the sandbox used, on a machine that is as old as the host.
struct ProcessorUse {
  Micros up{0};
  Micros user{0}, system{0}, idle{0};  // of all processors together
  uint32_t processors = 1;
  int64_t booted_at_s = 0;  // wall time
  uint64_t switches = 0;
  uint64_t forks = 0;
  uint64_t running = 1;
  uint64_t tasks = 1;
  uint64_t last_pid = 1;
};
// The use is spread evenly over the processors.
std::string stat_text(const ProcessorUse& use);

// How many processors were busy, averaged over 1, 5 and 15 minutes with exponential decay. Samples
// may come at any distance: what was between two of them is taken as even.
class LoadAverage final {
 public:
  void add(Micros passed, double busy);
  double one() const { return averages_[0]; }
  double five() const { return averages_[1]; }
  double fifteen() const { return averages_[2]; }

 private:
  double averages_[3] = {0, 0, 0};
};
std::string loadavg_text(const LoadAverage& load, const ProcessorUse& use);

// Processor time in two parts, neither of which ever falls.
class SplitTime final {
 public:
  // The exact sum, and two numbers whose ratio divides it (both zero: all of it is the user's).
  void update(uint64_t total_us, uint64_t user_part, uint64_t system_part);
  Micros user() const { return Micros(user_us_); }
  Micros system() const { return Micros(total_us_ - user_us_); }

 private:
  uint64_t total_us_ = 0;
  uint64_t user_us_ = 0;
};

}  // namespace atl::agent
