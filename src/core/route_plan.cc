#include "core/route_plan.h"

#include "base/text.h"
#include "core/route_order.h"
#include "core/strategy_order.h"
#include "json/encode.h"
#include "json/to_value.h"
#include "policy/profile.h"

namespace atl {
namespace {

std::string text(auto value) { return std::string(json::name_of(value)); }

std::string shown(const json::Value* value) {
  if (value == nullptr) return "-";
  if (const auto* words = value->if_string()) return std::string(words->data(), words->size());
  return json::encode(*value);
}

void compare(std::vector<PlanChange>& changes, const std::string& before, const json::Value& from,
             const json::Value& to) {
  const auto* one = from.if_object();
  const auto* other = to.if_object();
  if (one == nullptr || other == nullptr) return;
  const auto each = [&](const json::Object& object, const auto& visit) {
    for (const auto& member : object) visit(std::string(member.key()), member.key());
  };
  each(*one, [&](const std::string& name, const auto& key) {
    const json::Value* theirs = other->if_contains(key);
    const json::Value& mine = one->at(key);
    if (theirs != nullptr && mine.is_object()) return compare(changes, name + ".", mine, *theirs);
    if (theirs == nullptr || mine != *theirs) {
      changes.push_back({before + name, shown(&mine), shown(theirs)});
    }
  });
  each(*other, [&](const std::string& name, const auto& key) {
    if (!one->contains(key)) changes.push_back({before + name, "-", shown(&other->at(key))});
  });
}

class Planner final {
 public:
  Planner(DriverTable& drivers, RouteWish wish)
      : drivers_(drivers), wish_(std::move(wish)), size_(drivers.size_of(wish_.resources)) {}

  void judge(RoutePlan& plan) {
    if (!wish_.driver.empty()) return judge_named(plan);
    const RouteChoice choice = choose_route(drivers_, wish_);
    for (const DriverSlot* slot : choice.route) add(plan, *slot, std::nullopt);
    for (const RefusedDriver& refused : choice.refused) add(plan, *refused.slot, refused.why);
    for (const DriverSlot* slot : choice.left_out) {
      add(plan, *slot, slot->name() + " is not among the drivers of the " + whose_drivers(plan));
    }
    for (const std::string& name : choice.missing) {
      plan.drivers.push_back({.driver = name, .reason = name + " is not configured here"});
    }
  }

 private:
  static std::string whose_drivers(const RoutePlan& plan) {
    return plan.run_mode ? "run mode " + *plan.run_mode : "profile";
  }

  void judge_named(RoutePlan& plan) {
    const DriverSlot* named = drivers_.find(wish_.driver);
    if (named != nullptr) add(plan, *named, why_not(*named, wish_, Chosen::by_name, size_));
    for (const DriverSlot& slot : drivers_.slots()) {
      if (&slot == named) continue;
      const auto why = why_not(slot, wish_, Chosen::by_router, size_);
      add(plan, slot, why ? *why : slot.name() + " could do it; " + wish_.driver + " is named");
    }
  }

  void add(RoutePlan& plan, const DriverSlot& slot, const std::optional<std::string>& why) {
    PlannedDriver one{.driver = slot.name()};
    if (slot.capabilities) {
      const Capabilities& can = *slot.capabilities;
      const bool has_all =
          has_runtime(can, wish_.runtime) && (!wish_.engine_socket || can.engine_socket);
      // What it offers without them nobody has asked.
      if (has_all) one.isolation = isolation_of(can, wish_);
      one.placement = slot.capabilities->placement;
      one.price_per_hour = price_of(slot, size_);
    }
    one.health = slot.health.state();
    one.start_ms = start_of(slot);
    if (one.start_ms) one.start_measured = slot.start.measured_ms().has_value();
    one.weight = slot.weight;
    if (why) {
      one.reason = *why;
    } else {
      one.verdict = plan.driver ? Verdict::fallback : Verdict::chosen;
      one.reason = slot.name() + " offers " + text(*one.isolation) + " at " + text(*one.placement) +
                   " and lacks nothing that is asked";
      if (const auto words = in_words(wish_.strategy, slot, size_); !words.empty()) {
        one.reason += "; " + text(wish_.strategy) + ": " + words;
      }
      if (one.health == DriverCondition::recovering) {
        one.reason += "; it answers again, and is asked after those that never stopped";
      }
      if (plan.driver) one.reason += "; it is asked if those before it cannot";
      if (!plan.driver) plan.isolation = one.isolation;
      if (!plan.driver) plan.driver = slot.name();
    }
    plan.drivers.push_back(std::move(one));
  }

  DriverTable& drivers_;
  RouteWish wish_;
  policy::Amounts size_;
};

}  // namespace

Result<RoutePlan> plan_route(DriverTable& drivers, const CreateRequest& request, RouteWish wish,
                             const std::string& as) {
  RoutePlan plan;
  plan.profile = request.profile.empty() ? std::string(policy::kNoProfile) : request.profile;
  if (!request.run_mode.empty()) plan.run_mode = request.run_mode;
  plan.strategy = wish.strategy;
  plan.min_isolation = request.min_isolation;
  if (const Isolation floor = strongest_floor(wish); floor != Isolation::none)
    plan.min_isolation = floor;
  plan.placement = farthest(wish);
  plan.resources = request.resources;
  if (request.ttl) plan.ttl_s = request.ttl->count();
  if (request.defaults.timeout.count() > 0) plan.timeout_ms = request.defaults.timeout.count();

  const auto route = find_route(drivers, wish);
  if (!route && route.error().code() == Code::not_found) return route.error();
  if (!route) plan.problem = route.error().message();
  plan.served = route.has_value();
  Planner(drivers, wish).judge(plan);
  if (as.empty()) return plan;

  RouteWish other = wish;
  other.driver = as;
  const auto there = find_route(drivers, other);
  if (!there && there.error().code() == Code::not_found) return Error(there.error()).with("as");
  plan.as = as;
  plan.changes.emplace();
  if (!there)
    plan.changes->push_back({"served", plan.served ? "yes" : "no", there.error().message()});
  const DriverSlot* from = plan.driver ? drivers.find(*plan.driver) : nullptr;
  const DriverSlot* to = drivers.find(as);
  if (from != nullptr && from->capabilities && to->capabilities) {
    compare(*plan.changes, "", json::to_value(*from->capabilities),
            json::to_value(*to->capabilities));
  }
  return plan;
}

}  // namespace atl
