// What a profile does to a sandbox before anybody gets it.
//
// First the steps of `setup`, one after the other; then what it `requires` must be there; then
// `readiness` is asked until it says yes. What fails is told with its last words, and there is no
// sandbox.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/requirement.h"

namespace atl::policy {

inline constexpr size_t kMostSteps = 32;
inline constexpr size_t kMostRequirements = 64;
inline constexpr size_t kLongestCommand = 16 * 1024;

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
  std::optional<std::vector<SetupStep>> setup;
  std::optional<std::vector<Requirement>> requires_;
  std::optional<Readiness> readiness;

  bool is_empty() const {
    return (!setup || setup->empty()) && (!requires_ || requires_->empty()) && !readiness;
  }
  bool operator==(const Startup&) const = default;
};

}  // namespace atl::policy
