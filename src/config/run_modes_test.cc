#include "config/run_modes.h"

#include <gmock/gmock.h>

namespace atl::config {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RunModes, AreRoutes) {
  EXPECT_THAT(find_run_mode("wasm")->drivers, ElementsAre("wasm", "docker", "native"));
  EXPECT_THAT(find_run_mode("docker")->drivers, ElementsAre("docker", "native"));
  EXPECT_THAT(find_run_mode("native")->drivers, ElementsAre("native"));
  EXPECT_THAT(find_run_mode("local")->drivers, ElementsAre("local"));
  EXPECT_THAT(find_run_mode("firecracker")->drivers, ElementsAre("firecracker"));
  EXPECT_THAT(find_run_mode("auto")->drivers, IsEmpty());
}

TEST(RunModes, TakeTheNamesOfOthers) {
  EXPECT_EQ(find_run_mode("wasmRuntime")->name, "wasm");
  EXPECT_EQ(find_run_mode("aws_lambda")->name, "lambda");
  EXPECT_EQ(find_run_mode("Auto")->name, "auto");
  EXPECT_FALSE(find_run_mode("hybrid_aws"));
  EXPECT_FALSE(find_run_mode("moon"));
  EXPECT_FALSE(find_run_mode(""));
  EXPECT_THAT(run_mode_names(), Contains("auto"));
}

TEST(RunModes, NoChainEndsBelowAContainer) {
  for (const std::string& name : run_mode_names()) {
    const auto mode = find_run_mode(name);
    ASSERT_TRUE(mode) << name;
    if (mode->drivers.size() < 2) continue;
    EXPECT_EQ(weakest_level(*mode), "container") << name;
  }
  EXPECT_EQ(strongest_level(*find_run_mode("wasm")), "sentry");
  EXPECT_EQ(weakest_level(*find_run_mode("auto")), "process");
}

}  // namespace
}  // namespace atl::config
