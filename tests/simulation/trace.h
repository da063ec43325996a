// Trace: what happened in a life, as words for people and as one number to compare lives by.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include <boost/describe/enum.hpp>

namespace atl::simulation {

// What a world does to an engine.
enum class Fault : uint8_t {
  daemon_killed,
  daemon_restarted,
  driver_dead,
  driver_slow,
  call_refused,
  answer_lost,
  store_full,
  clock_set,
  time_passed,
  caller_gone,
  sandbox_died,
  request_storm,
};
BOOST_DESCRIBE_ENUM(Fault, daemon_killed, daemon_restarted, driver_dead, driver_slow, call_refused,
                    answer_lost, store_full, clock_set, time_passed, caller_gone, sandbox_died,
                    request_storm)
constexpr size_t kFaults = static_cast<size_t>(Fault::request_storm) + 1;

class Trace final {
 public:
  enum class Told : uint8_t { to_nobody, as_it_happens };

  explicit Trace(Told told) : told_(told) {}

  void say(std::string_view what) {
    // FNV-1a.
    for (const char one : what) hash_ = (hash_ ^ static_cast<unsigned char>(one)) * 0x100000001b3;
    hash_ = (hash_ ^ '\n') * 0x100000001b3;
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
  const Told told_;
  uint64_t hash_ = 0xcbf29ce484222325;
  std::array<uint64_t, kFaults> faults_{};
};

}  // namespace atl::simulation
