// The frames that a command's output is told in: 8 bytes {u8 kind, three zeros, u32 big-endian
// length} and `length` bytes. The media type is application/vnd.atoll.stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace atl::net {

inline constexpr std::string_view kOutputFrames = "application/vnd.atoll.stream";
inline constexpr size_t kFrameHeaderBytes = 8;

enum class FrameKind : uint8_t {
  start = 0,  // JSON
  out = 1,    // raw bytes, in order, without holes other than those that a gap tells
  err = 2,
  exit = 3,   // JSON; the last frame
  gap = 4,    // JSON
  error = 5,  // JSON, a problem; the last frame
};

}  // namespace atl::net
