#include "base/text.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

TEST(Text, KnowsUtf8) {
  EXPECT_TRUE(
      is_utf8("plain text that is longer than a block, gr\xC3\xBC\xC3\x9F, \xF0\x9F\x90\x9A"));
  EXPECT_FALSE(is_utf8("\xC0\xAF"));      // overlong
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));  // surrogate
  EXPECT_FALSE(is_utf8("12345678\xFF"));  // after a plain block
  EXPECT_FALSE(is_utf8("\xE2\x82"));      // cut short
  EXPECT_EQ(to_printable("a\xFF\x1B"), "a\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Text, Base64RoundTripsEveryLength) {
  std::string bytes;
  for (int i = 0; i < 70; ++i) {
    EXPECT_EQ(from_base64(to_base64(bytes)).value(), bytes);
    bytes += static_cast<char>(i * 37);
  }
  EXPECT_EQ(to_base64("Atoll"), "QXRvbGw=");
  EXPECT_FALSE(from_base64("QXR=bGw=").has_value());
  EXPECT_FALSE(from_base64("abc").has_value());
}

TEST(Text, ReadsSizesAndDurationsAsPeopleWriteThem) {
  EXPECT_EQ(parse_size("256m").value(), 256 << 20);
  EXPECT_EQ(parse_size("1GiB").value(), 1 << 30);
  EXPECT_FALSE(parse_size("9999999999t").has_value());
  EXPECT_FALSE(parse_size("-1").has_value());
  EXPECT_FALSE(parse_size("many").has_value());
  EXPECT_EQ(parse_duration("90").value(), std::chrono::seconds(90));
  EXPECT_EQ(parse_duration("250ms").value(), std::chrono::milliseconds(250));
  EXPECT_EQ(parse_duration("2h").value(), std::chrono::hours(2));
  EXPECT_FALSE(parse_duration("2 weeks").has_value());
  EXPECT_EQ(parse_duration("36500d").value(), std::chrono::hours(36'500 * 24));
  for (const char* longer : {"36501d", "876001h", "3153600001", "99999999999d"}) {
    const auto duration = parse_duration(longer);
    ASSERT_FALSE(duration.has_value()) << longer;
    EXPECT_NE(duration.error().message().find("36500d"), std::string::npos) << longer;
  }
}

TEST(Text, SuggestsTheNearestWord) {
  EXPECT_EQ(did_you_mean("inspekt", {"run", "inspect", "exec"}), "inspect");
  EXPECT_EQ(did_you_mean("zzzzzz", {"run", "inspect"}), "");
}

}  // namespace
}  // namespace atl
