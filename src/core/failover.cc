#include "core/failover.h"

#include <algorithm>

#include <boost/asio/this_coro.hpp>

#include "base/event.h"
#include "core/router.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace atl {
namespace {

using Outcome = CircuitBreaker::Outcome;

// A driver that is full, or refuses what is asked, is there. Of one that was broken off, or failed
// in a way that nobody foresaw, nobody knows.
Outcome outcome_of(const Error& why) {
  switch (why.code()) {
    case Code::unavailable:
    case Code::deadline_exceeded:
      return Outcome::failed;
    case Code::cancelled:
    case Code::internal:
      return Outcome::says_nothing;
    default:
      return Outcome::worked;
  }
}

}  // namespace

Failover::Failover(const RetryOptions& options, telemetry::Metrics& metrics, EventLog& events,
                   const Clock& clock)
    : metrics_(metrics),
      events_(events),
      clock_(clock),
      pause_(options.pause),
      budget_(clock, options) {}

Task<std::unique_ptr<Sandbox>> Failover::create(DriverSlot& slot, SandboxSpec spec) {
  const auto pass = slot.circuit.begin();
  if (!pass) {
    co_return Error(Code::unavailable, why_paused(slot).value_or(slot.name() + " is not asked now"))
        .with_hint("try again in a moment");
  }
  const Micros begun = clock_.boot();
  auto made = co_await slot.driver->create(std::move(spec));
  note(slot, *pass, clock_.boot() - begun, made ? nullptr : &made.error());
  co_return made;
}

void Failover::note(DriverSlot& slot, CircuitBreaker::Pass pass, Micros took, const Error* why) {
  if (why == nullptr) {
    slot.start.add(took, slot.capabilities ? slot.capabilities->typical_start_ms : 0);
  }
  const bool was_closed = slot.circuit.state() == Circuit::closed;
  slot.circuit.end(pass, why == nullptr ? Outcome::worked : outcome_of(*why));
  const bool is_closed = slot.circuit.state() == Circuit::closed;
  if (was_closed == is_closed) return;
  metrics_.driver_circuit_open.at(slot.driver->name()).set(is_closed ? 0 : 1);
  if (is_closed) {
    telemetry::log_info("driver makes sandboxes again", {{"driver", slot.driver->name()}});
    events_.add_driver(slot.name(), "circuit_closed", "");
  } else {
    telemetry::log_warn("driver fails to create and is left alone for a while",
                        {{"driver", slot.driver->name()}, {"why", why->message()}});
    events_.add_driver(slot.name(), "circuit_open", why->message());
  }
}

Result<> Failover::go_on(const DriverSlot& from, Error why) {
  if (!is_retryable(why.code())) return why;
  if (!budget_.take()) {
    metrics_.create_failovers.at(from.driver->name(), "refused").add();
    return std::move(why).with_hint(
        "too many creates have gone on to another driver lately; try again in a moment");
  }
  metrics_.create_failovers.at(from.driver->name(), "taken").add();
  return {};
}

Task<> Failover::may_try_again(DriverSlot& slot, std::string id, std::shared_ptr<GiveUp> give_up,
                               Error why) {
  const auto is_there = [&] { return slot.capabilities && !why_paused(slot); };
  if (why.code() != Code::unavailable || !is_there()) co_return why;
  if (!budget_.take()) {
    metrics_.create_failovers.at(slot.driver->name(), "refused").add();
    co_return std::move(why).with_hint(
        "too many creates have failed lately; try again in a moment");
  }
  if (pause_ > Micros(0)) {
    const auto executor = co_await asio::this_coro::executor;
    Event pause(executor);
    const GiveUp::Listening listening(std::move(give_up), [&pause] { pause.fire(); });
    const auto paused = co_await pause.wait_for(std::chrono::ceil<Millis>(with_jitter(pause_)));
    if (!paused && paused.error().code() != Code::deadline_exceeded) co_return why;
    if (!is_there()) co_return why;
  }
  const auto there = co_await slot.driver->list();
  if (!there || std::ranges::find(*there, id) != there->end()) co_return why;
  metrics_.create_failovers.at(slot.driver->name(), "again").add();
  co_return Result<>();
}

}  // namespace atl
