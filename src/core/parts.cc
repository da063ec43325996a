#include "core/parts.h"

#include <fstream>

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
      drivers(std::move(given), options.asking),
      events(executor, the_clock),
      sandboxes(the_metrics, events),
      idempotency(the_clock),
      journal(the_store, the_metrics, the_clock,
              options.boot_id.empty() ? kernel_boot_id() : options.boot_id),
      reaper(executor, the_clock) {}

Result<> check_tenant_has_room(const Parts& parts, const std::string& tenant, size_t count) {
  const size_t there = parts.sandboxes.count_of(tenant);
  if (there + count <= parts.options.most_sandboxes_per_tenant) return {};
  return Error(Code::resource_exhausted,
               "this tenant has " + std::to_string(there) + " sandboxes, and may have " +
                   std::to_string(parts.options.most_sandboxes_per_tenant))
      .with_hint("destroy some; GET /v1/limits tells what there may be");
}

}  // namespace atl
