// What a service tells the manager that has started it (systemd's Type=notify).
#pragma once

#include <string_view>

#include "base/result.h"

namespace atl::os {

// "READY=1", "STOPPING=1". Does nothing where NOTIFY_SOCKET is not set.
Result<> tell_service_manager(std::string_view state);

}  // namespace atl::os
