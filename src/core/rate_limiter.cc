#include "core/rate_limiter.h"

#include <algorithm>

namespace atl {

RateLimiter::RateLimiter(const Clock& clock, Rate rate, size_t most)
    : clock_(clock), rate_(rate), most_(most), shared_{rate.burst, clock.boot()} {}

double RateLimiter::tokens_at(const Bucket& bucket, Micros now) const {
  const double seconds = std::chrono::duration<double>(now - bucket.filled_at).count();
  return std::min(rate_.burst, bucket.tokens + seconds * rate_.per_second);
}

RateLimiter::Bucket& RateLimiter::find(std::string_view who, Micros now) {
  const std::string name(who);
  if (const auto found = buckets_.find(name); found != buckets_.end()) return found->second;
  if (buckets_.size() >= most_) {
    std::erase_if(buckets_,
                  [&](const auto& entry) { return tokens_at(entry.second, now) >= rate_.burst; });
  }
  if (buckets_.size() >= most_) return shared_;
  return buckets_.emplace(name, Bucket{rate_.burst, now}).first->second;
}

std::optional<Micros> RateLimiter::take(std::string_view who) {
  if (rate_.per_second <= 0) return std::nullopt;
  const Micros now = clock_.boot();
  Bucket& bucket = find(who, now);
  bucket.tokens = tokens_at(bucket, now);
  bucket.filled_at = now;
  if (bucket.tokens >= 1) {
    bucket.tokens -= 1;
    return std::nullopt;
  }
  const std::chrono::duration<double> wait((1 - bucket.tokens) / rate_.per_second);
  return std::chrono::ceil<Micros>(wait);
}

}  // namespace atl
