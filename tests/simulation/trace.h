// Trace: what happened in a life, as words for people and as one number to compare lives by.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <boost/describe/enum.hpp>

namespace atl::simulation {

// What a world does to an engine. One counts when it was injected and something has met it: what
// follows of it, like the calls that a dead driver refuses, is the same fault.
enum class Fault : uint8_t {
  daemon_killed,
  daemon_restarted,
  driver_dead,
  driver_slow,
  driver_narrowed,
  call_refused,
  answer_lost,
  link_partitioned,
  link_delayed,
  answer_late,
  request_late,
  request_twice,
  store_full,
  clock_set,
  time_passed,
  caller_gone,
  sandbox_died,
  request_storm,
};
BOOST_DESCRIBE_ENUM(Fault, daemon_killed, daemon_restarted, driver_dead, driver_slow,
                    driver_narrowed, call_refused, answer_lost, link_partitioned, link_delayed,
                    answer_late, request_late, request_twice, store_full, clock_set, time_passed,
                    caller_gone, sandbox_died, request_storm)
constexpr size_t kFaults = static_cast<size_t>(Fault::request_storm) + 1;

class Trace final {
 public:
  enum class Told : uint8_t { to_nobody, as_it_happens };

  explicit Trace(Told told) : told_(told) {}

  void say(std::string_view what) {
    add(what.size());
    std::string_view rest = what;
    while (!rest.empty()) {
      uint64_t word = 0;
      const size_t length = std::min(rest.size(), sizeof word);
      std::memcpy(&word, rest.data(), length);
      rest.remove_prefix(length);
      add(word);
    }
    if (told_ == Told::as_it_happens)
      std::printf("    %.*s\n", static_cast<int>(what.size()), what.data());
  }
  void count(Fault fault) { ++faults_[static_cast<size_t>(fault)]; }

  uint64_t hash() const { return hash_; }
  const std::array<uint64_t, kFaults>& faults() const { return faults_; }
  uint64_t fault_count() const {
    uint64_t sum = 0;
    for (const uint64_t one : faults_) sum += one;
    return sum;
  }

 private:
  // FNV-1a with words for bytes, turned so that the upper half counts in the lower one, too.
  void add(uint64_t word) { hash_ = std::rotl((hash_ ^ word) * 0x100000001b3, 29); }

  const Told told_;
  uint64_t hash_ = 0xcbf29ce484222325;
  std::array<uint64_t, kFaults> faults_{};
};

}  // namespace atl::simulation
