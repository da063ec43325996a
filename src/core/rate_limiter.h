// How often somebody may do something: a bucket of tokens for each, which fills again with time.
//
// Lives on the core loop. Takes no more memory than for `most` buckets: full ones are forgotten,
// since a new one is full too, and beyond that all newcomers share one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"

namespace atl {

struct Rate {
  double per_second = 0;  // 0 = no limit
  double burst = 0;       // how many at once, after a pause
};

class RateLimiter final {
 public:
  // `clock` outlives the limiter.
  RateLimiter(const Clock& clock, Rate rate, size_t most = 10'000);

  // Takes one of `who`'s; nullopt is a yes, otherwise how long it takes until there is another.
  std::optional<Micros> take(std::string_view who) { return take(who, rate_, 1); }
  // The same for several at once, of somebody with a rate of their own. More than a burst are given
  // when there is a whole one, and paid for afterwards.
  std::optional<Micros> take(std::string_view who, Rate rate, double count);

  const Rate& rate() const { return rate_; }
  size_t size() const { return buckets_.size(); }

 private:
  struct Bucket {
    double tokens = 0;
    Micros filled_at{0};
    Rate rate;
  };

  Bucket& find(std::string_view who, Rate rate, Micros now);
  static double tokens_at(const Bucket& bucket, Micros now);

  const Clock& clock_;
  const Rate rate_;
  const size_t most_;
  std::unordered_map<std::string, Bucket> buckets_;
  Bucket shared_;
};

}  // namespace atl
