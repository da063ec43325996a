// What the parts of the engine share. Owned by the engine, handed to each part by reference.
#pragma once

#include <set>

#include "core/driver_table.h"
#include "core/event_log.h"
#include "core/idempotency_table.h"
#include "core/journal.h"
#include "core/reaper.h"
#include "core/sandbox_table.h"
#include "store/store.h"

namespace atl {

struct Parts {
  Parts(asio::any_io_executor on, store::Store& the_store, std::vector<EngineDriver> given,
        telemetry::Metrics& the_metrics, const Clock& the_clock, EngineOptions the_options);

  // Out of every table; `epitaph` is what later lookups are told.
  void bury(const RecordPtr& record, std::string epitaph) {
    reaper.forget(*record);
    sandboxes.bury(record, std::move(epitaph));
  }

  asio::any_io_executor executor;
  store::Store& store;
  telemetry::Metrics& metrics;
  const Clock& clock;
  const EngineOptions options;
  DriverTable drivers;
  EventLog events;
  SandboxTable sandboxes;
  IdempotencyTable idempotency;
  Journal journal;
  Reaper reaper;
  std::string instance_id;
  std::set<std::string> unreadable;  // ids of rows that mean nothing to this daemon
  bool is_shutting_down = false;
};

// Code::resource_exhausted when `count` more would be more than a tenant may have.
Result<> check_tenant_has_room(const Parts& parts, const std::string& tenant, size_t count);

// For errors on their way up: `CO_TRY(auto route, at_stage("route", find_route(…)));`
template <typename T>
Result<T> at_stage(std::string_view stage, Result<T> result) {
  if (result) return result;
  return std::move(result).error().at_stage(stage);
}

}  // namespace atl
