#include "core/router.h"

#include <algorithm>

#include "base/text.h"
#include "json/describe.h"

namespace atl {
namespace {

enum class Chosen : uint8_t { by_name, by_router };

std::string text(auto value) { return std::string(json::name_of(value)); }

std::optional<std::string> missing_limit(const LimitSupport& support, const Resources& wanted) {
  if ((wanted.cpu || wanted.cpu_weight) && support.cpu == Limit::none) return "cpu";
  if (wanted.memory_mb && support.memory == Limit::none) return "memory";
  if (wanted.pids && support.pids == Limit::none) return "pids";
  if (wanted.disk_mb && support.disk == Limit::none) return "disk";
  return std::nullopt;
}

bool can_show(const Capabilities& can, HostAccess access) {
  switch (access) {
    case HostAccess::ro:
      return can.host_dir_ro;
    case HostAccess::rw:
      return can.host_dir_rw;
    case HostAccess::cow:
      return can.host_dir_cow;
  }
  return false;
}

std::string_view in_words(HostAccess access) {
  switch (access) {
    case HostAccess::ro:
      return "read-only";
    case HostAccess::rw:
      return "writable";
    case HostAccess::cow:
      return "copy-on-write";
  }
  return "";
}

// Why this driver will not do, in words; nullopt when it will.
std::optional<std::string> refusal(const DriverSlot& slot, const RouteWish& wish, Chosen chosen) {
  const std::string name = slot.name();
  if (!slot.capabilities) return name + " does not answer (" + slot.trouble.message() + ")";
  const Capabilities& can = *slot.capabilities;
  if (wish.min_isolation && can.isolation < *wish.min_isolation) {
    return name + " offers " + text(can.isolation) + ", " + text(*wish.min_isolation) +
           " was asked";
  }
  if (can.isolation < wish.floor) {
    return name + " offers " + text(can.isolation) +
           ", and only administrators may have less than " + text(wish.floor) + " here";
  }
  if (can.isolation == Isolation::none && chosen == Chosen::by_router) {
    return name + " offers none and is used only when it is named";
  }
  const Placement farthest = wish.placement.value_or(Placement::own);
  if (can.placement > farthest) {
    return name + " runs at " + text(can.placement) + ", " + text(farthest) + " was asked";
  }
  if (const auto limit = missing_limit(can.limits, wish.resources)) {
    return name + " cannot limit " + *limit;
  }
  if (wish.resources.sharing == Sharing::dedicated && !can.dedicated) {
    return name + " cannot dedicate processors and memory to a sandbox";
  }
  if (wish.root && !can.root_dir) {
    return name + " cannot take a directory of the host as the root file system";
  }
  if (!wish.root && can.needs_root_dir) return name + " needs a root file system (rootfs)";
  if (names_other_user(wish.user) && !can.users) {
    return name + " cannot run as user " + to_printable(wish.user);
  }
  for (const HostAccess access : wish.host_directories) {
    if (!can_show(can, access)) {
      return name + " cannot show a directory of the host " + std::string(in_words(access));
    }
  }
  if (can.max_lifetime_s && wish.ttl.count() > *can.max_lifetime_s) {
    return name + " keeps a sandbox for at most " + std::to_string(*can.max_lifetime_s) + " s, " +
           std::to_string(wish.ttl.count()) + " s was asked";
  }
  return std::nullopt;
}

Error unknown_driver(const DriverTable& drivers, const std::string& name) {
  const auto names = drivers.names();
  const std::string near = did_you_mean(name, names);
  std::string hint = near.empty() ? "" : "did you mean " + near + "? ";
  hint += names.empty() ? "no driver is configured" : "configured: " + enumerate(names);
  return Error(Code::not_found, "no driver is called " + to_printable(name)).with_hint(hint);
}

// One that does not answer now. Not one that cannot be had on this host at all, or that would be
// too weak if it answered.
bool may_help_later(const DriverSlot& slot, const RouteWish& wish) {
  const Isolation needed = std::max(wish.floor, wish.min_isolation.value_or(Isolation::none));
  return !slot.capabilities && slot.trouble.code() == Code::unavailable &&
         slot.driver->strongest() >= needed;
}

Result<std::vector<DriverSlot*>> route_by_name(DriverTable& drivers, const RouteWish& wish) {
  DriverSlot* named = drivers.find(wish.driver);
  if (named == nullptr) return unknown_driver(drivers, wish.driver);
  const auto why = refusal(*named, wish, Chosen::by_name);
  if (!why) return std::vector<DriverSlot*>{named};
  if (!named->capabilities) {
    return Error(Code::unavailable, *why).with_hint(named->trouble.hint());
  }
  std::vector<std::string> able;
  for (const auto& slot : drivers.slots()) {
    if (!refusal(slot, wish, Chosen::by_name)) able.push_back(slot.name());
  }
  const bool is_allowed = named->capabilities->isolation >= wish.floor;
  return Error(is_allowed ? Code::unsupported : Code::permission_denied, *why)
      .with_hint(able.empty() ? "no configured driver can" : enumerate(able) + " can");
}

}  // namespace

bool names_other_user(std::string_view user) {
  return !user.empty() && user != "user" &&
         user.find_first_not_of("0123456789") != std::string_view::npos;
}

bool can_be_other_users(const Capabilities& can) { return can.users; }

RouteWish to_wish(const CreateRequest& request) {
  RouteWish wish{.driver = request.driver,
                 .min_isolation = request.min_isolation,
                 .placement = request.placement,
                 .resources = request.resources,
                 .root = request.root.has_value(),
                 .user = request.defaults.user,
                 .ttl = request.ttl.value_or(std::chrono::seconds(0))};
  if (request.workspace) wish.host_directories.push_back(request.workspace->access);
  for (const auto& mount : request.mounts) wish.host_directories.push_back(mount.access);
  return wish;
}

Result<std::vector<DriverSlot*>> find_route(DriverTable& drivers, const RouteWish& wish) {
  if (!wish.driver.empty()) return route_by_name(drivers, wish);

  std::vector<DriverSlot*> route;
  std::string reasons;
  bool some_do_not_answer = false;
  for (auto& slot : drivers.slots()) {
    const auto why = refusal(slot, wish, Chosen::by_router);
    if (!why) {
      route.push_back(&slot);
      continue;
    }
    some_do_not_answer = some_do_not_answer || may_help_later(slot, wish);
    reasons.append(reasons.empty() ? "" : "; ").append(*why);
  }
  if (!route.empty()) return route;
  return Error(some_do_not_answer ? Code::unavailable : Code::unsupported,
               "no driver can serve this request")
      .with_hint(reasons.empty() ? "no driver is configured" : reasons);
}

}  // namespace atl
