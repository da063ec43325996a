// What `atoll map` runs: a command with places for an input, and the inputs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace atl::cli {

constexpr size_t kMostInputs = 1'000'000;
constexpr size_t kMostInputBytes = size_t{256} << 20;

// What reading them gave; that they are more than kMostInputBytes is a usage error.
Result<std::string> within_limit(Result<std::string> inputs);

// One input per line, or per NUL byte; a last one without its end counts, empty ones do not.
// What cannot be split is a usage error.
Result<std::vector<std::string>> split_inputs(std::string_view text, char separator);

// `{}` is the input and `{#}` its number, from 1, wherever they stand in an argument. A command
// that has neither takes the input as its last argument.
std::vector<std::string> fill_in(const std::vector<std::string>& command, std::string_view input,
                                 size_t number);

}  // namespace atl::cli
