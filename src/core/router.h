// The router: which drivers may serve a request, in the order of preference. It decides on probed
// capabilities alone.
#pragma once

#include <string>
#include <vector>

#include "core/driver_table.h"

namespace atl {

// What a request demands of a driver.
struct RouteWish {
  std::string driver;  // "" = any that is strong enough
  std::optional<Isolation> min_isolation;
  std::optional<Placement> placement;  // how far away at most; nullopt = own
  Resources resources;
  std::vector<HostAccess> host_directories;
  std::chrono::seconds ttl{0};  // zero = as long as the driver allows
};

RouteWish to_wish(const CreateRequest& request);

// At least one driver; each meets the wish by itself, so falling over from one to the next never
// weakens anything. A driver without isolation is taken only by name. The error says in words why
// each driver was passed over: Code::not_found for an unknown name, Code::unavailable if a driver
// that does not answer might have done, otherwise Code::unsupported.
Result<std::vector<DriverSlot*>> find_route(DriverTable& drivers, const RouteWish& wish);

}  // namespace atl
