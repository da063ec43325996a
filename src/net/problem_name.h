// What a problem+json calls a code, for the server's own problems and for those of whoever answers.
#pragma once

#include <string>
#include <string_view>

namespace atl::net {

// "urn:atoll:problem:not_found"
std::string problem_type(std::string_view code);
// The beginning of a sentence for people: "not_found" → "Not found".
std::string problem_title(std::string_view code);

}  // namespace atl::net
