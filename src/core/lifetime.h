// Until when a sandbox lives: its time to live, what its driver allows, how long it is kept
// afterwards, and how long its hooks may take before it stops.
#pragma once

#include "core/driver_table.h"
#include "core/sandbox_record.h"

namespace atl {

// A moment on both clocks.
struct Moment {
  WallTime wall{};
  Micros boot{0};
};

// Its time begins to count at `from`, and is as long as `ttl`, or as the driver allows at most.
// What lives as long as the server has none.
void set_lifetime(SandboxRecord& record, Moment from, std::chrono::seconds ttl,
                  const DriverSlot& slot, const EngineOptions& options);

}  // namespace atl
