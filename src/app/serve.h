// `atoll serve`: the daemon as a process.
//
// SIGTERM stops accepting, lets calls finish, and leaves every sandbox running for the next daemon.
// SIGINT (Ctrl-C) and `atoll down` end them. A second signal ends the process at once. SIGHUP is
// ignored.
#pragma once

#include "cli/program.h"

namespace atl::app {

// Returns when the daemon has stopped in order.
Result<> serve(cli::ServeOptions options);

}  // namespace atl::app
