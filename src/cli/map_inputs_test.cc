#include "cli/map_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(MapInputs, AreLines) {
  EXPECT_THAT(*split_inputs("a\nb c\n\nd", '\n'), ElementsAre("a", "b c", "d"));
  EXPECT_THAT(*split_inputs("", '\n'), IsEmpty());
  EXPECT_THAT(*split_inputs(std::string_view("a\nb\0c\0", 6), '\0'), ElementsAre("a\nb", "c"));
}

TEST(MapInputs, ANulByteInALineIsNoInput) {
  EXPECT_FALSE(split_inputs(std::string_view("a\0b\n", 4), '\n'));
}

TEST(MapInputs, TooManyAreRefused) {
  std::string text;
  for (size_t i = 0; i <= kMostInputs; ++i) text += "x\n";
  EXPECT_EQ(split_inputs(text, '\n').error().code(), Code::too_large);
}

TEST(MapInputs, StandWhereTheCommandHasAPlace) {
  EXPECT_THAT(fill_in({"cp", "{}", "out/{#}-{}.txt"}, "a", 7),
              ElementsAre("cp", "a", "out/7-a.txt"));
  EXPECT_THAT(fill_in({"cat"}, "a b", 1), ElementsAre("cat", "a b"));
  EXPECT_THAT(fill_in({"seq", "{#}"}, "a", 3), ElementsAre("seq", "3"));
}

TEST(MapInputs, AreNotTakenForPlaces) {
  EXPECT_THAT(fill_in({"echo", "{} {}"}, "{#}{}", 2), ElementsAre("echo", "{#}{} {#}{}"));
}

}  // namespace
}  // namespace atl::cli
