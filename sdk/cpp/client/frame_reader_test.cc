#include "client/frame_reader.h"

#include <gmock/gmock.h>

namespace atl::client {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::string frame(uint8_t kind, std::string_view bytes) {
  const auto size = static_cast<uint32_t>(bytes.size());
  std::string out{static_cast<char>(kind), 0, 0, 0};
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift & 255);
  return out + std::string(bytes);
}

using Seen = std::vector<std::pair<int, std::string>>;

// Pieces of one frame of output that follow each other are put together again.
Seen read_in_pieces(const std::string& bytes, size_t piece_size) {
  FrameReader reader;
  Seen seen;
  int last = -1;
  for (size_t at = 0; at < bytes.size(); at += piece_size) {
    reader.add(std::string_view(bytes).substr(at, piece_size));
    for (;;) {
      const auto piece = reader.next();
      EXPECT_TRUE(piece) << piece.error().message();
      if (!piece || !*piece) break;
      const bool goes_on = (*piece)->kind == last && (last == 1 || last == 2);
      if (goes_on) {
        seen.back().second += (*piece)->bytes;
      } else {
        seen.emplace_back((*piece)->kind, (*piece)->bytes);
      }
      last = (*piece)->kind;
    }
  }
  EXPECT_TRUE(reader.is_between_frames());
  return seen;
}

TEST(FrameReader, GivesTheSameHoweverTheBytesArrive) {
  const std::string stream = frame(0, "{\"process\":1}") + frame(1, "hello ") + frame(1, "") +
                             frame(2, std::string("err\0or", 6)) + frame(3, "{}");

  for (size_t size = 1; size <= stream.size(); ++size) {
    EXPECT_THAT(read_in_pieces(stream, size),
                ElementsAre(Pair(0, "{\"process\":1}"), Pair(1, "hello "),
                            Pair(2, std::string("err\0or", 6)), Pair(3, "{}")))
        << "pieces of " << size;
  }
}

TEST(FrameReader, OutputIsHandedOnBeforeItsFrameIsComplete) {
  const std::string stream = frame(1, "0123456789");
  FrameReader reader;

  reader.add(std::string_view(stream).substr(0, 12));
  const auto piece = reader.next();

  ASSERT_TRUE(piece && *piece);
  EXPECT_EQ((*piece)->bytes, "0123");
  EXPECT_FALSE(reader.is_between_frames());
}

TEST(FrameReader, WhatIsNoSuchStreamIsRefused) {
  FrameReader reader;

  reader.add("HTTP/1.1 200 OK");
  const auto piece = reader.next();

  ASSERT_FALSE(piece);
  EXPECT_EQ(piece.error().code(), Code::internal);
}

TEST(FrameReader, AnAbsurdLengthOfJsonIsRefused) {
  FrameReader reader;
  const std::string header("\x03\0\0\0\xff\xff\xff\xff", 8);

  reader.add(header);
  const auto piece = reader.next();

  ASSERT_FALSE(piece);
  EXPECT_EQ(piece.error().code(), Code::too_large);
}

}  // namespace
}  // namespace atl::client
