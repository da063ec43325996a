// Takes the API's binary stream apart (net/output_frame.h).
//
// Output is handed on as it arrives, in pieces of a frame, so that no frame is ever kept; what is
// JSON comes whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace atl::client {

struct FramePiece {
  uint8_t kind = 0;
  std::string_view bytes;  // good until the next call of add() or next()
};

class FrameReader final {
 public:
  static constexpr size_t kLargestJson = 8 * 1024 * 1024;

  // `bytes` must stay where they are until next() gives nullopt.
  void add(std::string_view bytes) { rest_ = bytes; }
  // Nullopt when more bytes are needed. Code::internal for what is no such stream.
  Result<std::optional<FramePiece>> next();
  // False in the middle of a frame: a stream that ends there was cut off.
  bool is_between_frames() const { return header_.empty() && !in_frame_; }

 private:
  Result<> take_header();

  std::string_view rest_;
  std::string header_;
  std::string json_;
  uint8_t kind_ = 0;
  size_t left_ = 0;
  bool in_frame_ = false;
};

}  // namespace atl::client
