// Lengths of time as people say them, for messages about limits.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace atl {

// "7 days", "90 minutes", "1 hour", "1500 ms": in the largest unit that tells it exactly.
std::string in_words(std::chrono::milliseconds time);

// "8 days is longer than the 7 days that a sandbox may live", for `what` = "a sandbox may live".
std::string too_long(std::chrono::milliseconds asked, std::chrono::milliseconds most,
                     std::string_view what);

}  // namespace atl
