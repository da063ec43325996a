// What the launcher writes down about a sandbox, so that its successor can take it up.
//
// One small file per sandbox in box/<id>/, replaced whole. It names the agent by pid, start time
// and boot, so that a successor never mistakes a stranger for it, and holds the token for the
// agent's socket: mode 0600.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace atl::native {

struct Record {
  std::string id;
  std::string driver;
  std::string boot_id;
  pid_t pid = 0;
  uint64_t start_ticks = 0;
  std::string token;
  Micros expires_at{0};
  bool boxed = false;       // it has cgroups
  std::string processors;   // that are its own
  uint64_t pool_bytes = 0;  // what the storage pool promised it; 0 = it is not in there
};

constexpr const char* kRecordFile = "record";

Result<> save_record(int sandbox_directory, const Record& record);
Result<Record> load_record(int sandbox_directory);

}  // namespace atl::native
