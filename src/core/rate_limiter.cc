#include "core/rate_limiter.h"

#include <algorithm>

namespace atl {

RateLimiter::RateLimiter(const Clock& clock, Rate rate, size_t most)
    : clock_(clock), rate_(rate), most_(most), shared_{rate.burst, clock.boot(), rate} {}

double RateLimiter::tokens_at(const Bucket& bucket, Micros now) {
  const double seconds = std::chrono::duration<double>(now - bucket.filled_at).count();
  return std::min(bucket.rate.burst, bucket.tokens + seconds * bucket.rate.per_second);
}

RateLimiter::Bucket& RateLimiter::find(std::string_view who, Rate rate, Micros now) {
  const std::string name(who);
  if (const auto found = buckets_.find(name); found != buckets_.end()) return found->second;
  if (buckets_.size() >= most_) {
    std::erase_if(buckets_, [&](const auto& entry) {
      return tokens_at(entry.second, now) >= entry.second.rate.burst;
    });
  }
  if (buckets_.size() >= most_) {
    shared_.rate = rate;
    return shared_;
  }
  return buckets_.emplace(name, Bucket{rate.burst, now, rate}).first->second;
}

std::optional<Micros> RateLimiter::take(std::string_view who, Rate rate, double count) {
  if (rate.per_second <= 0) return std::nullopt;
  const Micros now = clock_.boot();
  Bucket& bucket = find(who, rate, now);
  bucket.tokens = tokens_at(bucket, now);
  bucket.filled_at = now;
  const double needed = std::min(count, rate.burst);
  if (bucket.tokens >= needed) {
    bucket.tokens -= count;
    return std::nullopt;
  }
  const std::chrono::duration<double> wait((needed - bucket.tokens) / rate.per_second);
  return std::chrono::ceil<Micros>(wait);
}

}  // namespace atl
