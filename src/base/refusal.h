// Refusal: what programs are told of an error beside its code: which limit was met and when to come
// again, and how far the start of a sandbox came. Error's words say the same to people.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace atl {

// A step of a start, as telemetry::Stage has it.
struct StartStage {
  std::string name;
  double ms = 0;
  std::optional<std::string> log;  // why it failed, or what was said meanwhile
};

struct Refusal {
  std::string limit;  // "memory_mb", "at_once", "queue": as GET /v1/limits calls it; "" = none
  std::optional<double> most;
  std::optional<double> used;
  std::optional<double> asked;
  std::optional<uint64_t> queue_position;  // of a request that was waiting, 1 is the next
  std::optional<uint64_t> queue_length;
  std::chrono::seconds retry_after{1};
  // Of a sandbox that could not be made: what it was called, and its stages, the failed one last.
  std::string sandbox;  // "" = it was not about one
  std::vector<StartStage> stages;
};

}  // namespace atl
