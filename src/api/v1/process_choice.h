// Which process of a sandbox a request is about.
#pragma once

#include <optional>

#include "driver/guest.h"

namespace atl::api::v1 {

// The one with this id, or the one that was started last. Code::not_found when there is none.
Task<ProcessInfo> get_process(Guest& guest, std::optional<ProcessId> id);

}  // namespace atl::api::v1
