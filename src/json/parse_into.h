// Parsing into a Value that the caller made, so that it may live in an arena.
#pragma once

#include <string_view>

#include "json/value.h"

namespace atl::json::detail {

Result<> parse_into(Value& out, std::string_view text, const Limits& limits);

}  // namespace atl::json::detail
