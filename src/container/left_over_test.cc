#include "container/left_over.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"

namespace atl::container {
namespace {

class LeftOver : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(base_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(base_); }

  // The driver's directory of a run that lives as long as the descriptor.
  std::string begin_run(const std::string& name, Fd& held) {
    std::filesystem::create_directories(base_ + "/" + name);
    held = Fd(open((base_ + "/" + name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_EQ(flock(held.get(), LOCK_EX | LOCK_NB), 0);
    return base_ + "/" + name + "/engines/docker";
  }

  std::string base_ = "/tmp/atoll-left-over-XXXXXX";
};

TEST_F(LeftOver, ARunThatLivesHasLeftNothing) {
  Fd ours;
  Fd theirs;
  const std::string own = begin_run("run-ours", ours);
  const std::string other = begin_run("run-theirs", theirs);

  EXPECT_FALSE(is_left_over(instance_of_run(own), own));
  EXPECT_FALSE(is_left_over(instance_of_run(other), own));
}

TEST_F(LeftOver, WhatAKilledRunMadeIsLeftOverWithItsDirectoryAndWithout) {
  Fd ours;
  Fd theirs;
  const std::string own = begin_run("run-ours", ours);
  const std::string instance = instance_of_run(begin_run("run-theirs", theirs));

  theirs = Fd();
  EXPECT_TRUE(is_left_over(instance, own));

  std::filesystem::remove_all(base_ + "/run-theirs");
  EXPECT_TRUE(is_left_over(instance, own));
}

TEST_F(LeftOver, WhatIsElsewhereOrADaemonsIsNotOurs) {
  Fd ours;
  const std::string own = begin_run("run-ours", ours);

  // The same path in another file system.
  EXPECT_FALSE(is_left_over(base_ + "/run-gone/engines/docker@1:1", own));
  EXPECT_FALSE(is_left_over(base_ + "/run-gone/engines/docker", own));
  EXPECT_FALSE(is_left_over("/var/lib/atoll/engines/docker", own));
  EXPECT_FALSE(is_left_over("", own));
}

}  // namespace
}  // namespace atl::container
