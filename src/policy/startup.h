// What a profile does to a sandbox before anybody gets it, and before it stops.
//
// First `dependencies` are installed; then the steps of `setup`, one after the other; then what it
// `requires` must be there; then the hooks `after_start`; then `readiness` is asked until it says
// yes. What fails is told with its last words, and there is no sandbox. The hooks `before_stop`
// keep nothing from stopping.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/dependencies.h"
#include "policy/requirement.h"

namespace atl::policy {

inline constexpr size_t kMostSteps = 32;
inline constexpr size_t kMostRequirements = 64;
inline constexpr size_t kMostHooks = 8;  // of a moment
inline constexpr size_t kLongestCommand = 16 * 1024;
inline constexpr int64_t kUsualHookMs = 30 * 1000;
inline constexpr int64_t kLongestHooksMs = 10 * 60 * 1000;  // of a moment, together

struct SetupStep {
  std::string command;  // for `sh -c`
  int64_t timeout_ms = 10 * 60 * 1000;

  bool operator==(const SetupStep&) const = default;
};

// A command that ends with 0, or a port that somebody listens on; one of the two.
struct Readiness {
  std::string command;
  std::optional<uint16_t> port;
  int64_t interval_ms = 250;
  int64_t timeout_ms = 60 * 1000;

  bool operator==(const Readiness&) const = default;
};

struct Startup {
  std::optional<Dependencies> dependencies;
  std::optional<Layer> layer;  // absent = dependencies
  std::optional<std::vector<SetupStep>> setup;
  std::optional<std::vector<Requirement>> requires_;
  std::optional<std::vector<SetupStep>> after_start;  // whenever its processes begin
  std::optional<std::vector<SetupStep>> before_stop;  // while they still run
  std::optional<Readiness> readiness;

  bool is_empty() const {
    const auto has = [](const auto& list) { return list && !list->empty(); };
    return (!dependencies || dependencies->is_empty()) && !has(setup) && !has(requires_) &&
           !has(after_start) && !has(before_stop) && !readiness;
  }
  // How long the hooks before a stop may take, together.
  int64_t stop_ms() const {
    int64_t sum = 0;
    if (before_stop) {
      for (const SetupStep& hook : *before_stop) sum += hook.timeout_ms;
    }
    return sum;
  }
  bool operator==(const Startup&) const = default;
};

}  // namespace atl::policy
