#include "json/encode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/text.h"
#include "json/decode.h"
#include "json/sample.h"
#include "json/to_value.h"

namespace atl::json {
namespace {

using sample::Level;
using sample::Spec;

Spec full_spec() {
  Spec spec;
  spec.name = "box";
  spec.argv = {"echo", "a\"b\\c\n"};
  spec.level = Level::default_;
  spec.resources = {.cpu = 0.5, .memory_mb = 256, .nice = -3};
  spec.mounts.emplace().push_back({.source = "/a"});
  spec.labels.emplace()["k 1"] = "v";
  spec.tables.emplace();
  spec.tables->insert({{"t", {1, -2}}, {"u", {}}});
  spec.default_ = false;
  spec.big = UINT64_MAX;
  spec.offset = INT64_MIN;
  spec.extra = Value{{"any", {1, nullptr}}};
  return spec;
}

constexpr std::string_view kFullText =
    R"({"name":"box","argv":["echo","a\"b\\c\n"],"level":"default",)"
    R"("resources":{"cpu":0.5,"memory_mb":256,"nice":-3},)"
    R"("mounts":[{"source":"/a","target":"/workspace","read_only":true}],)"
    R"("labels":{"k 1":"v"},"tables":{"t":[1,-2],"u":[]},"default":false,)"
    R"("big":18446744073709551615,"offset":-9223372036854775808,"extra":{"any":[1,null]}})";

TEST(JsonEncode, WritesEveryKindOfMember) { EXPECT_EQ(encode(full_spec()), kFullText); }

TEST(JsonEncode, SurvivesARoundTrip) {
  const auto again = decode<Spec>(encode(full_spec()));

  ASSERT_TRUE(again.has_value()) << again.error().message();
  EXPECT_EQ(encode(*again), kFullText);
}

TEST(JsonEncode, AgreesWithToValue) { EXPECT_EQ(encode(to_value(full_spec())), kFullText); }

TEST(JsonEncode, LeavesAbsentOptionalsOut) {
  EXPECT_EQ(encode(Spec{}), R"({"name":"","argv":[]})");
  EXPECT_EQ(encode(sample::Resources{}), R"({"nice":0})");
  EXPECT_EQ(encode(to_value(sample::Resources{})), R"({"nice":0})");
}

TEST(JsonEncode, WritesEmptyContainers) {
  EXPECT_EQ(encode(std::vector<int>{}), "[]");
  EXPECT_EQ(encode(std::map<std::string, int>{}), "{}");
  EXPECT_EQ(encode(Value(Object())), "{}");
}

TEST(JsonEncode, ReplacesMalformedBytes) {
  const std::string text = encode(std::string("a\xFF\xC3(\xE2\x82z\xED\xA0\x80"));

  EXPECT_TRUE(is_utf8(text));
  EXPECT_EQ(text, "\"a\uFFFD\uFFFD(\uFFFD\uFFFDz\uFFFD\uFFFD\uFFFD\"");
  EXPECT_EQ(to_value(std::string("\xFF")).as_string(), "\uFFFD");
}

TEST(JsonEncode, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(encode(std::string("\x1b[31m\x7f\xC2\x9B\xC2\xA0\0x", 12)),
            "\"\\u001b[31m\\u007f\\u009b\u00a0\\u0000x\"");
}

TEST(JsonEncode, EscapesAtEveryOffsetOfABlock) {
  for (size_t length = 0; length < 24; ++length) {
    for (size_t at = 0; at <= length; ++at) {
      for (const std::string_view odd : {"\"", "\\", "\n", "\x7f", "\xC2\x80", "é", "\x1f"}) {
        std::string text(length, 'x');
        text.insert(at, odd);

        const auto back = decode<std::string>(encode(text));

        ASSERT_TRUE(back.has_value());
        ASSERT_EQ(*back, text);
      }
    }
  }
}

TEST(JsonEncode, WritesNumbersThatJsonHasNoWordForAsNull) {
  EXPECT_EQ(encode(std::nan("")), "null");
  EXPECT_EQ(encode(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(encode(Value(-std::numeric_limits<double>::infinity())), "null");
  EXPECT_EQ(encode(0.1), "0.1");
  EXPECT_EQ(encode(-0.0), "0");
}

TEST(JsonEncode, WritesAnEnumValueWithoutANameAsNull) {
  EXPECT_EQ(encode(static_cast<Level>(77)), "null");
  EXPECT_EQ(name_of(Level::vm), "vm");
  EXPECT_EQ(find_enum<Level>("process"), Level::process);
  EXPECT_EQ(find_enum<Level>("nope"), std::nullopt);
}

TEST(JsonEncode, AppendsToWhatIsThere) {
  std::string line = "x,";

  encode_to(line, sample::Resources{});
  line += '\n';

  EXPECT_EQ(line, "x,{\"nice\":0}\n");
}

}  // namespace
}  // namespace atl::json
