// Signals as clients name them: "SIGTERM", "TERM" or 15.
#pragma once

#include "base/result.h"
#include "json/value.h"

namespace atl::api::v1 {

Result<int> to_signal(const json::Value& value);

}  // namespace atl::api::v1
