#include "container/engine_frames.h"

#include <algorithm>

namespace atl::container {
namespace {

// Far more than an engine reads from a process at once.
constexpr uint32_t kLargestFrame = 16 << 20;

}  // namespace

Result<> EngineFrames::take_head() {
  uint32_t size = 0;
  for (size_t i = 4; i < head_.size(); ++i) size = size << 8 | head_[i];
  const bool is_sound = head_[0] <= static_cast<uint8_t>(EngineStream::trouble) &&
                        (head_[1] | head_[2] | head_[3]) == 0 && size <= kLargestFrame;
  if (!is_sound) return Error(Code::internal, "the engine sends something that is no frame");
  stream_ = static_cast<EngineStream>(head_[0]);
  left_ = size;
  head_size_ = 0;
  return {};
}

Result<std::optional<EngineFrames::Piece>> EngineFrames::next(std::string_view& bytes,
                                                              size_t most) {
  while (!bytes.empty()) {
    if (left_ > 0) {
      const size_t size = std::min({bytes.size(), most, static_cast<size_t>(left_)});
      const Piece piece{stream_, bytes.substr(0, size)};
      bytes.remove_prefix(size);
      left_ -= static_cast<uint32_t>(size);
      return std::optional(piece);
    }
    head_[head_size_++] = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    if (head_size_ == head_.size()) TRY_OK(take_head());
  }
  return std::optional<Piece>();
}

}  // namespace atl::container
