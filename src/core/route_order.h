// In which order drivers are considered: as a profile or a run mode says, else as they are
// configured.
#pragma once

#include <string>
#include <vector>

#include "core/router.h"

namespace atl {

// A strategy orders drivers within a tier, and never across: what may only follow follows.
enum class Tier : uint8_t { preferred, other };

struct RouteCandidate {
  DriverSlot* slot = nullptr;
  Chosen chosen = Chosen::by_router;
  Tier tier = Tier::other;
};

struct RouteOrder {
  std::vector<RouteCandidate> candidates;
  std::vector<DriverSlot*> left_out;  // that the profile does not name, and nothing else may follow
  std::vector<std::string> missing;   // that it names, and that are not configured here
};

RouteOrder order_drivers(DriverTable& drivers, const RouteWish& wish);

struct RefusedDriver {
  DriverSlot* slot = nullptr;
  std::string why;
};

// What becomes of every driver, for a wish that names none.
struct RouteChoice {
  std::vector<DriverSlot*> route;      // in the order of asking
  size_t group = 0;                    // so many of them compete for the first place
  std::vector<RefusedDriver> refused;  // in the order of preference
  std::vector<DriverSlot*> left_out;
  std::vector<std::string> missing;
  bool may_help_later = false;       // one of the refused would do if it answered, or had room
  const DriverSlot* full = nullptr;  // the first of the refused that would do if it had room
};

RouteChoice choose_route(DriverTable& drivers, const RouteWish& wish);

}  // namespace atl
