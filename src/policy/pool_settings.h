// PoolSettings: how many sandboxes a pool keeps ready, and for how long.
//
//   pool: {min: 1, target: 2, max: 8, idle: 10m, max_age: 1h}
#pragma once

#include <cstdint>
#include <optional>

#include <boost/describe/class.hpp>

#include "base/result.h"
#include "json/describe.h"

namespace atl::policy {

inline constexpr int64_t kLargestPool = 256;
inline constexpr int64_t kLongestPoolTime = int64_t{7} * 24 * 3600;  // in seconds
inline constexpr int64_t kShortestPoolAge = 10;                      // in seconds

// As somebody has written them; what is absent has a default.
struct PoolAsk {
  static constexpr auto kRequired = json::required();

  std::optional<int64_t> min;
  std::optional<int64_t> target;
  std::optional<int64_t> max;
  std::optional<int64_t> idle_s;
  std::optional<int64_t> max_age_s;

  bool operator==(const PoolAsk&) const = default;
};
BOOST_DESCRIBE_STRUCT(PoolAsk, (), (min, target, max, idle_s, max_age_s))

// As they hold: 0 <= min <= target <= max, and max is at least 1.
struct PoolSettings {
  int64_t min = 0;           // so many are ready, however quiet it is
  int64_t target = 1;        // so many while the pool is in use
  int64_t max = 1;           // so many when more is asked for
  int64_t idle_s = 600;      // what was not needed for so long is given back
  int64_t max_age_s = 3600;  // a sandbox that waited longer is replaced

  bool operator==(const PoolSettings&) const = default;
};
BOOST_DESCRIBE_STRUCT(PoolSettings, (), (min, target, max, idle_s, max_age_s))

// Code::invalid_argument, beginning with the field.
Result<PoolSettings> settle(const PoolAsk& ask);
// What `ask` does not say is as it was.
PoolAsk merge(const PoolAsk& was, const PoolAsk& ask);

}  // namespace atl::policy
