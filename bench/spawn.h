// The peer of every exec figure: posix_spawn of the same program and waiting for it. The strictest
// one: it collects no output, which the measured side does.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace atl::bench {

// Microseconds from before posix_spawn to after waitpid.
double spawn_true();
// The same of any command, its output thrown away.
double spawn_and_wait(const std::vector<std::string>& command);

// Prints {"name": [samples…], …} for bench/run to read.
struct Series {
  const char* name;
  std::vector<double> micros;
};
void print(const std::vector<Series>& all);

inline double micros_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace atl::bench
