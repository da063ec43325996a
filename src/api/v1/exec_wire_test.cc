#include "api/v1/exec_wire.h"

#include <gtest/gtest.h>

namespace atl::api::v1 {
namespace {

std::string told(std::string_view bytes, Truncated truncated) {
  std::string out;
  ObjectWriter object(out);
  append_output(object, "stdout", bytes, truncated);
  object.close();
  return out;
}

TEST(UnfinishedTail, IsTheBeginningOfACharacter) {
  EXPECT_EQ(unfinished_tail(""), 0U);
  EXPECT_EQ(unfinished_tail("abc"), 0U);
  EXPECT_EQ(unfinished_tail("ab\xc3"), 1U);
  EXPECT_EQ(unfinished_tail("ab\xc3\xa9"), 0U);
  EXPECT_EQ(unfinished_tail("\xe2\x82"), 2U);
  EXPECT_EQ(unfinished_tail("\xe2\x82\xac"), 0U);
  EXPECT_EQ(unfinished_tail("\xf0\x9f\x8f"), 3U);
  EXPECT_EQ(unfinished_tail("\xf0\x9f\x8f\x9d"), 0U);
}

TEST(UnfinishedTail, IsNothingThatCouldNeverBecomeACharacter) {
  EXPECT_EQ(unfinished_tail("\x80"), 0U);
  EXPECT_EQ(unfinished_tail("\x80\x80\x80\x80"), 0U);
  EXPECT_EQ(unfinished_tail("a\xc0"), 0U);
}

TEST(Output, IsTextWhereItCanBe) {
  EXPECT_EQ(told("é", Truncated::no), R"({"stdout":"é"})");
  EXPECT_EQ(told("\xff", Truncated::no), R"({"stdout_b64":"/w=="})");
  EXPECT_EQ(told("a\xc3", Truncated::no), R"({"stdout_b64":"YcM="})") << "the program wrote it so";
  EXPECT_EQ(told("a\xc3", Truncated::yes), R"({"stdout":"a"})") << "we cut it so";
  EXPECT_EQ(told("\xff\xc3", Truncated::yes), R"({"stdout_b64":"/8M="})");
}

}  // namespace
}  // namespace atl::api::v1
