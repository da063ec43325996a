// Drivers as GET /v1/drivers and `atoll drivers` tell them.
#pragma once

#include <string>
#include <vector>

#include "core/engine.h"

namespace atl::api::v1 {

// {"drivers":[…]}
std::string encode_drivers(const std::vector<DriverView>& drivers);

}  // namespace atl::api::v1
