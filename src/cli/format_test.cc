#include "cli/format.h"

#include <gtest/gtest.h>

#include "cli/json_view.h"

namespace atl::cli {
namespace {

TEST(Format, TimesHaveTheDigitsThatPeopleRead) {
  EXPECT_EQ(format_ms(0.412), "0.41 ms");
  EXPECT_EQ(format_ms(3.14), "3.1 ms");
  EXPECT_EQ(format_ms(118.2), "118 ms");
  EXPECT_EQ(format_ms(1'500), "1.50 s");
  EXPECT_EQ(format_ms(125'000), "2m 5s");
}

TEST(Format, BytesHaveBinaryMultiples) {
  EXPECT_EQ(format_bytes(712), "712 B");
  EXPECT_EQ(format_bytes(9'856'000), "9.4 MB");
  EXPECT_EQ(format_bytes(uint64_t{3} << 40), "3.0 TB");
  EXPECT_EQ(format_bytes(UINT64_MAX), "16 EB");
}

TEST(Format, AgesAndDeadlinesAreOneUnit) {
  const WallTime now(std::chrono::seconds(1'700'000'000));  // 2023-11-14T22:13:20Z

  EXPECT_EQ(format_since("2023-11-14T22:12:20.000Z", now), "60s");
  EXPECT_EQ(format_since("2023-11-14T20:13:20.000Z", now), "2h");
  EXPECT_EQ(format_until("2023-11-14T22:43:20.000Z", now), "in 30m");
  EXPECT_EQ(format_until("2023-11-14T22:13:19.000Z", now), "now");
  EXPECT_EQ(format_until("", now), "never");
  EXPECT_EQ(format_since("yesterday", now), "yesterday");
}

TEST(Format, WhatTerminalsObeyIsBlankInALine) {
  EXPECT_EQ(single_line("a\033[2Jb\nc\x7f"),
            "a\xEF\xBF\xBD[2Jb\xEF\xBF\xBD"
            "c ");
  EXPECT_EQ(single_line("a\xC2\x9B"
                        "b"),
            "a  b");
  EXPECT_EQ(single_line("exe.\u202Egpj"), "exe. gpj");
  EXPECT_EQ(single_line("\u2066x\u2069\u2028y\u200F"), " x  y ");
  EXPECT_EQ(single_line("日本 café …"), "日本 café …");
}

TEST(JsonView, WhatIsMissingOrOfAnotherTypeIsEmpty) {
  const auto value = json::parse(R"({"a":{"b":"text","n":3,"list":[1]},"flag":true})");
  ASSERT_TRUE(value);

  EXPECT_EQ(text_at(*value, "a.b"), "text");
  EXPECT_EQ(text_at(*value, "a.n"), "");
  EXPECT_EQ(number_at(*value, "a.n"), 3);
  EXPECT_EQ(text_at(*value, "a.b.c"), "");
  EXPECT_TRUE(flag_at(*value, "flag"));
  EXPECT_EQ(list_at(*value, "a.list").size(), 1u);
  EXPECT_TRUE(list_at(*value, "nothing").empty());
}

TEST(JsonView, PrettyIsIndentedAndKeepsEmptyThingsShort) {
  const auto value = json::parse(R"({"id":"x","labels":{},"stages":[{"name":"a"}]})");
  ASSERT_TRUE(value);

  EXPECT_EQ(to_pretty(*value),
            "{\n"
            "  \"id\": \"x\",\n"
            "  \"labels\": {},\n"
            "  \"stages\": [\n"
            "    {\n"
            "      \"name\": \"a\"\n"
            "    }\n"
            "  ]\n"
            "}\n");
}

}  // namespace
}  // namespace atl::cli
