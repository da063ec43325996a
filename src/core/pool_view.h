// Pools as people ask for them and are told of them.
//
// A pool keeps sandboxes of one kind ready: made, set up and running, and nobody's. A request for
// just such a sandbox gets one of them, as if it had been made for it (core/pool_shelf.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "driver/capabilities.h"
#include "driver/spec.h"
#include "json/describe.h"
#include "policy/pool_settings.h"

namespace atl {

inline constexpr size_t kMostPools = 100;

// What the sandboxes of a pool are like, in the words of a request. The store keeps it.
struct PoolSpec {
  static constexpr auto kRequired = json::required();

  std::string profile;  // NAME[@VERSION]; "" = none
  std::string driver;   // "" = the router's choice
  std::string image;
  std::string template_;
  std::string runtime;
  Resources resources;
  std::optional<Isolation> min_isolation;
  std::optional<Placement> placement;
  std::optional<Network> network;
  Persistence persistence = Persistence::ephemeral;
  policy::PoolAsk size;
};
BOOST_DESCRIBE_STRUCT(PoolSpec, (),
                      (profile, driver, image, template_, runtime, resources, min_isolation,
                       placement, network, persistence, size))

// Who wants the pool: a profile that has `pool`, or an administrator who has made it.
enum class PoolSource : uint8_t { profile, operators };
BOOST_DESCRIBE_ENUM(PoolSource, profile, operators)

// So many of something, and how long they took.
struct PoolTimes {
  uint64_t count = 0;
  double mean_ms = 0;
  double last_ms = 0;
};
BOOST_DESCRIBE_STRUCT(PoolTimes, (), (count, mean_ms, last_ms))

struct PoolView {
  std::string name;
  PoolSource source = PoolSource::operators;
  PoolSpec spec;
  policy::PoolSettings settings;
  size_t level = 0;        // how many should be ready
  size_t ready = 0;        // are
  size_t filling = 0;      // are being made
  PoolTimes hits;          // requests that got one, from the request to the sandbox
  PoolTimes misses;        // that found none and had one made
  PoolTimes fills;         // sandboxes that were made ahead
  uint64_t failures = 0;   // fills that came to nothing
  uint64_t discarded = 0;  // made ahead, and ended without anybody having had them
  std::string trouble;     // why the last fill came to nothing; "" when it did not
};

}  // namespace atl
