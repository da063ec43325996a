// ${VARIABLE} in configuration files.
//
//   ${HOME}          the value; an error if it is not set
//   ${REGION:-eu}    the value, or `eu` if it is not set or empty
//   $${HOME}         the text ${HOME}
//
// A `$` that no brace follows is itself. Values are not looked through again.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace atl::config {

// How a value of the environment is found.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;

struct Expanded {
  std::string text;
  std::vector<std::string> variables;  // those that gave their value
};

// Of one text, after expansion.
inline constexpr size_t kLongestText = 64 * 1024;

bool has_variables(std::string_view text);

// Code::invalid_argument for a form that is none, Code::not_found for a variable that is not set,
// Code::too_large beyond kLongestText. No message holds a value.
Result<Expanded> expand(std::string_view text, const Environment& environment);

}  // namespace atl::config
