#include "container/architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace atl::container {
namespace {

using testing::HasSubstr;

class Architecture : public testing::Test {
 protected:
  Architecture() { EXPECT_NE(mkdtemp(emulators_.data()), nullptr); }
  ~Architecture() override { std::filesystem::remove_all(emulators_); }

  std::string emulators_ = "/tmp/atoll-emulators-XXXXXX";
};

TEST_F(Architecture, AnImageOfAnotherMachineIsRefusedUnlessSomethingRunsIt) {
  const auto refused = check_programs_run("s390x", "tool:1", emulators_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
  EXPECT_THAT(refused.error().message(), HasSubstr("image tool:1 is for s390x"));
  EXPECT_THAT(refused.error().hint(), HasSubstr("--platform linux/"));

  std::ofstream(emulators_ + "/qemu-s390x") << "enabled\n";
  EXPECT_TRUE(check_programs_run("s390x", "tool:1", emulators_));
}

TEST_F(Architecture, WhatDoesNotSayMayRun) {
  EXPECT_TRUE(check_programs_run("", "tool:1"));
  EXPECT_TRUE(check_agent_runs("", "the engine's machine"));
}

TEST_F(Architecture, ANameIsNoPath) {
  std::ofstream(emulators_ + "/x") << "";

  EXPECT_FALSE(check_programs_run("/../x", "tool:1", emulators_));
}

}  // namespace
}  // namespace atl::container
