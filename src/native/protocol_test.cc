#include <gtest/gtest.h>

#include "native/agent_config.h"
#include "native/launcher_protocol.h"

namespace atl::native {
namespace {

TEST(AgentConfig, ReadsBackAsWrittenAndRefusesEveryCut) {
  AgentConfig config;
  config.sandbox_id = "sbx1";
  config.env = {{"K", "v"}};
  config.confinement = Confinement::process;
  config.memory_bytes = 1 << 20;
  config.mounts = {{"/data", true}};
  const std::string whole = encode(config);

  const auto back = decode_agent_config(whole).value();

  EXPECT_EQ(back.env, config.env);
  EXPECT_EQ(back.memory_bytes, config.memory_bytes);
  ASSERT_EQ(back.mounts.size(), 1u);
  EXPECT_TRUE(back.mounts[0].writable);
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(decode_agent_config(whole.substr(0, length)).has_value()) << length;
  }
}

TEST(LauncherProtocol, RefusesWhatItDoesNotUnderstand) {
  EXPECT_FALSE(decode_packet("abc").has_value());
  EXPECT_FALSE(decode_launch("").has_value());
  EXPECT_FALSE(decode_rows(std::string("\xFF\xFF\xFF\xFF", 4)).has_value());
  EXPECT_FALSE(decode_ended(encode(EndedEvent{"x", static_cast<EndCause>(9)})).has_value());
  EXPECT_FALSE(decode_launcher_error("\xFF").has_value());
}

TEST(LauncherProtocol, AnErrorKeepsItsCodeAndHint) {
  const auto error = decode_launcher_error(
      encode_launcher_error(Error(Code::not_found, "gone", 2).with_hint("look")));

  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), Code::not_found);
  EXPECT_EQ(error->hint(), "look");
}

}  // namespace
}  // namespace atl::native
