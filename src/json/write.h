// The pieces that JSON text is written from, straight into a string.
//
// Whatever the bytes, the result is valid JSON and safe to show on a terminal: malformed UTF-8
// becomes U+FFFD, control characters (DEL and C1 too, which some terminals obey) are escaped, and
// NaN and infinities become null.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

namespace atl::json {

void write_string(std::string& out, std::string_view text);
void write_integer(std::string& out, int64_t value);
void write_integer(std::string& out, uint64_t value);
void write_double(std::string& out, double value);
void write_value(std::string& out, const boost::json::value& value);

// `text` with every malformed byte replaced by U+FFFD.
std::string to_well_formed(std::string_view text);

}  // namespace atl::json
