// What a process reads, written to it beside the reading of its output.
//
// A process that does not read must not keep its output or its end from whoever waits for them, so
// this is spawned, and the caller goes on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/task.h"
#include "driver/guest.h"

namespace atl {

enum class AfterStdin : uint8_t { close, leave_open };

// Writes all of `bytes` in pieces. A process that closes its stdin early has its reasons: that is
// no error, and nothing more is written.
Task<> feed_stdin(std::shared_ptr<Process> process, std::string bytes, AfterStdin after);

}  // namespace atl
