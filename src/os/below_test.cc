#include "os/below.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "os/file.h"

namespace atl::os {
namespace {

class BelowTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/atoll-below-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    path_ = path;
    for (const char* name : {"/root", "/root/in", "/root/in/deep", "/rooted", "/other"})
      ASSERT_EQ(mkdir((path_ + name).c_str(), 0700), 0);
  }
  void TearDown() override { ASSERT_TRUE(remove_tree(AT_FDCWD, path_).has_value()); }

  bool is_below_root(const std::string& name) {
    const Fd directory = open_at(AT_FDCWD, path_ + name, O_PATH | O_DIRECTORY).value();
    return is_below(directory.get(), path_ + "/root");
  }

  std::string path_;
};

TEST_F(BelowTest, WhatIsMeantIsWhatWasOpenedAndNotHowItWasCalled) {
  ASSERT_EQ(symlink("root/in", (path_ + "/link_in").c_str()), 0);
  ASSERT_EQ(symlink("../other", (path_ + "/root/link_out").c_str()), 0);

  EXPECT_TRUE(is_below_root("/root"));
  EXPECT_TRUE(is_below_root("/root/in/deep"));
  EXPECT_TRUE(is_below_root("/link_in"));
  EXPECT_FALSE(is_below_root("/root/link_out"));
  EXPECT_FALSE(is_below_root("/root/../other"));
  EXPECT_FALSE(is_below_root("/rooted"));
}

TEST_F(BelowTest, WhatWasMovedAwayIsNotBelow) {
  const Fd directory = open_at(AT_FDCWD, path_ + "/root/in", O_PATH | O_DIRECTORY).value();
  ASSERT_EQ(rename((path_ + "/root/in").c_str(), (path_ + "/other/in").c_str()), 0);
  ASSERT_EQ(mkdir((path_ + "/root/in").c_str(), 0700), 0);

  EXPECT_FALSE(is_below(directory.get(), path_ + "/root"));
  EXPECT_FALSE(is_below(directory.get(), path_ + "/missing"));
  EXPECT_TRUE(is_below(directory.get(), "/"));
}

}  // namespace
}  // namespace atl::os
