#include "core/router.h"

#include <algorithm>

#include "base/text.h"
#include "core/route_order.h"
#include "core/sandbox_record.h"
#include "core/strategy_order.h"
#include "json/describe.h"
#include "policy/startup.h"

namespace atl {
namespace {

std::string text(auto value) { return std::string(json::name_of(value)); }

std::optional<std::string> missing_limit(const LimitSupport& support, const Resources& wanted) {
  if ((wanted.cpu || wanted.cpu_weight) && support.cpu == Limit::none) return "cpu";
  if (wanted.memory_mb && support.memory == Limit::none) return "memory";
  if (wanted.pids && support.pids == Limit::none) return "pids";
  if (wanted.disk_mb && support.disk == Limit::none) return "disk";
  return std::nullopt;
}

bool can_show(const Capabilities& can, HostAccess access, const RouteWish& wish) {
  const bool by_roots = wish.names_roots && can.host_dir_roots;
  switch (access) {
    case HostAccess::ro:
      return can.host_dir_ro || by_roots;
    case HostAccess::rw:
      return can.host_dir_rw || by_roots;
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

// What stands between this driver and the root file system that is asked, after the driver's name.
std::optional<std::string> missing_root(const Capabilities& can, const RouteWish& wish) {
  if (wish.is_template && !can.templates) return " cannot take a template as the root file system";
  if (wish.root && !wish.is_template && !can.root_dir) {
    return " cannot take a directory of the host as the root file system";
  }
  if (wish.image && !can.images) return " takes no images by name";
  if (!wish.root && can.needs_root_dir) return " needs a root file system (rootfs)";
  if (!wish.home.empty() && !can.homes) return " cannot make a home at " + wish.home;
  if (wish.persistence == Persistence::persistent && !can.writable_root) {
    return " cannot keep what is changed in the root file system";
  }
  if (wish.persistence == Persistence::checkpoint && !can.snapshot)
    return " has no snapshots, so nothing would be kept of what ends";
  if (wish.keeps_memory && !can.checkpoint) return " keeps no memory in a snapshot";
  if (!has_runtime(can, wish.runtime)) {
    std::vector<std::string> there;
    there.reserve(can.runtimes.size());
    for (const auto& one : can.runtimes) there.push_back(to_printable(one.name));
    return " has no runtime " + to_printable(wish.runtime) +
           (there.empty() ? "" : ", but " + enumerate(there));
  }
  return std::nullopt;
}

// What a judge has said of others says nothing of this one.
std::optional<std::string> why_not_judged(const DriverSlot& slot, const RouteWish& wish) {
  if (!wish.judged) return std::nullopt;
  const auto told = std::ranges::find(*wish.judged, slot.name(), &JudgedDriver::name);
  if (told == wish.judged->end()) {
    return slot.name() + " was not among the drivers that the policy server was asked about";
  }
  if (isolation_of(*slot.capabilities, wish) < told->isolation ||
      slot.capabilities->placement > told->placement) {
    return slot.name() + " has changed since the policy server was asked about it";
  }
  return std::nullopt;
}

// Why this driver will not do, in words; nullopt when it will.
std::optional<std::string> refusal(const DriverSlot& slot, const RouteWish& wish, Chosen chosen) {
  const std::string name = slot.name();
  if (auto why = missing_label(slot, wish)) return why;
  if (!slot.capabilities) return name + " does not answer (" + slot.trouble.message() + ")";
  const Capabilities& can = *slot.capabilities;
  if (auto why = missing_root(can, wish)) return name + *why;
  if (wish.engine_socket && !can.engine_socket) {
    return name + " has no engine whose socket it could show";
  }
  const Isolation offered = isolation_of(can, wish);
  if (wish.min_isolation && offered < *wish.min_isolation) {
    return name + " offers " + text(offered) + ", " + text(*wish.min_isolation) + " was asked";
  }
  if (offered < wish.floor) {
    return name + " offers " + text(offered) + ", and only administrators may have less than " +
           text(wish.floor) + " here";
  }
  if (offered < wish.tenant_floor) {
    return name + " offers " + text(offered) + ", and this tenant has nothing below " +
           text(wish.tenant_floor);
  }
  if (offered == Isolation::none && chosen == Chosen::by_router) {
    return name + " offers none and is used only when it is named";
  }
  if (wish.tenant_placement && can.placement > *wish.tenant_placement) {
    return name + " runs at " + text(can.placement) + ", and this tenant has nothing beyond " +
           text(*wish.tenant_placement);
  }
  const Placement most = wish.placement.value_or(Placement::own);
  if (can.placement > most) {
    return name + " runs at " + text(can.placement) + ", " + text(most) + " was asked";
  }
  if (const auto limit = missing_limit(can.limits, wish.resources)) {
    return name + " cannot limit " + *limit;
  }
  if (wish.resources.sharing == Sharing::dedicated && !can.dedicated) {
    return name + " cannot dedicate processors and memory to a sandbox";
  }
  if (wish.cuts_network && can.network == NetworkControl::none) {
    return name + " cannot cut off the network";
  }
  if (wish.is_remade && !can.reset) return name + " cannot make a sandbox anew when it has failed";
  if (wish.pauses && can.pause == Pause::none) return name + " cannot pause a sandbox";
  if (wish.network == Network::bridge && !can.bridge) {
    return name + " cannot give a sandbox a network";
  }
  if (!can.users && is_other_user(*slot.driver, wish.user, wish.user_number)) {
    std::string why = name + " cannot run as user " + to_printable(wish.user);
    const auto only = slot.driver->only_user();
    if (wish.user_number && only) {
      why += ", who is " + std::to_string(*wish.user_number) +
             " in the template: every command is user " + std::to_string(*only) + " there";
    }
    return why;
  }
  if (wish.installs_system) {
    if (!can.users) return name + " cannot run as root, who installs dependencies.apt";
    if (!wish.root && !wish.image && !can.needs_root_dir) {
      return name + " installs dependencies.apt in a root file system of the sandbox's own only: " +
             "name a template";
    }
  }
  for (const HostAccess access : wish.host_directories) {
    if (!can_show(can, access, wish)) {
      std::string why = name + " cannot show a directory of the host ";
      why += in_words(access);
      // It could, and somebody has to say which.
      if (can.host_dir_roots && access != HostAccess::cow) {
        why +=
            ": no root is named that it may lie below (ATOLL_ENGINE_MOUNT_ROOTS=/directory, or "
            "mount_roots of a profile)";
      }
      return why;
    }
  }
  if (can.max_lifetime_s && wish.stays) {
    return name + " keeps a sandbox for at most " + std::to_string(*can.max_lifetime_s) +
           " s, and it is to stay as long as the server";
  }
  if (can.max_lifetime_s && wish.ttl.count() > *can.max_lifetime_s) {
    return name + " keeps a sandbox for at most " + std::to_string(*can.max_lifetime_s) + " s, " +
           std::to_string(wish.ttl.count()) + " s was asked";
  }
  if (wish.known != nullptr && wish.startup && wish.startup->requires_) {
    auto missing = wish.known->find_missing(name, wish.root_print, *wish.startup->requires_);
    if (missing) return name + ": " + wish.root_name + *missing;
  }
  return why_not_judged(slot, wish);
}

Error unknown_driver(const DriverTable& drivers, const std::string& name) {
  const auto names = drivers.names();
  const std::string near = did_you_mean(name, names);
  std::string hint = near.empty() ? "" : "did you mean " + near + "? ";
  hint += names.empty() ? "no driver is configured" : "configured: " + enumerate(names);
  return Error(Code::not_found, "no driver is called " + to_printable(name)).with_hint(hint);
}

Result<std::vector<DriverSlot*>> route_by_name(DriverTable& drivers, const RouteWish& wish) {
  DriverSlot* named = drivers.find(wish.driver);
  if (named == nullptr) return unknown_driver(drivers, wish.driver);
  const auto why = refusal(*named, wish, Chosen::by_name);
  if (!why) {
    if (const auto pause = why_paused(*named)) {
      return Error(Code::unavailable, *pause)
          .with_hint("try again then, or leave the driver to the router");
    }
    if (const auto shortage = find_shortage(*named, drivers.size_of(wish.resources)))
      return full(*named, *shortage);
    return std::vector<DriverSlot*>{named};
  }
  // What it lacks whether it answers or not is no matter of time.
  if (!named->capabilities && !missing_label(*named, wish)) {
    return Error(Code::unavailable, *why).with_hint(named->trouble.hint());
  }
  std::vector<std::string> able;
  for (const auto& slot : drivers.slots()) {
    if (!refusal(slot, wish, Chosen::by_name)) able.push_back(slot.name());
  }
  const bool is_allowed =
      !named->capabilities ||
      (isolation_of(*named->capabilities, wish) >= std::max(wish.floor, wish.tenant_floor) &&
       (!wish.tenant_placement || named->capabilities->placement <= *wish.tenant_placement));
  return Error(is_allowed ? Code::unsupported : Code::permission_denied, *why)
      .with_hint(able.empty() ? "no configured driver can" : enumerate(able) + " can");
}

}  // namespace

bool is_other_user(const Driver& driver, std::string_view user, std::optional<int64_t> number) {
  if (user.empty() || user == "user") return false;
  if (number && driver.only_user()) return number != driver.only_user();
  return user.find_first_not_of("0123456789") != std::string_view::npos ||
         user.find_first_not_of('0') == std::string_view::npos;
}

bool has_runtime(const Capabilities& can, std::string_view runtime) {
  return runtime.empty() || std::ranges::any_of(can.runtimes, [&](const RuntimeLevel& one) {
           return one.name == runtime;
         });
}

bool can_be_other_users(const Capabilities& can) { return can.users; }

Isolation isolation_of(const Capabilities& can, std::string_view runtime) {
  if (runtime.empty()) return can.isolation;
  for (const auto& one : can.runtimes) {
    if (one.name == runtime) return one.isolation;
  }
  return Isolation::none;
}

Isolation isolation_of(const Capabilities& can, const RouteWish& wish) {
  return wish.engine_socket ? Isolation::none : isolation_of(can, wish.runtime);
}

Isolation strongest_floor(const RouteWish& wish) {
  return std::max({wish.floor, wish.tenant_floor, wish.min_isolation.value_or(Isolation::none)});
}

Placement farthest(const RouteWish& wish) {
  const Placement asked = wish.placement.value_or(Placement::own);
  return std::min(asked, wish.tenant_placement.value_or(asked));
}

Chosen how_chosen(const RouteWish& wish, const std::string& driver) {
  const auto names = [&](const std::vector<std::string>& drivers) {
    return std::ranges::find(drivers, driver) != drivers.end();
  };
  const bool is_named =
      wish.driver == driver || names(wish.preferred) || (wish.fallback && names(*wish.fallback));
  return is_named ? Chosen::by_name : Chosen::by_router;
}

std::optional<std::string> missing_label(const DriverSlot& slot, const RouteWish& wish) {
  for (const auto& [name, value] : wish.driver_labels) {
    const auto has = slot.labels.find(name);
    const std::string asked = policy::label_text(name, value);
    if (has == slot.labels.end()) return slot.name() + " has no label " + to_printable(asked);
    if (has->second != value) {
      return slot.name() + " has the label " + policy::label_text(name, has->second) + ", " +
             to_printable(asked) + " was asked";
    }
  }
  return std::nullopt;
}

RouteWish to_wish(const CreateRequest& request) {
  RouteWish wish{.driver = request.driver,
                 .min_isolation = request.min_isolation,
                 .placement = request.placement,
                 .resources = request.resources,
                 .root = request.root.has_value(),
                 .is_template = !request.template_name.empty(),
                 .image = !request.image.empty(),
                 .runtime = request.runtime,
                 .persistence = request.persistence,
                 .keeps_memory = request.checkpoint == SnapshotKind::memory,
                 .stays = request.lifecycle == Life::persistent,
                 .user = request.defaults.user,
                 .user_number = number_of_user(request),
                 .ttl = request.ttl.value_or(std::chrono::seconds(0)),
                 .preferred = request.preferred,
                 .fallback = request.fallback,
                 .cuts_network = request.cuts_network,
                 .strategy = request.strategy.value_or(policy::Strategy::priority),
                 .is_remade = request.on_failure == OnFailure::recreate,
                 .pauses = request.on_expire == OnEnd::pause || request.on_idle == OnEnd::pause ||
                           request.on_last == OnEnd::pause,
                 .network = request.network.value_or(Network::none),
                 .engine_socket = request.engine_socket,
                 .home = request.home,
                 .installs_system = request.startup && request.startup->dependencies &&
                                    !request.startup->dependencies->apt.empty(),
                 .names_roots = request.mount_roots.has_value(),
                 .driver_labels = request.driver_labels};
  if (request.workspace) wish.host_directories.push_back(request.workspace->access);
  for (const auto& mount : request.mounts) wish.host_directories.push_back(mount.access);
  return wish;
}

std::optional<std::string> why_never(const DriverSlot& slot, const RouteWish& wish, Chosen chosen) {
  return refusal(slot, wish, chosen);
}

std::optional<std::string> why_paused(const DriverSlot& slot) {
  if (slot.circuit.may_pass()) return std::nullopt;
  const std::string failed =
      slot.name() + " has failed " + std::to_string(slot.circuit.failures()) + " times in a row";
  if (slot.circuit.state() == Circuit::half_open) {
    return failed + ", and another request finds out whether it works again";
  }
  const auto left = std::chrono::ceil<std::chrono::seconds>(slot.circuit.remaining());
  return failed + ", and is asked again in " + std::to_string(left.count()) + " s";
}

std::optional<std::string> why_not_now(const DriverSlot& slot, const policy::Amounts& more) {
  if (auto why = why_paused(slot)) return why;
  const auto shortage = find_shortage(slot, more);
  if (!shortage) return std::nullopt;
  return full(slot, *shortage).message();
}

std::optional<std::string> why_not(const DriverSlot& slot, const RouteWish& wish, Chosen chosen,
                                   const policy::Amounts& more) {
  auto why = refusal(slot, wish, chosen);
  return why ? why : why_not_now(slot, more);
}

namespace {

Result<RouteChoice> choose(DriverTable& drivers, const RouteWish& wish) {
  RouteChoice choice = choose_route(drivers, wish);
  if (!choice.route.empty()) return choice;
  std::string reasons;
  const auto add = [&](const std::string& reason) {
    reasons.append(reasons.empty() ? "" : "; ").append(reason);
  };
  for (const RefusedDriver& refused : choice.refused) add(refused.why);
  for (const std::string& name : choice.missing) add(name + " is not configured here");
  auto error = Error(choice.may_help_later ? Code::unavailable : Code::unsupported,
                     "no driver can serve this request")
                   .with_hint(reasons.empty() ? "no driver is configured" : reasons);
  if (choice.full == nullptr) return error;
  const auto shortage = find_shortage(*choice.full, drivers.size_of(wish.resources));
  return std::move(error).with_refusal(full(*choice.full, *shortage).refusal());
}

// Where only drivers would do of which no judge has been asked, whoever asks again has it asked.
Error no_route(DriverTable& drivers, const RouteWish& wish, Error why) {
  if (!wish.judged) return why;
  RouteWish unjudged = wish;
  unjudged.judged.reset();
  if (!find_route(drivers, unjudged)) return why;
  return Error(Code::unavailable, why.message())
      .with_hint(why.hint() +
                 "; try again, so that the policy server is asked about what is there");
}

enum class Round : uint8_t { left, taken };

Result<std::vector<DriverSlot*>> route_of(DriverTable& drivers, const RouteWish& wish,
                                          Round round) {
  if (!wish.driver.empty()) {
    auto named = route_by_name(drivers, wish);
    if (!named) return no_route(drivers, wish, std::move(named).error());
    return named;
  }
  auto choice = choose(drivers, wish);
  if (!choice) return no_route(drivers, wish, std::move(choice).error());
  const auto first = std::span(choice->route).first(choice->group);
  if (round == Round::taken) take_turn(wish.strategy, first, drivers.next_turn());
  return std::move(choice->route);
}

}  // namespace

Result<std::vector<DriverSlot*>> find_route(DriverTable& drivers, const RouteWish& wish) {
  return route_of(drivers, wish, Round::left);
}

Result<std::vector<DriverSlot*>> take_route(DriverTable& drivers, const RouteWish& wish) {
  return route_of(drivers, wish, Round::taken);
}

}  // namespace atl
