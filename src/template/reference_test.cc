#include "template/reference.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

TEST(TemplateReference, HasTheTagLatestUnlessItSays) {
  EXPECT_EQ(parse_template_reference("python").value().text(), "python:latest");
  EXPECT_EQ(parse_template_reference("python:3.12-slim_A").value().text(), "python:3.12-slim_A");
  EXPECT_EQ(parse_template_reference("a.b-c_1").value().name, "a.b-c_1");
}

TEST(TemplateReference, IsNoPathAndNothingElse) {
  for (const char* text : {"", ":", "a:", ":b", "..", "../a", "a/b", "A", "a b", "a:b:c", "-a",
                           ".a", "a:-b", "a:.b", "a:..", "a\n", "ä"}) {
    EXPECT_FALSE(parse_template_reference(text)) << text;
  }
  EXPECT_FALSE(parse_template_reference(std::string("a\0b", 3)));
  EXPECT_TRUE(parse_template_reference(std::string(63, 'a')));
  EXPECT_FALSE(parse_template_reference(std::string(64, 'a')));
  EXPECT_FALSE(parse_template_reference("a:" + std::string(64, 'a')));
}

}  // namespace
}  // namespace atl
