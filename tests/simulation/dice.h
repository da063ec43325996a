// Dice: all chance of one simulated life, from one number. The same seed gives the same throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace atl::simulation {

class Dice final {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    // SplitMix64: every seed, zero too, gives a full sequence.
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // 0 to count - 1.
  size_t below(size_t count) { return static_cast<size_t>(next() % count); }
  bool one_in(size_t count) { return below(count) == 0; }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

 private:
  uint64_t state_;
};

}  // namespace atl::simulation
