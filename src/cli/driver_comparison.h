// The table to decide by: what each driver isolates, how fast it starts, what it costs, keeps and
// limits.
#pragma once

#include <string>

#include "json/value.h"

namespace atl::cli {

// Of the `drivers` of GET /v1/drivers.
std::string compare_drivers(const json::Array& drivers);

}  // namespace atl::cli
