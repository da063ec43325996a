// Frames: how messages between host and agent lie on one byte stream.
//
//   u32 body length | u32 channel | u8 type | 3 bytes zero | body
//
// The channel is the number of the request that a frame belongs to, chosen by the host and unique
// per connection; all answers to it, and all output of a process started by it, carry the same
// number. Neither side believes the other: a frame that is too long or of an unknown type ends the
// connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace atl::guest {

constexpr uint32_t kProtocolVersion = 6;
// Whoever speaks an older one is refused: its frames look different.
constexpr uint32_t kOldestProtocolVersion = 6;
constexpr size_t kFrameHeader = 12;
constexpr size_t kFrameTypeAt = 8;
constexpr size_t kLargestBody = 1 << 20;
// How much file or output data one frame carries; well below the largest body.
constexpr size_t kDataPiece = 256 * 1024;

enum class FrameType : uint8_t {
  // host → agent
  hello = 1,
  exec,
  attach,
  detach,
  credit,
  stdin_data,
  stdin_close,
  signal,
  processes,
  end_processes,
  stats,
  stat,
  list,
  open_read,
  read,
  open_write,
  write,
  commit,
  close_file,
  mkdir,
  move,
  remove,
  diff,
  resize,
  dial,
  tunnel_write,
  tunnel_finish,
  hand_over,  // a parked sandbox is somebody's: its environment
  tool,
  resume_write,
  renew,  // moves the moment at which the agent ends by itself
  // host → who stands around the agent (native/keeper_call.h)
  keep,
  take_up,
  // host → agent, where an engine keeps the sandbox's memory (container/checkpoints.h)
  rest,    // lets go of everybody who is connected, and goes on alone
  become,  // is another sandbox from now on: what an agent is told first, once more
  clock,   // which time it has
  // agent → host
  ok = 64,
  error,
  started,
  output,
  gap,
  exited,
};

struct Frame {
  FrameType type{};
  uint32_t channel = 0;
  std::string_view body;  // borrows from the buffer that it was cut from
};

// Appends a whole frame to `out`.
void append_frame(std::string& out, FrameType type, uint32_t channel, std::string_view body);
// Appends only the header, for a body of `length` bytes that follows.
void append_header(std::string& out, FrameType type, uint32_t channel, size_t length);

// Collects bytes and cuts frames off their front.
class FrameBuffer final {
 public:
  // Where to read the next bytes to; at least `room` of them fit. Invalidates frames handed out
  // before.
  char* prepare(size_t room);
  void commit(size_t bytes) { end_ += bytes; }

  // The next whole frame, or nothing yet. Code::invalid_argument when the other side breaks the
  // rules.
  Result<std::optional<Frame>> next();

  // Bytes that came with the last read and are not consumed yet.
  std::string_view pending() const {
    return std::string_view(bytes_).substr(begin_, end_ - begin_);
  }
  void consume(size_t bytes) { begin_ += bytes; }

 private:
  std::string bytes_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace atl::guest
