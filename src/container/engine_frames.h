// EngineFrames: what an engine sends of a process without a terminal, taken apart.
//
// Each frame is a stream's number, three zero bytes, a length (big-endian), and so many bytes. The
// bytes are the guest's, and how they are cut may be, too: nothing is kept of a frame but its head,
// and a head that makes no sense is an error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace atl::container {

enum class EngineStream : uint8_t { input, output, errors, trouble };

class EngineFrames final {
 public:
  struct Piece {
    EngineStream stream = EngineStream::output;
    std::string_view bytes;  // of what was given; never empty
  };

  // Takes what it can from the front of `bytes`: the next piece, of at most `most` bytes (not 0);
  // nullopt when `bytes` is used up. Code::internal for what is no frame.
  Result<std::optional<Piece>> next(std::string_view& bytes, size_t most);
  // Between two frames.
  bool is_whole() const { return left_ == 0 && head_size_ == 0; }

 private:
  Result<> take_head();

  std::array<unsigned char, 8> head_{};
  size_t head_size_ = 0;
  EngineStream stream_ = EngineStream::output;
  uint32_t left_ = 0;  // of the frame that has begun
};

}  // namespace atl::container
