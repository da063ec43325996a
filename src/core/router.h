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
  Isolation floor = Isolation::none;   // below this the caller may not go
  std::optional<Placement> placement;  // how far away at most; nullopt = own
  Resources resources;
  std::vector<HostAccess> host_directories;
  bool root = false;            // a directory of the host is the root file system
  std::string user;             // that commands run as; "" = the driver's own
  std::chrono::seconds ttl{0};  // zero = as long as the driver allows
};

// Whether it takes a driver with Capabilities::users to run as `user`: neither the sandbox's own
// user nor a number, which may be that user's.
bool names_other_user(std::string_view user);
bool can_be_other_users(const Capabilities& can);

RouteWish to_wish(const CreateRequest& request);

// At least one driver; each meets the wish by itself, so falling over from one to the next never
// weakens anything. A driver without isolation is taken only by name. The error says in words why
// each driver was passed over: Code::not_found for an unknown name, Code::unavailable if a driver
// that does not answer might have done, otherwise Code::unsupported.
Result<std::vector<DriverSlot*>> find_route(DriverTable& drivers, const RouteWish& wish);

}  // namespace atl
