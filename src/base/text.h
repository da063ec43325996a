// Small questions about text: is it UTF-8, base64 both ways, sizes and durations as people write
// them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace atl {

// The length of the well-formed UTF-8 sequence at the front of `text`, which is not empty; or 0.
size_t utf8_sequence(std::string_view text);
// True for well-formed UTF-8 (no surrogates, no overlong forms).
bool is_utf8(std::string_view text);
// Malformed bytes become U+FFFD; for messages that show a guest's bytes to people.
std::string to_printable(std::string_view text);

std::string to_base64(std::string_view bytes);
Result<std::string> from_base64(std::string_view text);

std::vector<std::string> split(std::string_view text, char separator);

// "256m", "1g", "512k", "1048576" → bytes, binary multiples.
Result<int64_t> parse_size(std::string_view text);
// "90" (seconds), "90s", "5m", "2h", "1d", "250ms"; a century at most.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

// The nearest of `known` to a mistyped word, or "" when none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace atl
