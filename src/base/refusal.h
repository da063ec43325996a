// Refusal: which limit was met, and when to come again, for programs; Error's words say the same to
// people.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace atl {

struct Refusal {
  std::string limit;  // "memory_mb", "at_once", "queue": as GET /v1/limits calls it
  std::optional<double> most;
  std::optional<double> used;
  std::optional<double> asked;
  std::optional<uint64_t> queue_position;  // of a request that was waiting, 1 is the next
  std::optional<uint64_t> queue_length;
  std::chrono::seconds retry_after{1};
};

}  // namespace atl
