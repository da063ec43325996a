// The manual page atoll(1), made from the verbs.
#pragma once

#include <span>
#include <string>

#include "cli/verb.h"

namespace atl::cli {

// In the language of man(7).
std::string manual_page(std::span<const Verb* const> verbs, std::string_view version);

}  // namespace atl::cli
