// The engine inside `atoll run`, for hosts without a daemon: nothing is left when it is gone.
//
// Nothing here touches a database, TLS or JSON: this is the way on which every millisecond is felt.
#pragma once

#include <memory>

#include "cli/program.h"

namespace atl::app {

Result<std::unique_ptr<cli::LocalEngine>> open_embedded_engine();

}  // namespace atl::app
