#include "policy/requirement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

bool is_met(std::string_view requirement, std::string_view said) {
  const auto parsed = parse_requirement(requirement);
  EXPECT_TRUE(parsed) << requirement;
  return parsed && is_met(*parsed, find_version(said));
}

TEST(Requirement, IsAProgramAndMaybeAVersion) {
  const auto plain = parse_requirement("g++");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->program, "g++");
  EXPECT_EQ(plain->comparison, Comparison::any);
  const auto versioned = parse_requirement("python >= 3.11");
  ASSERT_TRUE(versioned);
  EXPECT_EQ(versioned->program, "python");
  EXPECT_EQ(versioned->comparison, Comparison::at_least);
  EXPECT_THAT(versioned->version, ElementsAre(3, 11));
}

TEST(Requirement, WhatIsNoneIsRefused) {
  for (const char* text :
       {"", " ", ">=3", "python>=", "python>=3.x", "python>=3.", "a b", "/bin/sh", "--version",
        "a;b", "$(reboot)", "python>=1.2.3.4.5", "python>=1234567890", "python=>3"}) {
    const auto refused = parse_requirement(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(refused.error().message(), HasSubstr("python>=3.11"));
  }
  EXPECT_FALSE(parse_requirement(std::string(65, 'a')));
}

TEST(Requirement, PythonGoesByTwoNames) {
  EXPECT_THAT(names_of(*parse_requirement("python>=3")), ElementsAre("python3", "python"));
  EXPECT_THAT(names_of(*parse_requirement("git")), ElementsAre("git"));
}

TEST(Requirement, FindsAVersionInWhatAProgramSays) {
  EXPECT_THAT(find_version("Python 3.11.2\n"), ElementsAre(3, 11, 2));
  EXPECT_THAT(find_version("git version 2.39.5"), ElementsAre(2, 39, 5));
  EXPECT_THAT(find_version("v20.19.2"), ElementsAre(20, 19, 2));
  EXPECT_THAT(find_version("jq-1.6"), ElementsAre(1, 6));
  EXPECT_THAT(find_version("GNU ld (2 of 3) 2.40"), ElementsAre(2, 40));
  EXPECT_THAT(find_version("less 590 (GNU)"), ElementsAre(590));
  EXPECT_THAT(find_version("1.2.3.4.5.6"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(find_version("99999999999999999999 1.5"), ElementsAre(1, 5));
  EXPECT_THAT(find_version("nothing"), IsEmpty());
  EXPECT_THAT(find_version(""), IsEmpty());
}

TEST(Requirement, VersionsAreComparedPartByPart) {
  EXPECT_TRUE(is_met("python>=3.11", "Python 3.11.2"));
  EXPECT_TRUE(is_met("python>=3.9", "Python 3.11.2"));
  EXPECT_FALSE(is_met("python>=3.12", "Python 3.11.2"));
  EXPECT_TRUE(is_met("python==3.11", "Python 3.11.2"));
  EXPECT_FALSE(is_met("python==3.1", "Python 3.11.2"));
  EXPECT_TRUE(is_met("python>3.11", "Python 3.11.2"));
  EXPECT_FALSE(is_met("python>3.11.2", "Python 3.11.2"));
  EXPECT_TRUE(is_met("node<21", "v20.19.2"));
  EXPECT_FALSE(is_met("node<=20", "v20.19.2"));
  EXPECT_FALSE(is_met("node>=1", "what?"));
  EXPECT_TRUE(is_met("node", "what?"));
}

TEST(Requirement, AVersionIsTold) { EXPECT_EQ(to_text({3, 11, 2}), "3.11.2"); }

}  // namespace
}  // namespace atl::policy
