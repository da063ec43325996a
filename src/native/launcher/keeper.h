// The keeper: starts the launcher, and starts it again when it dies. It does nothing else, so that
// nothing can happen to it. As a subreaper it inherits the agents of a dead launcher and collects
// them when they end.
#pragma once

#include "base/fd.h"
#include "base/result.h"

namespace atl::native {

// Takes the run directory's lock (Code::already_exists when another keeper has it), then runs
// `launcher_main` in a child until that ends by itself.
Result<> keep(int run_directory, int (*launcher_main)(void* argument), void* argument);

}  // namespace atl::native
