// StartEstimate: how long a driver takes to create a sandbox, as this daemon has seen it lately.
//
// A mean that forgets: what the driver declares counts as the first sample, and from the 16th on
// each new one counts a sixteenth. What is older than ten minutes is forgotten whole, so that a
// driver which was slow once is tried again.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace atl {

class StartEstimate final {
 public:
  // `clock` outlives it.
  explicit StartEstimate(const Clock& clock) : clock_(&clock) {}

  // `declared_ms` as in Capabilities; zero = nothing is declared.
  void add(Micros took, double declared_ms);
  // Nullopt when nothing was measured lately.
  std::optional<double> measured_ms() const;
  // How many creates that is of; no more than the 16 that it remembers.
  int samples() const;

 private:
  bool is_fresh() const;

  const Clock* clock_;
  double mean_ms_ = 0;
  int weight_ = 0;  // of the mean, in samples
  int samples_ = 0;
  Micros last_{0};
};

}  // namespace atl
