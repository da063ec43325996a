#include "core/retry_budget.h"

#include <algorithm>

namespace atl {

RetryBudget::RetryBudget(const Clock& clock, RetryOptions options)
    : clock_(clock), options_(options), tokens_(options.most), refilled_at_(clock.boot()) {}

void RetryBudget::note_request() {
  tokens_ = std::min(options_.most, tokens_ + options_.per_request);
}

bool RetryBudget::take() {
  refill();
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

void RetryBudget::refill() {
  const Micros now = clock_.boot();
  const double passed = std::chrono::duration<double>(now - refilled_at_).count();
  refilled_at_ = now;
  if (passed > 0) tokens_ = std::min(options_.most, tokens_ + passed * options_.per_second);
}

}  // namespace atl
