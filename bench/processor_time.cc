#include "bench/processor_time.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace atl::bench {
namespace {

// Microseconds in which some processor did something.
double machine_micros() {
  std::ifstream file("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softirq = 0, steal = 0;
  file >> name >> user >> nice >> system >> idle >> waiting >> irq >> softirq >> steal;
  if (!file || name != "cpu") std::abort();
  return (user + nice + system + irq + softirq + steal) * 1e6 /
         static_cast<double>(sysconf(_SC_CLK_TCK));
}

double children_micros() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

}  // namespace

void ProcessorTime::begin_burst() {
  from_ = machine_micros();
  children_from_ = children_micros();
}

void ProcessorTime::end_burst(int pause_ms) {
  const double ended = machine_micros();
  bursts_.micros.push_back(ended - from_);
  children_.micros.push_back(children_micros() - children_from_);
  poll(nullptr, 0, pause_ms);
  pauses_.micros.push_back(machine_micros() - ended);
}

}  // namespace atl::bench
