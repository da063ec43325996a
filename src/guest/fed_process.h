// A process whose caller has asked for its own descriptors as stdio (StdioMode::direct), over a way
// that cannot carry them or to a kernel that would misuse them: what can be read from the caller's
// stdin is sent to it. Its output comes by next(), like that of any other.
#pragma once

#include <memory>

#include "base/fd.h"
#include "driver/guest.h"

namespace atl::guest {

// Dropped, the process is, too, and no more is read.
std::unique_ptr<Process> feed_process(const asio::any_io_executor& executor,
                                      std::unique_ptr<Process> process, Fd input);

}  // namespace atl::guest
