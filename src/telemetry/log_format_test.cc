#include "telemetry/log_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/text.h"
#include "json/value.h"

namespace atl::telemetry {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr WallTime kTime{Millis(1'794'728'628'120)};

std::string line_of(std::string_view message, Fields fields, Format format,
                    Level level = Level::info) {
  return format_line({kTime, level, message, {fields.begin(), fields.size()}}, format);
}

TEST(LogFormat, WritesOneJsonObjectPerLine) {
  const std::string id = "sbx1";

  EXPECT_EQ(line_of("sandbox created",
                    {{"id", id}, {"ms", 1.2}, {"n", -3}, {"size", size_t{7}}, {"warm", true}},
                    Format::json),
            "{\"ts\":\"2026-11-15T07:43:48.120Z\",\"level\":\"info\",\"msg\":\"sandbox created\","
            "\"id\":\"sbx1\",\"ms\":1.2,\"n\":-3,\"size\":7,\"warm\":true}\n");
}

TEST(LogFormat, WritesTextForPeople) {
  EXPECT_EQ(
      line_of("sandbox created", {{"id", "sbx1"}, {"ms", 1.5}, {"why", "no reason"}, {"e", ""}},
              Format::text, Level::warn),
      "07:43:48.120 WARN  sandbox created id=sbx1 ms=1.5 why=\"no reason\" e=\"\"\n");
  EXPECT_EQ(line_of("cannot open \"x\"", {}, Format::text),
            "07:43:48.120 INFO  cannot open \"x\"\n");
}

TEST(LogFormat, ColoursTheLevelOnlyWhenAsked) {
  const std::string plain = line_of("m", {{"k", 1}}, Format::text, Level::error);
  const std::string coloured = line_of("m", {{"k", 1}}, Format::coloured_text, Level::error);

  EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
  EXPECT_THAT(coloured, HasSubstr("\x1b[31mERROR\x1b[0m"));
}

TEST(LogFormat, LetsNoValueForgeALineOrReachTheTerminal) {
  const std::string hostile =
      "x\n07:00:00.000 ERROR fake\r\x1b[2J\x07\x7f\xC2\x9B\xFF\u202E\u2028 k=v \"";

  for (const Format format : {Format::text, Format::json}) {
    const std::string line = line_of(hostile, {{"guest", hostile}}, format);

    EXPECT_EQ(std::ranges::count(line, '\n'), 1);
    EXPECT_EQ(line.back(), '\n');
    EXPECT_TRUE(std::all_of(line.begin(), line.end() - 1,
                            [](unsigned char c) { return c >= 0x20 && c != 0x7F; }));
    EXPECT_THAT(line, Not(HasSubstr("\xC2\x9B")));
    EXPECT_TRUE(is_utf8(line));
  }
  EXPECT_THAT(line_of("m", {{"guest", hostile}}, Format::text), Not(HasSubstr("\u202E")));
  EXPECT_THAT(line_of("m", {{"guest", hostile}}, Format::text), HasSubstr("k=v \\\"\"\n"));
}

TEST(LogFormat, StaysValidJsonWhateverTheBytes) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);

  const std::string line =
      line_of(every, {{"msg", every}, {"ts", "x"}, {"nan", std::nan("")}}, Format::json);

  const auto value = json::parse(line);
  ASSERT_TRUE(value.has_value()) << value.error().message();
  EXPECT_TRUE(value->as_object().contains("msg_"));
  EXPECT_TRUE(value->at("nan").is_null());
}

TEST(LogFormat, CutsLongValuesAndLongLines) {
  const std::string large(1'000'000, '\x01');
  const Field field{"k", large};

  for (const Format format : {Format::text, Format::json}) {
    const std::string line =
        line_of(large, {field, field, field, field, field, field, field, field, field}, format);

    EXPECT_LE(line.size(), kMostLineBytes);
    EXPECT_TRUE(is_utf8(line));
  }
  EXPECT_TRUE(
      json::parse(line_of("é" + std::string(5000, 'x'), {{"a", large}}, Format::json)).has_value());
}

}  // namespace
}  // namespace atl::telemetry
