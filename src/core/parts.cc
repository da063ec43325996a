#include "core/parts.h"

#include <fstream>

#include "json/describe.h"
#include "telemetry/metrics.h"

namespace atl {
namespace {

std::string kernel_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  return text;
}

}  // namespace

Parts::Parts(asio::any_io_executor on, store::Store& the_store, std::vector<EngineDriver> given,
             telemetry::Metrics& the_metrics, const Clock& the_clock, EngineOptions the_options)
    : executor(std::move(on)),
      store(the_store),
      metrics(the_metrics),
      clock(the_clock),
      options(std::move(the_options)),
      drivers(std::move(given), options.asking, options.routing, the_clock,
              options.admission.quotas.assumed),
      events(executor, the_clock),
      failover(options.routing.retries, the_metrics, events, the_clock),
      sandboxes(the_metrics, events, options.admission.quotas.assumed),
      admission(executor, the_clock, the_metrics, sandboxes, events, options),
      journal(the_store, the_metrics, the_clock,
              options.boot_id.empty() ? kernel_boot_id() : options.boot_id),
      idempotency(the_clock, journal.boot_id()),
      reaper(executor, the_clock),
      snapshots(the_store, drivers, the_metrics, the_clock, options),
      shelf(sandboxes, the_metrics, the_clock) {
  drivers.count_by([this](const std::string& driver) -> const policy::Amounts& {
    return sandboxes.used_on(driver);
  });
  drivers.set_on_health(
      [this](const DriverSlot& slot, DriverCondition before) { note_health(slot, before); });
}

// What one answer more or less has changed is no news, and neither is what was found at the start.
void Parts::note_health(const DriverSlot& slot, DriverCondition before) {
  const bool is_trusted = slot.health.is_trusted();
  metrics.driver_healthy.at(slot.driver->name()).set(is_trusted ? 1 : 0);
  const bool was_trusted = before == DriverCondition::healthy || before == DriverCondition::failing;
  if (before == DriverCondition::unknown || is_trusted == was_trusted) return;
  events.add_driver(slot.name(), std::string(json::name_of(slot.health.state())),
                    is_trusted ? std::string() : slot.trouble.message());
}

}  // namespace atl
