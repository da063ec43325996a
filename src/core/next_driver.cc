// Creator::next_try: who makes it when the driver whose turn it was cannot, or may not any more.
#include <algorithm>
#include <utility>

#include "core/creator.h"
#include "telemetry/log.h"

namespace atl {

// Whoever has stopped answering or working since the route was made, or offers less, is passed
// over.
size_t Creator::find_next(const Plan& plan) const {
  size_t next = plan.at + 1;
  while (next < plan.route.size() &&
         why_not(*plan.route[next], plan.wish, how_chosen(plan.wish, plan.route[next]->name()),
                 plan.record->amounts)) {
    ++next;
  }
  return next;
}

Task<> Creator::pass_over(Plan& plan, std::string why) {
  if (std::exchange(plan.was_parked, false)) {
    // What was reserved has the id that the next one wants.
    auto freed = co_await plan.route[plan.at]->driver->destroy_orphan(plan.record->id);
    static_cast<void>(freed);  // given back a minute later otherwise
  }
  const size_t next = find_next(plan);
  if (next == plan.route.size()) {
    if (plan.first_failure) co_return *std::move(plan.first_failure);
    co_return Error(Code::unavailable, why)
        .with_hint("this has changed since the driver was chosen; try again");
  }
  plan.timer.tell("create", why);
  telemetry::log_warn("driver does not meet the request any more, the next one tries",
                      {{"sandbox", plan.record->id}, {"why", why}});
  co_return co_await move_to(plan, next);
}

// What a driver offers may become less while it makes the sandbox, and nobody knows which of the
// two it then is: the lesser one counts.
std::optional<std::string> Creator::why_not_given(Plan& plan, const DriverSlot& slot) {
  // Of one that has only stopped answering nothing else is known than when it was asked.
  if (!slot.capabilities) return std::nullopt;
  SandboxRecord& record = *plan.record;
  record.isolation = std::min(record.isolation, isolation_of(*slot.capabilities, plan.wish));
  record.placement = std::max(record.placement, slot.capabilities->placement);
  return why_never(slot, plan.wish, how_chosen(plan.wish, slot.name()));
}

Task<> Creator::move_to(Plan& plan, size_t next) {
  plan.at = next;
  plan.was_parked = false;
  // The store must know where to look for it before it can be there.
  place(*plan.record, *plan.route[next]);
  plan.spec.expires_at = plan.record->drivers_moment();
  co_return co_await parts_.journal.note(plan.record);
}

Task<size_t> Creator::next_try(Plan& plan, Error why) {
  DriverSlot& slot = *plan.route[plan.at];
  const size_t next = find_next(plan);
  if (next == plan.route.size()) {
    // Of two failures of the same driver the first one is told: remains of it may be in the way of
    // the other.
    if (plan.first_failure) co_return *std::move(plan.first_failure);
    if (plan.at > 0) co_return why;
    plan.first_failure = why;
    CO_TRY_OK(
        co_await parts_.failover.may_try_again(slot, plan.record->id, plan.record->give_up, why));
    telemetry::log_warn(
        "driver could not create, it tries again",
        {{"sandbox", plan.record->id}, {"driver", slot.driver->name()}, {"why", why.message()}});
    co_return plan.at;
  }
  CO_TRY_OK(parts_.failover.go_on(slot, why));
  telemetry::log_warn(
      "driver could not create, the next one tries",
      {{"sandbox", plan.record->id}, {"driver", slot.driver->name()}, {"why", why.message()}});
  co_return next;
}

// It costs no token: a driver that is not in trouble makes no more work for the next one than a
// route without it would.
Task<> Creator::go_elsewhere(Plan& plan, Error why) {
  if (why.code() != Code::unsupported || why.stage() != "requires") co_return why;
  const DriverSlot& slot = *plan.route[plan.at];
  const size_t next = find_next(plan);
  if (next == plan.route.size()) co_return std::move(why).with(slot.name());
  plan.timer.tell("requires", slot.name() + ": " + why.message());
  telemetry::log_info(
      "driver lacks what the profile requires, the next one tries",
      {{"sandbox", plan.record->id}, {"driver", slot.name()}, {"why", why.message()}});
  co_return co_await move_to(plan, next);
}

}  // namespace atl
