// PoolDemand: how many sandboxes a pool should have ready, from what it was asked for.
//
// While the pool is in use it keeps its target, or as many as were asked for within the last ten
// seconds if those are more, up to its max. The level rises at once, and falls only when it was not
// needed for the pool's idle time; with no request at all for so long it falls to min.
#pragma once

#include <algorithm>
#include <deque>

#include "base/clock.h"
#include "policy/pool_settings.h"

namespace atl {

class PoolDemand final {
 public:
  static constexpr Micros kWindow = std::chrono::seconds(10);

  // A new pool counts as asked for: it is filled to its target.
  PoolDemand(policy::PoolSettings settings, Micros now);

  const policy::PoolSettings& settings() const { return settings_; }
  void change(policy::PoolSettings settings, Micros now);

  // Somebody has asked for a sandbox of the pool, whether there was one or not.
  void note_request(Micros now);
  // How many should be ready.
  size_t level(Micros now);
  // When the level may fall, if nothing happens.
  Micros looks_at() const { return std::min(needed_at_, asked_at_) + idle(); }

 private:
  Micros idle() const { return std::chrono::seconds(settings_.idle_s); }
  bool is_quiet(Micros now) const { return asked_at_ + idle() <= now; }
  int64_t needed(Micros now);

  policy::PoolSettings settings_;
  std::deque<Micros> requests_;  // of the window, at most max
  Micros asked_at_;              // last
  int64_t level_;
  Micros needed_at_;  // when as many as `level_` were needed last
};

}  // namespace atl
