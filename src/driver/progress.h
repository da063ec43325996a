// Progress: how far something is that takes its time while a sandbox is made.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace atl {

struct Progress {
  std::string stage;   // "pull", "load"
  uint64_t done = 0;   // bytes
  uint64_t total = 0;  // as far as it is known; may grow
  bool is_over = false;
};

// Called on the core loop; empty when nobody cares.
using ProgressListener = std::function<void(const Progress& progress)>;

}  // namespace atl
