// Admission: whether something may be made now, must wait for its turn, or is refused.
//
// Three things are asked of every create and run, in this order. The tenant's quota: how many
// sandboxes, processors, memory and disk its live ones have, and how often it may create; who is
// over it is refused at once. Room: how many may be made at a time, how much all tenants together
// may have on this host, and how many creates and runs the tenant may have under way; who finds
// none waits in a fair queue (fair_queue.h), as long as the request says. And an empty queue: who
// could be served does not pass those who wait.
//
// What is used is what the table of sandboxes says, and what is kept free for those who have their
// place and are not in the table yet; nothing is stored, so nothing is wrong after a crash.
//
// A run's sandbox that is only waiting to be cleared away counts for the host, not for its tenant.
//
// Lives on the core loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/task.h"
#include "core/place.h"
#include "core/sandbox_table.h"

namespace atl {

class Admission final {
 public:
  // All but the executor outlive it.
  Admission(asio::any_io_executor executor, const Clock& clock, telemetry::Metrics& metrics,
            SandboxTable& sandboxes, EventLog& events, const EngineOptions& options);
  ~Admission();

  policy::Amounts amounts_of(const Resources& resources) const;

  // A place, if there is one at once; nullopt when one has to wait for it. Code::resource_exhausted
  // over a quota, Code::unavailable when nobody is admitted any more.
  Result<std::optional<Place>> try_enter(const std::string& tenant, const policy::Amounts& amounts);

  struct Ask {
    SandboxView view;  // of what is asked for, for those who look at what waits
    policy::Amounts amounts;
    std::optional<Millis> timeout;  // nullopt = as the options say
    std::shared_ptr<RunStop> stop;  // gives the wait up; null = nobody does
    Lifecycle lifecycle = Lifecycle::session;
  };
  // After try_enter() had none. Code::resource_exhausted when the queue is full, or the time is up;
  // Code::cancelled when it was given up, Code::unavailable at the end of the daemon.
  Task<Place> wait(Ask ask);

  // For what does not wait, forks and larger sizes: the same errors, and no turn is taken.
  Result<> check_room(const std::string& tenant, const policy::Amounts& more) const;
  // The same, and kept free until it is settled.
  Result<Place> keep_free(const std::string& tenant, const policy::Amounts& more);
  Result<> take_creates(const std::string& tenant, size_t count);

  // A sandbox of this tenant has ended: somebody may have room.
  void on_freed(const std::string& tenant);
  // Calls whoever has room now.
  void serve();
  // Sends those away whose time is up. The timer calls it.
  void step();
  // Sends everybody away, and nobody is admitted any more.
  void close();

  // What waits under this id, or this name of the caller's tenant, and is the caller's to see.
  std::optional<SandboxView> find(const Caller& caller, std::string_view id_or_name) const;
  // Takes it out of the queue; false when there is none.
  bool send_away(const Caller& caller, std::string_view id_or_name);

  TenantUse use_of(const std::string& tenant) const;
  size_t waiting() const;

 private:
  std::shared_ptr<AdmissionState> state_;
};

}  // namespace atl
