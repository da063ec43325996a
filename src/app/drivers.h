// What an engine is given to make sandboxes with: the same for a daemon, a run and a library.
#pragma once

#include <string>
#include <vector>

#include "base/task.h"
#include "core/engine.h"
#include "drivers/extension/grants.h"
#include "drivers/registry.h"

namespace atl::app {

// Every driver of the registry, over one launcher, in the order of preference, and then the
// extensions. The launcher outlives them.
std::vector<EngineDriver> make_drivers(const asio::any_io_executor& executor,
                                       native::LauncherClient& launcher, size_t most_parked,
                                       drivers::Engines engines,
                                       std::vector<extension::Grant> extensions = {});

// The extensions that the operator has added; what cannot be read is logged, and left out.
std::vector<extension::Grant> find_extensions(const std::string& state_directory);

// For sandboxes that end with this process; `libexec` is where atoll-agent is.
drivers::Engines engines_of(const native::LauncherClient& embedded, const std::string& libexec);

}  // namespace atl::app
