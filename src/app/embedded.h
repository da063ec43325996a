// The engine inside `atoll run`, for hosts without a daemon: nothing is left when it is gone.
//
// Nothing here touches a database, TLS or JSON: this is the way on which every millisecond is felt.
#pragma once

#include <memory>
#include <string>

#include "cli/program.h"

namespace atl::app {

// `state_directory` is where extensions are noted; "" = there are none.
Result<std::unique_ptr<cli::LocalEngine>> open_embedded_engine(
    std::shared_ptr<const policy::Profiles> profiles, const std::string& state_directory);

}  // namespace atl::app
