#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "json/encode.h"
#include "json/value.h"

namespace atl::json {
namespace {

using testing::HasSubstr;

std::string problem_of(std::string_view text, const Limits& limits = {}) {
  const auto value = parse(text, limits);
  return value ? "(no error)" : value.error().message();
}

TEST(JsonParse, ReadsEveryKindOfValue) {
  const auto value = parse(
      R"( {"a":[1,-2,18446744073709551615,0.5,true,false,null],"b":{"c":"é\n\u00e9\ud83d\ude00"}} )");

  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(encode(*value),
            "{\"a\":[1,-2,18446744073709551615,0.5,true,false,null],\"b\":{\"c\":\"é\\né😀\"}}");
}

TEST(JsonParse, RefusesDuplicateKeysWithTheirPath) {
  EXPECT_EQ(problem_of(R"({"a":1,"a":2})"), "a: given twice");
  EXPECT_EQ(problem_of(R"({"x":{"y":[0,{"k":1,"k":1}]}})"), "x.y[1].k: given twice");
  EXPECT_EQ(problem_of(R"({"\u0061":1,"a":2})"), "a: given twice");
}

TEST(JsonParse, AcceptsTheSameKeyInDifferentObjects) {
  EXPECT_TRUE(parse(R"([{"a":1},{"a":{"a":2}}])").has_value());
}

TEST(JsonParse, SaysWhereTheSyntaxBreaks) {
  EXPECT_THAT(problem_of("{\"a\":1,\n  x}"), HasSubstr("line 2, column 3"));
  EXPECT_THAT(problem_of("{\"a\":"), HasSubstr("ends too early"));
  EXPECT_THAT(problem_of("{} {}"), HasSubstr("something follows"));
  EXPECT_THAT(problem_of(""), HasSubstr("empty"));
  EXPECT_THAT(problem_of("   "), HasSubstr("ends too early"));
}

TEST(JsonParse, RefusesWhatIsNotStrictJson) {
  for (const std::string_view text :
       {"{\"a\":1,}", "[1,]", "// c\n1", "NaN", "'a'", "{a:1}", "01", "+1", "1.", ".5", "\"\t\"",
        R"("\x41")", R"("\ud800")", R"("\udc00\ud800")"}) {
    const auto value = parse(text);

    ASSERT_FALSE(value.has_value()) << text;
    EXPECT_EQ(value.error().code(), Code::invalid_argument) << text;
  }
}

TEST(JsonParse, RefusesMalformedUtf8) {
  EXPECT_THAT(problem_of("\"\xC3\x28\""), HasSubstr("malformed UTF-8"));
  EXPECT_THAT(problem_of("\"\xED\xA0\x80\""), HasSubstr("malformed UTF-8"));
}

TEST(JsonParse, HoldsItsLimits) {
  const auto too_long = parse("[1,2,3]", {.max_bytes = 6});
  const auto too_many = parse("[" + std::string(131'074, ' ') + "]");
  std::string wide = "[0";
  for (int i = 0; i < 65'536; ++i) wide += ",0";
  const auto too_wide = parse(wide + "]");

  ASSERT_FALSE(too_long.has_value());
  EXPECT_EQ(too_long.error().code(), Code::too_large);
  EXPECT_TRUE(too_many.has_value());
  ASSERT_FALSE(too_wide.has_value());
  EXPECT_EQ(too_wide.error().code(), Code::too_large);
  EXPECT_EQ(problem_of(R"({"a":{"list":)" + wide + "]}}"),
            "a.list: it has more than 65536 entries");
  std::string many = R"({"labels":{"0":0)";
  for (int i = 1; i <= 10'000; ++i) many += ",\"" + std::to_string(i) + "\":0";
  EXPECT_EQ(problem_of(many + "}}"), "labels: it has more than 10000 fields");
  EXPECT_TRUE(parse(std::string(32, '[') + std::string(32, ']')).has_value());
  EXPECT_THAT(problem_of(std::string(33, '[') + std::string(33, ']')), HasSubstr("32 levels"));
  EXPECT_THAT(problem_of(std::string(1'000'000, '[')), HasSubstr("32 levels"));
}

TEST(JsonParse, ReadsNumbersToTheLastBit) {
  for (const double number : {0.1, 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308,
                              123456.789e-7, 9007199254740993.0, 0.30000000000000004}) {
    const auto value = parse(encode(number));

    ASSERT_TRUE(value.has_value()) << number;
    EXPECT_EQ(value->to_number<double>(), number);
  }
}

TEST(JsonParse, RefusesNumbersThatNoDoubleHolds) {
  EXPECT_FALSE(parse("1e999").has_value());
  EXPECT_FALSE(parse("[-1e400]").has_value());
  EXPECT_EQ(parse("1e-999")->as_double(), 0.0);
}

}  // namespace
}  // namespace atl::json
