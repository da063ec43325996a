// json::Value: any JSON as a tree, and the bounded parser that makes one from text.
//
// The only header of ours that names Boost.JSON. Most code never needs it: decode.h and encode.h go
// between text and described structs.
#pragma once

#include <cstddef>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"

namespace atl::json {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;

// What a text may cost before it is refused. Fixed besides: 10,000 members in an object, 65,536
// elements in an array.
struct Limits {
  size_t max_bytes = size_t{1} << 20;
  size_t max_depth = 32;
};

// Strict JSON. Refuses duplicate keys, malformed UTF-8, lone surrogates and anything after the
// value; a text or a container over its limit is Code::too_large, all else Code::invalid_argument.
// Never throws.
Result<Value> parse(std::string_view text, const Limits& limits = {});

}  // namespace atl::json
