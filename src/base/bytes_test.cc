#include "base/bytes.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

TEST(Bytes, ReadsBackWhatWasWritten) {
  ByteWriter writer;
  writer.u8(7);
  writer.i64(-5);
  writer.texts({"a", ""});
  writer.pairs({{"k", "v"}});
  writer.raw("tail");

  ByteReader reader(writer.bytes());

  EXPECT_EQ(reader.u8(), 7);
  EXPECT_EQ(reader.i64(), -5);
  EXPECT_EQ(reader.texts(10), (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(reader.pairs(10).at("k"), "v");
  EXPECT_EQ(reader.raw(), "tail");
  EXPECT_TRUE(reader.finish().has_value());
}

TEST(Bytes, RefusesACountThatTheMessageCannotHold) {
  ByteWriter writer;
  writer.u32(0xFFFFFFFF);

  ByteReader as_text(writer.bytes());
  ByteReader as_list(writer.bytes());

  EXPECT_EQ(as_text.text(), "");
  EXPECT_FALSE(as_text.finish().has_value());
  EXPECT_TRUE(as_list.texts(SIZE_MAX).empty());
  EXPECT_FALSE(as_list.finish().has_value());
}

TEST(Bytes, RefusesBytesLeftOver) {
  ByteReader reader("ab");

  reader.u8();

  EXPECT_FALSE(reader.finish().has_value());
}

}  // namespace
}  // namespace atl
