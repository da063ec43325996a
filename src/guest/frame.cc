#include "guest/frame.h"

#include <cstring>

namespace atl::guest {
namespace {

uint32_t read_u32(const char* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

bool is_known(uint8_t type) {
  return (type >= static_cast<uint8_t>(FrameType::hello) &&
          type <= static_cast<uint8_t>(FrameType::clock)) ||
         (type >= static_cast<uint8_t>(FrameType::ok) &&
          type <= static_cast<uint8_t>(FrameType::exited));
}

}  // namespace

void append_header(std::string& out, FrameType type, uint32_t channel, size_t length) {
  char header[kFrameHeader] = {};
  const auto body = static_cast<uint32_t>(length);
  std::memcpy(header, &body, sizeof body);
  std::memcpy(header + 4, &channel, sizeof channel);
  header[kFrameTypeAt] = static_cast<char>(type);
  out.append(header, sizeof header);
}

void append_frame(std::string& out, FrameType type, uint32_t channel, std::string_view body) {
  append_header(out, type, channel, body.size());
  out += body;
}

char* FrameBuffer::prepare(size_t room) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (bytes_.size() - end_ < room && begin_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (bytes_.size() - end_ < room) bytes_.resize(end_ + room);
  return bytes_.data() + end_;
}

Result<std::optional<Frame>> FrameBuffer::next() {
  if (end_ - begin_ < kFrameHeader) return std::optional<Frame>();
  const char* header = bytes_.data() + begin_;
  const uint32_t length = read_u32(header);
  const auto type = static_cast<uint8_t>(header[8]);
  if (length > kLargestBody) return Error(Code::invalid_argument, "a frame is longer than allowed");
  if (!is_known(type) || header[9] != 0 || header[10] != 0 || header[11] != 0) {
    return Error(Code::invalid_argument, "a frame of an unknown type");
  }
  if (end_ - begin_ < kFrameHeader + length) return std::optional<Frame>();
  Frame frame{static_cast<FrameType>(type), read_u32(header + 4),
              std::string_view(header + kFrameHeader, length)};
  begin_ += kFrameHeader + length;
  return std::optional(frame);
}

}  // namespace atl::guest
