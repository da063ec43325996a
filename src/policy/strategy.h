// Strategy: in which order drivers are asked that would all do. It never decides whether one does.
#pragma once

#include <cstdint>

#include <boost/describe/enum.hpp>

namespace atl::policy {

enum class Strategy : uint8_t {
  priority,     // as they are configured, or as the profile or run mode names them
  fastest,      // by how long creating has taken lately; before that, by what the driver declares
  cheapest,     // by price; one that nobody knows the price of comes last
  round_robin,  // whoever was first longest ago
  weighted,     // in proportion to configured weights
};
BOOST_DESCRIBE_ENUM(Strategy, priority, fastest, cheapest, round_robin, weighted)

}  // namespace atl::policy
