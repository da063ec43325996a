// What an unquoted YAML word means: null, a boolean, a number or text.
#pragma once

#include <string_view>

#include "json/value.h"

namespace atl::json::detail {

// YAML 1.2's core schema, but for what JSON cannot hold (.inf, .nan) and what readers disagree
// about (0755): those are errors that say what to write instead.
Result<Value> plain_scalar(std::string_view word);

}  // namespace atl::json::detail
