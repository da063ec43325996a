#include "core/route_order.h"

#include <algorithm>

#include "core/strategy_order.h"

namespace atl {
namespace {

// One that does not answer now. Not one that cannot be had on this host at all, or that would be
// too weak if it answered.
bool might_answer(const DriverSlot& slot, const RouteWish& wish) {
  return !slot.capabilities && slot.trouble.code() == Code::unavailable &&
         !missing_label(slot, wish) &&
         slot.driver->strongest(wish.runtime) >= strongest_floor(wish);
}

}  // namespace

RouteOrder order_drivers(DriverTable& drivers, const RouteWish& wish) {
  RouteOrder order;
  const auto has = [&](const DriverSlot* slot) {
    return std::ranges::find(order.candidates, slot, &RouteCandidate::slot) !=
           order.candidates.end();
  };
  const auto take = [&](const std::vector<std::string>& names, Tier tier) {
    for (const std::string& name : names) {
      DriverSlot* slot = drivers.find(name);
      if (slot == nullptr) {
        order.missing.push_back(name);
      } else if (!has(slot)) {
        order.candidates.push_back({slot, Chosen::by_name, tier});
      }
    }
  };
  order.candidates.reserve(drivers.slots().size());
  take(wish.preferred, Tier::preferred);
  if (wish.fallback) take(*wish.fallback, Tier::other);
  for (auto& slot : drivers.slots()) {
    if (has(&slot)) continue;
    if (wish.fallback) {
      order.left_out.push_back(&slot);
    } else {
      order.candidates.push_back({&slot, Chosen::by_router, Tier::other});
    }
  }
  return order;
}

RouteChoice choose_route(DriverTable& drivers, const RouteWish& wish) {
  RouteOrder order = order_drivers(drivers, wish);
  RouteChoice choice;
  choice.left_out = std::move(order.left_out);
  choice.missing = std::move(order.missing);
  const policy::Amounts size = drivers.size_of(wish.resources);
  std::vector<RouteCandidate> able;
  able.reserve(order.candidates.size());
  for (const RouteCandidate& candidate : order.candidates) {
    auto why = why_never(*candidate.slot, wish, candidate.chosen);
    if (why) {
      choice.may_help_later = choice.may_help_later || might_answer(*candidate.slot, wish);
    } else {
      why = why_not_now(*candidate.slot, size);
      choice.may_help_later = choice.may_help_later || why.has_value();
      const bool is_full = why && !why_paused(*candidate.slot);
      if (is_full && choice.full == nullptr) choice.full = candidate.slot;
    }
    if (why) {
      choice.refused.push_back({candidate.slot, *std::move(why)});
    } else {
      able.push_back(candidate);
    }
  }
  // Whoever answers again is asked after everybody who never stopped.
  const auto group_of = [](const RouteCandidate& one) {
    return std::pair(!one.slot->health.is_trusted(), one.tier);
  };
  sort_few(std::span(able), [&](const RouteCandidate& one, const RouteCandidate& other) {
    return group_of(one) < group_of(other);
  });
  choice.route.reserve(able.size());
  for (const RouteCandidate& one : able) choice.route.push_back(one.slot);
  for (size_t begin = 0; begin < able.size();) {
    size_t end = begin + 1;
    while (end < able.size() && group_of(able[end]) == group_of(able[begin])) ++end;
    order_by(wish.strategy, std::span(choice.route).subspan(begin, end - begin), size);
    if (begin == 0) choice.group = end;
    begin = end;
  }
  return choice;
}

}  // namespace atl
