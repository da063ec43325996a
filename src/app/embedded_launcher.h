// A launcher for one process: it ends with it, and everything that it made, too.
#pragma once

#include <memory>
#include <string>

#include "base/task.h"

namespace atl::native {
class LauncherClient;
}

namespace atl::app {

// Its directory is in $XDG_RUNTIME_DIR/atoll, or in /tmp/atoll-UID.
Result<std::unique_ptr<native::LauncherClient>> open_embedded_launcher(
    const asio::any_io_executor& executor, std::string libexec, bool is_silent = false);

}  // namespace atl::app
