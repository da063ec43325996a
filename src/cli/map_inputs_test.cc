#include "cli/map_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/args.h"

namespace atl::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(MapInputs, AreLines) {
  EXPECT_THAT(*split_inputs("a\nb c\n\nd", '\n'), ElementsAre("a", "b c", "d"));
  EXPECT_THAT(*split_inputs("", '\n'), IsEmpty());
  EXPECT_THAT(*split_inputs(std::string_view("a\nb\0c\0", 6), '\0'), ElementsAre("a\nb", "c"));
}

TEST(MapInputs, ANulByteInALineIsNoInput) {
  const auto split = split_inputs(std::string_view("a\0b\n", 4), '\n');

  ASSERT_FALSE(split);
  EXPECT_TRUE(is_usage_error(split.error()));
}

TEST(MapInputs, TooManyAreRefused) {
  std::string text;
  for (size_t i = 0; i <= kMostInputs; ++i) text += "x\n";

  const auto split = split_inputs(text, '\n');

  ASSERT_FALSE(split);
  EXPECT_TRUE(is_usage_error(split.error()));
  EXPECT_THAT(split.error().message(), HasSubstr("more than 1,000,000 inputs"));
}

TEST(MapInputs, ThatAreTooLargeAreToldWithTheLimit) {
  const auto large = within_limit(Error(Code::too_large, "the file is larger than expected"));

  ASSERT_FALSE(large);
  EXPECT_TRUE(is_usage_error(large.error()));
  EXPECT_EQ(large.error().message(), "the inputs have more than 256 MiB");
  EXPECT_THAT(large.error().hint(), HasSubstr("several `atoll map`"));
  EXPECT_EQ(within_limit(Error(Code::not_found, "no file")).error().message(), "no file");
  EXPECT_EQ(within_limit(std::string("a")).value(), "a");
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
