// HealthProber: asks every driver now and then whether it is there, all at once, so that a driver
// which hangs holds nobody up.
#pragma once

#include <set>

#include "core/parts.h"

namespace atl {

class HealthProber final {
 public:
  // How long a driver may take to answer.
  static constexpr Millis kPatience = std::chrono::seconds(10);

  explicit HealthProber(Parts& parts) : parts_(parts) {}

  // Probes those that were asked once, except those whose last answer is still out. `keep` owns the
  // prober and the parts. Returns when all have answered, or kPatience is over and the rest count
  // as failed.
  Task<> step(std::shared_ptr<void> keep);

  // Steps every RoutingOptions::probe_every until stop(); soon while a driver is recovering.
  Task<> run(std::shared_ptr<void> keep);
  void stop();

 private:
  struct Round;
  Task<> ask(DriverSlot& slot, std::shared_ptr<Round> round);
  Micros pause() const;

  Parts& parts_;
  std::set<const DriverSlot*> out_;  // asked, and no answer yet
  std::shared_ptr<Event> woken_;
  bool stopping_ = false;
};

}  // namespace atl
