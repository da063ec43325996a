// The keeper: starts the launcher, and starts it again when it dies. It does nothing else, so that
// nothing can happen to it. As a subreaper it inherits the agents of a dead launcher and collects
// them when they end.
//
// In a service of the host it also takes two signals. SIGTERM is passed on to the launcher, which
// ends every sandbox and leaves. SIGHUP ends the launcher alone, for the program that is installed
// now: its launcher takes the sandboxes up.
#pragma once

#include <cstdint>

#include "base/fd.h"
#include "base/result.h"

namespace atl::native {

enum class KeptFor : uint8_t { daemon, service };
enum class KeptUntil : uint8_t {
  launcher_left,
  replacement,  // only in a service: the caller executes the program anew
};

// Takes the run directory's lock (Code::already_exists when another keeper has it), then runs
// `launcher_main` in a child until that ends by itself. In a service SIGTERM is blocked in it from
// the start.
Result<KeptUntil> keep(KeptFor whom, int run_directory, int (*launcher_main)(void* argument),
                       void* argument);

}  // namespace atl::native
