#include "policy/pool_settings.h"

#include <algorithm>

#include "policy/written_value.h"

namespace atl::policy {
namespace {

Result<> check_range(std::string_view field, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return {};
  return wrong(field,
               "it is a number from " + std::to_string(least) + " to " + std::to_string(most));
}

}  // namespace

Result<PoolSettings> settle(const PoolAsk& ask) {
  PoolSettings settings;
  settings.min = ask.min.value_or(0);
  TRY_OK(check_range("min", settings.min, 0, kLargestPool));
  // Whoever names only the most means one until more is asked for.
  settings.target = ask.target.value_or(std::max<int64_t>(settings.min, 1));
  TRY_OK(check_range("target", settings.target, 0, kLargestPool));
  settings.max = ask.max.value_or(std::max<int64_t>(settings.target, 1));
  TRY_OK(check_range("max", settings.max, 1, kLargestPool));
  if (settings.target < settings.min) return wrong("target", "it is less than min");
  if (settings.max < settings.target) {
    return wrong("max", ask.target ? "it is less than target" : "it is less than min");
  }
  settings.idle_s = ask.idle_s.value_or(settings.idle_s);
  TRY_OK(check_range("idle_s", settings.idle_s, 1, kLongestPoolTime));
  settings.max_age_s = ask.max_age_s.value_or(settings.max_age_s);
  TRY_OK(check_range("max_age_s", settings.max_age_s, kShortestPoolAge, kLongestPoolTime));
  return settings;
}

PoolAsk merge(const PoolAsk& was, const PoolAsk& ask) {
  PoolAsk merged = was;
  const auto take = [](std::optional<int64_t>& to, const std::optional<int64_t>& from) {
    if (from) to = from;
  };
  take(merged.min, ask.min);
  take(merged.target, ask.target);
  take(merged.max, ask.max);
  take(merged.idle_s, ask.idle_s);
  take(merged.max_age_s, ask.max_age_s);
  return merged;
}

}  // namespace atl::policy
