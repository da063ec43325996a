#include "client/frame_reader.h"

#include <algorithm>

#include "net/output_frame.h"

namespace atl::client {
namespace {

using net::FrameKind;
using net::kFrameHeaderBytes;

bool is_output(uint8_t kind) {
  return kind == static_cast<uint8_t>(FrameKind::out) ||
         kind == static_cast<uint8_t>(FrameKind::err);
}

}  // namespace

Result<> FrameReader::take_header() {
  const size_t count = std::min(kFrameHeaderBytes - header_.size(), rest_.size());
  header_ += rest_.substr(0, count);
  rest_.remove_prefix(count);
  if (header_.size() < kFrameHeaderBytes) return {};

  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(header_[i])); };
  if ((byte(1) | byte(2) | byte(3)) != 0) {
    return Error(Code::internal, "the daemon's answer is no stream of frames");
  }
  kind_ = static_cast<uint8_t>(header_[0]);
  left_ = byte(4) << 24 | byte(5) << 16 | byte(6) << 8 | byte(7);
  if (!is_output(kind_) && left_ > kLargestJson) {
    return Error(Code::too_large, "a frame of the daemon's answer is too large");
  }
  header_.clear();
  json_.clear();
  in_frame_ = true;
  return {};
}

Result<std::optional<FramePiece>> FrameReader::next() {
  for (;;) {
    if (!in_frame_) {
      if (rest_.empty()) return std::optional<FramePiece>();
      TRY_OK(take_header());
      if (!in_frame_) continue;
    }
    const std::string_view bytes = rest_.substr(0, left_);
    rest_.remove_prefix(bytes.size());
    left_ -= bytes.size();
    in_frame_ = left_ > 0;
    if (is_output(kind_)) {
      if (!bytes.empty()) return std::optional(FramePiece{kind_, bytes});
    } else {
      json_ += bytes;
      if (!in_frame_) return std::optional(FramePiece{kind_, json_});
    }
    if (in_frame_) return std::optional<FramePiece>();
  }
}

}  // namespace atl::client
