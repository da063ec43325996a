// Numbers and times as people read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace atl::cli {

std::string format_ms(double ms);          // "0.41 ms", "3.1 ms", "12 ms", "1.50 s", "2m 5s"
std::string format_bytes(uint64_t bytes);  // "712 B", "9.4 MB", "1.2 GB": binary multiples
std::string format_span(Millis span);      // "8s", "5m", "2h", "3d": one unit, for tables
// RFC 3339 as the API writes it.
std::optional<WallTime> find_time(std::string_view text);
// "in 5m", "8s ago"; `text` is RFC 3339, and what is none comes back as it is.
std::string format_since(std::string_view text, WallTime now);
std::string format_until(std::string_view text, WallTime now);

// Text from elsewhere for a terminal: one line, no control characters, nothing that turns the
// direction of writing.
std::string single_line(std::string_view text);

}  // namespace atl::cli
