#include "config/variables.h"

#include <gmock/gmock.h>

namespace atl::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::optional<std::string> environment(std::string_view name) {
  if (name == "NAME") return "value";
  if (name == "NESTED") return "${NAME}";
  if (name == "EMPTY") return "";
  if (name == "LONG") return std::string(40'000, 'x');
  return std::nullopt;
}

std::string text_of(std::string_view text) {
  const auto expanded = expand(text, environment);
  return expanded ? expanded->text : "error: " + expanded.error().message();
}

TEST(Variables, AreReplaced) {
  EXPECT_EQ(text_of("a ${NAME} b ${NAME}"), "a value b value");
  EXPECT_EQ(text_of("${NAME:-other}"), "value");
  EXPECT_EQ(text_of("${MISSING:-other}"), "other");
  EXPECT_EQ(text_of("${EMPTY:-other}"), "other");
  EXPECT_EQ(text_of("${MISSING:-}"), "");
  EXPECT_EQ(text_of("${EMPTY}"), "");
}

TEST(Variables, ValuesAreNotLookedThroughAgain) { EXPECT_EQ(text_of("${NESTED}"), "${NAME}"); }

TEST(Variables, ADollarThatNoBraceFollowsIsItself) {
  EXPECT_EQ(text_of("$NAME costs 5$"), "$NAME costs 5$");
  EXPECT_EQ(text_of("$${NAME}"), "${NAME}");
}

TEST(Variables, OneThatIsNotSetIsAnErrorThatNamesIt) {
  const auto expanded = expand("${MISSING}", environment);

  ASSERT_FALSE(expanded);
  EXPECT_EQ(expanded.error().code(), Code::not_found);
  EXPECT_THAT(expanded.error().message(), HasSubstr("MISSING is not set"));
  EXPECT_THAT(expanded.error().hint(), HasSubstr("${MISSING:-default}"));
}

TEST(Variables, OtherFormsAreRefusedInWords) {
  for (const std::string_view text :
       {"${}", "${NAME", "${NAME:?no}", "${NAME:+x}", "${NA-ME}", "${1}", "${NAME:}"}) {
    const auto expanded = expand(text, environment);
    ASSERT_FALSE(expanded) << text;
    EXPECT_EQ(expanded.error().code(), Code::invalid_argument) << text;
    EXPECT_THAT(expanded.error().hint(), Not(IsEmpty())) << text;
  }
}

TEST(Variables, TellWhichGaveTheirValue) {
  const auto expanded = expand("${NAME} ${MISSING:-x} ${EMPTY:-y}", environment);

  ASSERT_TRUE(expanded);
  EXPECT_THAT(expanded->variables, ElementsAre("NAME"));
}

TEST(Variables, HaveAnEnd) {
  EXPECT_THAT(text_of("${LONG}${LONG}"), HasSubstr("longer than 64 KiB"));
}

}  // namespace
}  // namespace atl::config
