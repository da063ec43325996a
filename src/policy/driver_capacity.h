// DriverCapacity: how much the sandboxes on one driver may have together, as operators write it.
#pragma once

#include <string_view>

#include "base/result.h"
#include "policy/quota.h"

namespace atl::policy {

// A list, each part of it once: "20", "sandboxes=20,cpus=8,memory=16g,disk=100g". A number alone
// counts sandboxes. Code::invalid_argument for anything else.
Result<Quota> parse_capacity(std::string_view text);

}  // namespace atl::policy
