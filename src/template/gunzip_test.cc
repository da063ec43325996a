#include "template/gunzip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "template/test_archive_internal.h"

namespace atl {
namespace {

using testing::HasSubstr;

std::string pattern(size_t size) {
  std::string text;
  for (uint32_t i = 0; text.size() < size; ++i) text += std::to_string(i * 2'654'435'761U);
  text.resize(size);
  return text;
}

Result<std::string> unpack(std::string_view bytes, size_t piece) {
  std::string out;
  Gunzip gunzip([&](std::string_view some) -> Result<> {
    out += some;
    return {};
  });
  for (size_t at = 0; at < bytes.size(); at += piece) TRY_OK(gunzip.put(bytes.substr(at, piece)));
  TRY_OK(gunzip.finish());
  return out;
}

TEST(Gunzip, GivesWhatWasPackedHoweverItIsCut) {
  const std::string text = pattern(300'000);
  const std::string packed = to_gzip(text);
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{4096}, packed.size()}) {
    const auto out = unpack(packed, piece);
    ASSERT_TRUE(out) << out.error().message();
    EXPECT_EQ(*out, text);
  }
}

TEST(Gunzip, GivesALongRunThatCameInAFewBytes) {
  const std::string zeros(3'000'000, '\0');
  const std::string packed = to_gzip(zeros);
  ASSERT_LT(packed.size(), 10'000u);
  EXPECT_EQ(unpack(packed, packed.size()).value(), zeros);
  EXPECT_EQ(unpack(packed, 1).value(), zeros);
}

TEST(Gunzip, TakesMembersInARowAsOne) {
  EXPECT_EQ(unpack(to_gzip("one ") + to_gzip("two"), 5).value(), "one two");
  EXPECT_EQ(unpack(to_gzip("one") + std::string(512, '\0'), 100).value(), "one");
}

TEST(Gunzip, PassesOverWhatAHeaderMayHave) {
  std::string packed = to_gzip("text");
  packed[3] = 4 | 8 | 16 | 2;
  const std::string more = std::string("\x03\0abc", 5) + std::string("name\0", 5) +
                           std::string("comment\0", 8) + std::string("\0\0", 2);
  packed.insert(10, more);
  EXPECT_EQ(unpack(packed, 1).value(), "text");
  EXPECT_EQ(unpack(packed, packed.size()).value(), "text");
}

TEST(Gunzip, RefusesWhatIsCutOff) {
  const std::string packed = to_gzip(pattern(10'000));
  for (const size_t size :
       {size_t{0}, size_t{3}, size_t{11}, packed.size() / 2, packed.size() - 1}) {
    const auto out = unpack(packed.substr(0, size), 1000);
    ASSERT_FALSE(out) << size;
    EXPECT_EQ(out.error().code(), Code::invalid_argument);
  }
}

TEST(Gunzip, RefusesAnyChangedByteOrGivesTheSame) {
  const std::string text = pattern(2'000);
  const std::string packed = to_gzip(text);
  for (size_t i = 0; i < packed.size(); ++i) {
    std::string changed = packed;
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    const auto out = unpack(changed, 64);
    // Some bytes of the header mean nothing.
    if (out) EXPECT_EQ(*out, text) << i;
    if (i >= 10) EXPECT_FALSE(out) << i;
  }
}

TEST(Gunzip, PassesOnTheErrorOfWhoeverTakesTheOutput) {
  Gunzip gunzip([](std::string_view) -> Result<> { return Error(Code::too_large, "enough"); });
  const auto put = gunzip.put(to_gzip("text"));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code(), Code::too_large);
}

}  // namespace
}  // namespace atl
