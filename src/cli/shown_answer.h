// A daemon's answer, shown whole.
#pragma once

#include <string>

#include "cli/verb.h"

namespace atl::cli {

// As it came where --json was said, laid out for people otherwise. Gives the verb's exit code.
Result<int> show_answer(Context& context, const std::string& text);

}  // namespace atl::cli
