#include "core/pool_demand.h"

#include <algorithm>

namespace atl {

PoolDemand::PoolDemand(policy::PoolSettings settings, Micros now)
    : settings_(settings), asked_at_(now), level_(settings.target), needed_at_(now) {}

void PoolDemand::change(policy::PoolSettings settings, Micros now) {
  settings_ = settings;
  asked_at_ = now;
  needed_at_ = now;
  level_ = needed(now);
}

void PoolDemand::note_request(Micros now) {
  requests_.push_back(now);
  asked_at_ = now;
  level(now);
}

int64_t PoolDemand::needed(Micros now) {
  const auto most = static_cast<size_t>(settings_.max);
  while (!requests_.empty() && (requests_.size() > most || requests_.front() + kWindow <= now)) {
    requests_.pop_front();
  }
  const auto asked = static_cast<int64_t>(requests_.size());
  return std::max(asked, is_quiet(now) ? settings_.min : settings_.target);
}

size_t PoolDemand::level(Micros now) {
  const int64_t need = needed(now);
  if (need >= level_ || is_quiet(now) || needed_at_ + idle() <= now) {
    level_ = need;
    needed_at_ = now;
  }
  return static_cast<size_t>(level_);
}

}  // namespace atl
