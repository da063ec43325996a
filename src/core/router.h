// The router: which drivers may serve a request, and in which order. Whether one may, it decides on
// probed capabilities alone, and on whether the driver works; a strategy decides the order.
#pragma once

#include <string>
#include <vector>

#include "core/driver_table.h"
#include "core/known_programs.h"

namespace atl {

// Who has come upon a driver: a request or a profile that names it, or the router.
enum class Chosen : uint8_t { by_name, by_router };

// What a request demands of a driver.
struct RouteWish {
  std::string driver;  // "" = any that is strong enough
  std::optional<Isolation> min_isolation;
  Isolation floor = Isolation::none;  // below this the caller may not go
  // The same of the tenant, whoever asks; and how far away anything of it may be.
  Isolation tenant_floor = Isolation::none;
  std::optional<Placement> tenant_placement;
  std::optional<Placement> placement;  // how far away at most; nullopt = own
  Resources resources;
  std::vector<HostAccess> host_directories;
  // The root file system: a directory of the host, or a template's, or an image.
  bool root = false;
  bool is_template = false;
  bool image = false;
  std::string runtime;  // "" = the driver's own
  Persistence persistence = Persistence::ephemeral;
  bool keeps_memory = false;                // of what ends, too
  bool stays = false;                       // as long as the server
  std::string user;                         // that commands run as; "" = the driver's own
  std::optional<int64_t> user_number = {};  // of it, where the template says so
  std::chrono::seconds ttl{0};              // zero = as long as the driver allows
  // A profile's order; see CreateRequest.
  std::vector<std::string> preferred;
  std::optional<std::vector<std::string>> fallback;
  bool cuts_network = false;
  policy::Strategy strategy = policy::Strategy::priority;
  bool is_remade = false;  // it is to be made anew when it dies
  bool pauses = false;     // it is to be paused when it is idle, or its time is up
  Network network = Network::none;
  bool engine_socket = false;
  std::string home = {};         // see SandboxSpec
  bool installs_system = false;  // packages of the system, which root installs
  bool names_roots = false;      // a profile says where directories of the host may lie
  std::map<std::string, std::string> driver_labels = {};  // which it must have
  // What a root of this print is known to have and to lack; see core/known_programs.h. Null and ""
  // where that says nothing.
  const KnownPrograms* known = nullptr;
  std::string root_print = {};
  std::string root_name = {};  // in words: "template python:3"
  std::shared_ptr<const policy::Startup> startup = nullptr;
};

// The least that it may be isolated, and the farthest that it may be, by all who have a say.
Isolation strongest_floor(const RouteWish& wish);
Placement farthest(const RouteWish& wish);

// Whether it takes Capabilities::users to run as `user` with this driver: neither the sandbox's own
// user nor a number, which may be that user's. Zero is root's, and nobody else's. Whose `number` is
// known is compared with Driver::only_user().
bool is_other_user(const Driver& driver, std::string_view user, std::optional<int64_t> number);
bool can_be_other_users(const Capabilities& can);
// "" = the driver's own, which each has.
bool has_runtime(const Capabilities& can, std::string_view runtime);

// What a sandbox with this runtime has; Isolation::none for one that the driver does not have.
Isolation isolation_of(const Capabilities& can, std::string_view runtime);
// The same of what is wished: none with the engine's socket, by which it rules the host.
Isolation isolation_of(const Capabilities& can, const RouteWish& wish);

RouteWish to_wish(const CreateRequest& request);

// Why this driver will not do, in words; nullopt when it will. One without isolation does only if
// somebody has named it.
std::optional<std::string> why_not(const DriverSlot& slot, const RouteWish& wish, Chosen chosen,
                                   const policy::Amounts& more);
// Its two halves: what asking again would not change, and what will pass: that it has failed too
// often lately, or is full.
std::optional<std::string> why_never(const DriverSlot& slot, const RouteWish& wish, Chosen chosen);
std::optional<std::string> why_not_now(const DriverSlot& slot, const policy::Amounts& more);
// The first of these alone.
std::optional<std::string> why_paused(const DriverSlot& slot);
// Whether it has the labels that are wanted; they hold while it does not answer, too.
std::optional<std::string> missing_label(const DriverSlot& slot, const RouteWish& wish);

// At least one driver; each meets the wish by itself, so falling over from one to the next never
// weakens anything. A driver without isolation is taken only by name. The error says in words why
// each driver was passed over: Code::not_found for an unknown name, Code::unavailable if a driver
// that does not answer might have done, otherwise Code::unsupported.
Result<std::vector<DriverSlot*>> find_route(DriverTable& drivers, const RouteWish& wish);
// The same for a create, which takes its turn where the strategy goes round.
Result<std::vector<DriverSlot*>> take_route(DriverTable& drivers, const RouteWish& wish);

}  // namespace atl
