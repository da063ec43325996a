#include "cli/table.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/text_width.h"

namespace atl::cli {
namespace {

TEST(TextWidth, IsWhatTerminalsMakeOfIt) {
  EXPECT_EQ(width_of("plain"), 5u);
  EXPECT_EQ(width_of("é → …"), 5u);
  EXPECT_EQ(width_of("日本語"), 6u);
  EXPECT_EQ(width_of("한국"), 4u);
  EXPECT_EQ(width_of("e\u0301"), 1u);
  EXPECT_EQ(width_of("🚀"), 2u);
}

TEST(TextWidth, ShortenedTextEndsWithAnEllipsisAndNeverCutsALetter) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdef", 4), "abc…");
  EXPECT_EQ(shortened("日本語", 4), "日…");
  EXPECT_EQ(shortened("abc", 1), "…");
  EXPECT_EQ(shortened("abc", 0), "");
}

TEST(TextWidth, WrappedTextBreaksAtBlanksAndIsIndented) {
  EXPECT_EQ(wrapped("one two three four", 14, 2), "one two\n  three four");
  EXPECT_EQ(wrapped("one two", 80, 2), "one two");
  EXPECT_EQ(wrapped("a-word-that-is-too-long b", 10, 2), "a-word-that-is-too-long\n  b");
}

TEST(Table, ColumnsLineUpAndLinesEndWithoutBlanks) {
  EXPECT_EQ(format_table({{"NAME", "X"}, {"é", "1"}, {"long-name", ""}, {"日本", "2"}}),
            "NAME        X\n"
            "é           1\n"
            "long-name\n"
            "日本        2\n");
}

TEST(Table, TheWidestColumnsGiveWayAndTheFirstIsTheLastToDoSo) {
  const Table rows{{"ID", "NAME", "STATE"},
                   {"sbx0c6r8l4m2n1q9v7x3z5a", "a-name-that-is-much-too-long", "running"}};

  EXPECT_EQ(format_table(rows, 50),
            "ID                        NAME             STATE\n"
            "sbx0c6r8l4m2n1q9v7x3z5a   a-name-that-i…   running\n");
}

TEST(Table, NoRowIsWiderThanTheTerminal) {
  const Table rows{
      {"ID", "NAME", "STATE", "LABEL"},
      {"sbx0c6r8l4m2n1q9v7x3z5a", "日本語日本語日本語", "running", std::string(300, 'x')},
      {"b", "🚀🚀🚀🚀", "", "e\u0301"}};
  for (const size_t columns : {1, 5, 20, 40, 80, 120, 200, 500}) {
    for (const auto& line : split(format_table(rows, columns), '\n')) {
      EXPECT_LE(width_of(line), columns) << line;
    }
  }
}

TEST(Table, ColourTakesNoRoom) {
  const Table rows{{"A", "B"}, {Cell("x", Ink::good), "y"}};

  EXPECT_EQ(format_table(rows, std::nullopt, Paint::coloured),
            "\033[2mA\033[0m   \033[2mB\033[0m\n\033[32mx\033[0m   y\n");
}

}  // namespace
}  // namespace atl::cli
