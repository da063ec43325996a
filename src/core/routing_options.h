// How the router orders drivers, when it goes on to the next, and when it stops asking one.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "base/clock.h"
#include "policy/driver_labels.h"
#include "policy/price.h"
#include "policy/strategy.h"

namespace atl {

// Probes in a row before a driver counts as down, and as well again.
struct HealthOptions {
  int failures = 3;
  int answers = 2;
};

struct CircuitOptions {
  int failures = 5;  // creates in a row
  // How long a driver is left alone then, with up to a fifth more or less; twice as long each time
  // that it fails again.
  Micros first_pause = std::chrono::seconds(1);
  Micros longest_pause = std::chrono::minutes(1);
};

struct RetryOptions {
  double most = 20;          // tokens; each failover and each second try costs one
  double per_request = 0.2;  // what each create gives back
  double per_second = 1;
  // Before the only driver of a route is asked again, with up to a fifth more or less.
  Micros pause = std::chrono::milliseconds(100);
};

struct RoutingOptions {
  policy::Strategy strategy = policy::Strategy::priority;  // of requests that name none
  std::map<std::string, int64_t> weights = {};             // by driver; 1 where nothing is said
  // By driver; where nothing is said, what it declares.
  std::map<std::string, policy::Price> prices = {};
  std::map<std::string, policy::DriverLabels> labels = {};  // by driver
  // By driver: what all sandboxes on it may have together, but for those that wait in a pool.
  std::map<std::string, policy::Quota> capacities = {};
  HealthOptions health = {};
  CircuitOptions circuit = {};
  RetryOptions retries = {};
  // With up to a fifth more or less, so that several daemons do not ask an engine in step.
  std::chrono::seconds probe_every{15};
};

}  // namespace atl
