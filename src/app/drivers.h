// What an engine is given to make sandboxes with: the same for a daemon, a run and a library.
#pragma once

#include <vector>

#include "base/task.h"
#include "core/engine.h"

namespace atl::native {
class LauncherClient;
}

namespace atl::app {

// Every driver of the registry, over one launcher, in the order of preference. The launcher
// outlives them.
std::vector<EngineDriver> make_drivers(const asio::any_io_executor& executor,
                                       native::LauncherClient& launcher, size_t most_parked);

}  // namespace atl::app
