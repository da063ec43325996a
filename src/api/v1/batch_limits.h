// How large one batch of runs may be.
#pragma once

#include <cstddef>
#include <cstdint>

namespace atl::api::v1 {

inline constexpr size_t kMostBatchJson = size_t{32} << 20;
inline constexpr size_t kMostRuns = 10'000;
inline constexpr int64_t kMostAtOnce = 256;
inline constexpr int64_t kMostAttempts = 10;

}  // namespace atl::api::v1
