#include "container/first_words.h"

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace atl::container {
namespace {

TEST(FirstWords, TellMomentsOnTheAgentsClock) {
  EXPECT_EQ(on_clock(Micros(0), Micros(-5)), Micros(0));  // never
  EXPECT_EQ(on_clock(Micros(1000), Micros(-400)), Micros(600));
  EXPECT_EQ(on_clock(Micros(1000), Micros(400)), Micros(1400));
  // Before its clock began: over, and not "never".
  EXPECT_EQ(on_clock(Micros(1000), Micros(-1000)), Micros(1));

  SandboxSpec spec;
  spec.id = "sbx00000000000000000001";
  spec.expires_at = Micros(1000);
  const auto words = make_first_words(spec, {}, false).encoded(Micros(-400));
  ASSERT_TRUE(words.has_value());
  ByteReader reader(*words);
  const auto config = native::decode_agent_config(reader.text());
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->expires_at, Micros(600));
}

TEST(FirstWords, RefuseAnEnvironmentThatIsTooLarge) {
  SandboxSpec spec;
  spec.env["LARGE"] = std::string(600 * 1024, 'x');

  const auto words = make_first_words(spec, {}, false).encoded(Micros(0));

  ASSERT_FALSE(words.has_value());
  EXPECT_EQ(words.error().code(), Code::too_large);
}

}  // namespace
}  // namespace atl::container
