#include "app/state_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

namespace atl::app {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class StateDirectoryTest : public ::testing::Test {
 protected:
  StateDirectoryTest() {
    char name[] = "/tmp/atoll-state-XXXXXX";
    base_ = mkdtemp(name);
    user_ = {.uid = geteuid(), .gid = getegid()};
  }
  ~StateDirectoryTest() override { static_cast<void>(os::remove_tree(AT_FDCWD, base_)); }

  static mode_t mode_of(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }

  std::string base_;
  DaemonUser user_;
};

TEST_F(StateDirectoryTest, IsMadeWithItsParentsAndClosedToOthers) {
  const auto state = StateDirectory::open(base_ + "/a/b/state", user_);

  ASSERT_TRUE(state) << state.error().message();
  EXPECT_EQ(mode_of(state->path()) & 0077, geteuid() == 0 ? 0011 : 0u);
  EXPECT_EQ(mode_of(state->file("atoll.db")), 0600u);
}

TEST_F(StateDirectoryTest, OthersMayPassThroughItAndReadNothing) {
  ASSERT_TRUE(StateDirectory::open(base_ + "/state", user_));

  const auto state =
      StateDirectory::open(base_ + "/state", user_, StateDirectory::Others::may_pass);

  ASSERT_TRUE(state) << state.error().message();
  ASSERT_TRUE(state->admin_key());
  EXPECT_EQ(mode_of(state->path()), 0711u);
  for (const char* name : {"atoll.db", "lock", "admin.key"}) {
    EXPECT_EQ(mode_of(state->file(name)), 0600u) << name;
  }
}

TEST_F(StateDirectoryTest, ASecondDaemonIsToldWhoHasIt) {
  const auto first = StateDirectory::open(base_ + "/state", user_);
  ASSERT_TRUE(first);

  const auto second = StateDirectory::open(base_ + "/state", user_);

  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), Code::conflict);
  EXPECT_THAT(second.error().message(), HasSubstr(std::to_string(getpid())));
  EXPECT_THAT(second.error().hint(), HasSubstr("atoll down"));
}

TEST_F(StateDirectoryTest, IsFreeAgainWhenItsDaemonIsGone) {
  {
    ASSERT_TRUE(StateDirectory::open(base_ + "/state", user_));
  }

  EXPECT_TRUE(StateDirectory::open(base_ + "/state", user_));
}

TEST_F(StateDirectoryTest, OneThatOthersMayWriteToIsRefused) {
  ASSERT_EQ(mkdir((base_ + "/open").c_str(), 0700), 0);
  ASSERT_EQ(chmod((base_ + "/open").c_str(), 0777), 0);

  const auto state = StateDirectory::open(base_ + "/open", user_);

  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code(), Code::permission_denied);
}

TEST_F(StateDirectoryTest, TheFirstKeyIsMadeOnceAndOnlyForItsOwner) {
  const auto state = StateDirectory::open(base_ + "/state", user_);
  ASSERT_TRUE(state);

  const auto first = state->admin_key();
  const auto again = state->admin_key();

  ASSERT_TRUE(first && again);
  EXPECT_THAT(first->text, StartsWith("atk_"));
  EXPECT_EQ(first->text, again->text);
  EXPECT_TRUE(first->is_new);
  EXPECT_FALSE(again->is_new);
  EXPECT_EQ(mode_of(state->file("admin.key")), 0600u);
}

}  // namespace
}  // namespace atl::app
