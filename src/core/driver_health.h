// DriverHealth: whether a driver answers, with hysteresis, so that one lost answer moves nothing
// and one lucky answer does not either.
#pragma once

#include <cstdint>

#include <boost/describe/enum.hpp>

#include "core/routing_options.h"

namespace atl {

enum class DriverCondition : uint8_t {
  unknown,     // not asked yet
  healthy,     // it answers
  failing,     // its last answers are missing, and too few of them to matter
  down,        // it does not answer
  recovering,  // it answers again, and is asked after those that never stopped
};
BOOST_DESCRIBE_ENUM(DriverCondition, unknown, healthy, failing, down, recovering)

class DriverHealth final {
 public:
  explicit DriverHealth(HealthOptions options = {}) : options_(options) {}

  // What a probe found. The first one decides at once: there is nothing to hold on to.
  void answered();
  void failed();

  DriverCondition state() const;
  // Neither down nor recovering.
  bool is_trusted() const { return trusted_; }
  int failures() const { return failures_; }
  int answers_missing() const { return options_.answers - answers_; }

 private:
  HealthOptions options_;
  bool known_ = false;
  bool trusted_ = false;
  int failures_ = 0;  // in a row
  int answers_ = 0;   // in a row, while it is not trusted
};

}  // namespace atl
