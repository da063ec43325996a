// Progress: how far something is that takes its time while a sandbox is made.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace atl {

struct Progress {
  std::string stage;   // "image", "pull", "load", "boot": see docs/sessions.md
  uint64_t done = 0;   // bytes
  uint64_t total = 0;  // as far as it is known; may grow
  bool is_over = false;
  std::string log = {};  // of a stage that is over: what was made or found, in one line
};

// Called on the core loop; empty when nobody cares.
using ProgressListener = std::function<void(const Progress& progress)>;

// A stage begins, or is over.
inline void begin_stage(const ProgressListener& listener, const char* stage) {
  if (listener) listener({.stage = stage});
}
inline void end_stage(const ProgressListener& listener, const char* stage, std::string log = {}) {
  if (listener) listener({.stage = stage, .is_over = true, .log = std::move(log)});
}

}  // namespace atl
