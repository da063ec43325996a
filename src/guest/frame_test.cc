#include "guest/frame.h"

#include <gtest/gtest.h>

#include <cstring>

namespace atl::guest {
namespace {

void feed(FrameBuffer& buffer, std::string_view bytes) {
  std::memcpy(buffer.prepare(bytes.size()), bytes.data(), bytes.size());
  buffer.commit(bytes.size());
}

TEST(Frame, ComesOutWholeHoweverTheBytesArrive) {
  std::string bytes;
  append_frame(bytes, FrameType::exec, 7, "abc");
  append_frame(bytes, FrameType::exited, 8, "");

  FrameBuffer buffer;
  std::vector<std::pair<uint32_t, std::string>> seen;
  for (const char byte : bytes) {
    feed(buffer, std::string_view(&byte, 1));
    for (auto frame = buffer.next().value(); frame; frame = buffer.next().value()) {
      seen.emplace_back(frame->channel, frame->body);
    }
  }

  EXPECT_EQ(seen, (std::vector<std::pair<uint32_t, std::string>>{{7, "abc"}, {8, ""}}));
}

TEST(Frame, RefusesALengthBeyondTheLimitBeforeTheBodyArrives) {
  std::string bytes;
  append_header(bytes, FrameType::output, 1, kLargestBody + 1);

  FrameBuffer buffer;
  feed(buffer, bytes);

  EXPECT_EQ(buffer.next().error().code(), Code::invalid_argument);
}

TEST(Frame, RefusesAnUnknownType) {
  std::string bytes;
  append_frame(bytes, static_cast<FrameType>(50), 1, "");

  FrameBuffer buffer;
  feed(buffer, bytes);

  EXPECT_FALSE(buffer.next().has_value());
}

}  // namespace
}  // namespace atl::guest
