#include "core/start_estimate.h"

#include <algorithm>

namespace atl {
namespace {

constexpr int kMostSamples = 16;
constexpr Micros kFreshFor = std::chrono::minutes(10);
// One create that hung must not decide for the rest of them.
constexpr double kLongestMs = 60'000;

}  // namespace

bool StartEstimate::is_fresh() const { return samples_ > 0 && clock_->boot() - last_ <= kFreshFor; }

void StartEstimate::add(Micros took, double declared_ms) {
  if (!is_fresh()) {
    mean_ms_ = declared_ms;
    weight_ = declared_ms > 0 ? 1 : 0;
    samples_ = 0;
  }
  const double ms = std::min(kLongestMs, static_cast<double>(took.count()) / 1'000);
  weight_ = std::min(weight_ + 1, kMostSamples);
  mean_ms_ += (ms - mean_ms_) / weight_;
  samples_ = std::min(samples_ + 1, kMostSamples);
  last_ = clock_->boot();
}

std::optional<double> StartEstimate::measured_ms() const {
  return is_fresh() ? std::optional(mean_ms_) : std::nullopt;
}

int StartEstimate::samples() const { return is_fresh() ? samples_ : 0; }

}  // namespace atl
