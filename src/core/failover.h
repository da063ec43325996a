// Failover: what a create may do next. It asks the driver's circuit before a driver is asked, notes
// how each try went, and pays for every further one out of the budget.
//
// A create never waits between drivers: the next one is asked at once. Only where there is no other
// the same one is asked a second time, after a pause.
#pragma once

#include "core/driver_table.h"
#include "core/event_log.h"
#include "core/retry_budget.h"

namespace atl {

class Failover final {
 public:
  // All outlive it.
  Failover(const RetryOptions& options, telemetry::Metrics& metrics, EventLog& events,
           const Clock& clock);

  // A request begins with its first driver.
  void note_request() { budget_.note_request(); }
  // Asks the driver if its circuit lets it; otherwise Code::unavailable, and nobody was asked.
  Task<std::unique_ptr<Sandbox>> create(DriverSlot& slot, SandboxSpec spec);
  // Whether the next driver may be asked after this failure of another one. Only what may pass
  // leads on; the error comes back with a hint when the budget is used up.
  Result<> go_on(const DriverSlot& from, Error why);
  // Whether a driver that nobody can stand in for may be asked a second time after this failure: it
  // is one that passes by itself, its circuit lets it, there is a token left, and, after the pause,
  // nothing of `id` is there. So nothing was made, and what would come late finds its id taken.
  Task<> may_try_again(DriverSlot& slot, std::string id, std::shared_ptr<GiveUp> give_up,
                       Error why);

 private:
  void note(DriverSlot& slot, CircuitBreaker::Pass pass, Micros took, const Error* why);

  telemetry::Metrics& metrics_;
  EventLog& events_;
  const Clock& clock_;
  const Micros pause_;
  RetryBudget budget_;
};

}  // namespace atl
