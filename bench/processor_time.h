// Processor time of a burst, and of the pause after it in which what the burst has taken is made
// again and what it has ended is cleared away: what is on the path of whoever waits, and what is
// off it.
//
// It is that of the whole machine, whose kernel works for sandboxes in threads of its own, in steps
// of a clock tick: a sum of many bursts says something, a single one does not.
#pragma once

#include "bench/spawn.h"

namespace atl::bench {

class ProcessorTime final {
 public:
  void begin_burst();
  // A pause of so long follows.
  void end_burst(int pause_ms);

  // Of the bursts; of what in them our own child processes used; of the pauses.
  std::vector<Series> series() const { return {bursts_, children_, pauses_}; }

 private:
  double from_ = 0, children_from_ = 0;
  Series bursts_{"burst_cpu_us", {}}, children_{"bare_cpu_us", {}}, pauses_{"pause_cpu_us", {}};
};

}  // namespace atl::bench
