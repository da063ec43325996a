#include "base/time_words.h"

#include <cstdint>
#include <utility>

namespace atl {

std::string in_words(std::chrono::milliseconds time) {
  constexpr std::pair<int64_t, std::string_view> kUnits[] = {
      {86'400'000, "day"}, {3'600'000, "hour"}, {60'000, "minute"}, {1'000, "second"}};
  for (const auto& [length, unit] : kUnits) {
    if (time.count() == 0 || time.count() % length != 0) continue;
    const int64_t count = time.count() / length;
    return std::to_string(count) + " " + std::string(unit) + (count == 1 ? "" : "s");
  }
  return std::to_string(time.count()) + " ms";
}

std::string too_long(std::chrono::milliseconds asked, std::chrono::milliseconds most,
                     std::string_view what) {
  return in_words(asked) + " is longer than the " + in_words(most) + " that " + std::string(what);
}

}  // namespace atl
