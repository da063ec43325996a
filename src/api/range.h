// Range requests (RFC 9110): one range of bytes; what we do not understand counts as not asked, as
// the standard has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace atl::api {

struct ByteRange {
  uint64_t first = 0;
  uint64_t length = 0;
};

enum class RangeKind : uint8_t {
  whole,  // everything: no range was asked, or none that we understand
  part,
  unsatisfiable,  // it begins after the end: 416
};

struct RangeChoice {
  RangeKind kind = RangeKind::whole;
  ByteRange range;
};

// `header` is the Range field: "bytes=0-99", "bytes=100-", "bytes=-5".
RangeChoice choose_range(std::optional<std::string_view> header, uint64_t size);

}  // namespace atl::api
