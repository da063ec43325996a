// The drivers that wiring handed over, in the order of preference, with what probing them said.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/circuit_breaker.h"
#include "core/driver_health.h"
#include "core/engine.h"
#include "core/start_estimate.h"

namespace atl {

struct DriverSlot {
  std::unique_ptr<Driver> driver;
  std::string summary;
  // Nullopt while it does not answer, and `trouble` says why: when it never has, or when so many
  // answers are missing as DriverHealth wants.
  std::optional<Capabilities> capabilities;
  Error trouble{Code::unavailable, "not probed yet"};
  bool was_ready = false;
  bool is_asked = true;      // false = not before ask_rest()
  bool has_runtimes = true;  // false = not before ask_for_runtimes()
  DriverHealth health;
  CircuitBreaker circuit;
  StartEstimate start;
  int64_t weight = 1;
  std::optional<policy::Price> price;  // as it is configured
  policy::DriverLabels labels;
  policy::Quota capacity;
  const policy::Amounts* used = nullptr;  // of it; null = nobody counts, and it is never full
  // For strategies that go round: when it was first on a route, and what it has got ahead.
  uint64_t last_turn = 0;
  double credit = 0;

  std::string name() const { return std::string(driver->name()); }
  // With its runtimes where somebody has asked for one.
  Task<Capabilities> look() const {
    return has_runtimes ? driver->probe_with_runtimes() : driver->probe();
  }
};

class DriverTable final {
 public:
  // `clock` outlives it.
  explicit DriverTable(std::vector<EngineDriver> drivers, Asking asking = Asking::at_once,
                       const RoutingOptions& routing = {}, const Clock& clock = system_clock(),
                       const policy::Amounts& assumed = policy::Quotas().assumed);

  // Called when the health of a driver has changed, with what it was before.
  using OnHealth = std::function<void(const DriverSlot& slot, DriverCondition before)>;
  void set_on_health(OnHealth on_health) { on_health_ = std::move(on_health); }

  // Asks every driver.
  Task<> probe_all();
  Task<> probe(DriverSlot& slot);
  // What a probe found, by whoever has asked.
  void note_probe(DriverSlot& slot, Result<Capabilities> probed);
  // Those that were to be asked late.
  bool has_unasked() const;
  Task<> ask_rest();
  // Their runtimes, which are tried only when somebody names one.
  Task<> ask_for_runtimes();

  DriverSlot* find(std::string_view name);
  // Code::unavailable when it is not configured any more or does not answer.
  Result<DriverSlot*> get_ready(std::string_view name);

  std::vector<DriverSlot>& slots() { return slots_; }
  const std::vector<DriverSlot>& slots() const { return slots_; }
  std::vector<std::string> names() const;
  std::vector<DriverView> views() const;
  // What a sandbox with these limits is priced as; where there is none, what admission assumes.
  policy::Amounts size_of(const Resources& resources) const {
    return policy::amounts_of(resources, assumed_);
  }
  // Counts routes that were taken.
  uint64_t next_turn() { return ++turns_; }

  // Where it is counted what each driver's sandboxes have; the references stay good.
  void count_by(const std::function<const policy::Amounts&(const std::string& driver)>& used_on);

  // Code::unsupported: "local cannot pause", and which configured drivers can.
  Error lacking(std::string_view driver, std::string_view verb,
                const std::function<bool(const Capabilities&)>& can) const;

 private:
  std::vector<DriverSlot> slots_;
  OnHealth on_health_;
  policy::Amounts assumed_;
  uint64_t turns_ = 0;
};

// Of a sandbox of this size, in US dollars an hour: as it is configured, else as the driver
// declares whatever the size; nothing for what runs on this host and does not say otherwise;
// nullopt = not known.
std::optional<double> price_of(const DriverSlot& slot, const policy::Amounts& size);
// How long a create takes, in milliseconds: measured lately, else declared; nullopt = not known.
std::optional<double> start_of(const DriverSlot& slot);

// What `more` is too much for, beside what its sandboxes have.
std::optional<policy::Shortage> find_shortage(const DriverSlot& slot, const policy::Amounts& more);
// Code::unavailable: "docker is full: it has 3 of 3 sandboxes, and 1 more is asked".
Error full(const DriverSlot& slot, const policy::Shortage& shortage);

// "a", "a and b", "a, b and c".
std::string enumerate(const std::vector<std::string>& words);

}  // namespace atl
