// What the parts of the engine share. Owned by the engine, handed to each part by reference.
#pragma once

#include <functional>
#include <set>

#include "core/admission.h"
#include "core/driver_table.h"
#include "core/event_log.h"
#include "core/failover.h"
#include "core/idempotency_table.h"
#include "core/journal.h"
#include "core/known_programs.h"
#include "core/pool_shelf.h"
#include "core/reaper.h"
#include "core/sandbox_table.h"
#include "core/snapshots.h"
#include "store/store.h"

namespace atl {

struct Parts {
  Parts(asio::any_io_executor on, store::Store& the_store, std::vector<EngineDriver> given,
        telemetry::Metrics& the_metrics, const Clock& the_clock, EngineOptions the_options);

  // Out of every table; `epitaph` is what later lookups are told.
  void bury(const RecordPtr& record, std::string epitaph) {
    reaper.forget(*record);
    sandboxes.bury(record, std::move(epitaph));
    record->place.leave();
    admission.on_freed(record->tenant);
  }

  asio::any_io_executor executor;
  store::Store& store;
  telemetry::Metrics& metrics;
  const Clock& clock;
  const EngineOptions options;
  DriverTable drivers;
  EventLog events;
  Failover failover;
  SandboxTable sandboxes;
  KnownPrograms programs;
  Admission admission;
  Journal journal;
  IdempotencyTable idempotency;
  Reaper reaper;
  Snapshots snapshots;
  PoolShelf shelf;
  std::vector<store::SessionRow> session_rows;  // as they were read, for Sessions to take
  std::string instance_id;
  std::set<std::string> unreadable;  // ids of rows that mean nothing to this daemon
  bool is_shutting_down = false;
  // Something could not be done, or somebody has stopped answering; the sweeper's ear.
  std::function<void()> on_behind = [] {};

 private:
  // Tells of it in the log of events and in the metrics.
  void note_health(const DriverSlot& slot, DriverCondition before);
};

// For errors on their way up: `CO_TRY(auto route, at_stage("route", find_route(…)));`
template <typename T>
Result<T> at_stage(std::string_view stage, Result<T> result) {
  if (result) return result;
  return std::move(result).error().at_stage(stage);
}

}  // namespace atl
