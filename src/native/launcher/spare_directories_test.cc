#include "native/launcher/spare_directories.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "os/file.h"

namespace atl::native {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

class SpareDirectoriesTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/atoll-spare-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    path_ = path;
    run_ = os::open_at(AT_FDCWD, path_, O_RDONLY | O_DIRECTORY).value();
    ASSERT_TRUE(os::make_directory(run_.get(), "box", 0711));
    boxes_ = os::open_at(run_.get(), "box", O_RDONLY | O_DIRECTORY).value();
    spares_.open(run_.get());
  }
  void TearDown() override { ASSERT_TRUE(os::remove_tree(AT_FDCWD, path_)); }

  void make(const std::string& name) {
    const auto made = spares_.make(boxes_.get(), name);
    ASSERT_TRUE(made) << made.error().message();
  }
  ino_t inode(const std::string& name) {
    struct stat info{};
    EXPECT_EQ(fstatat(boxes_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW), 0);
    EXPECT_EQ(info.st_mode & 07777, 0711u);
    return info.st_ino;
  }
  // The first one that is offered is never kept.
  void offer_first() {
    make("first");
    EXPECT_FALSE(spares_.keep(boxes_.get(), "first"));
    ASSERT_TRUE(os::remove_tree(boxes_.get(), "first"));
  }

  std::string path_;
  Fd run_, boxes_;
  SpareDirectories spares_;
};

TEST_F(SpareDirectoriesTest, WhoMakesOneSandboxKeepsNothing) {
  offer_first();

  EXPECT_THAT(os::names_in(run_.get()), UnorderedElementsAre("box"));
}

TEST_F(SpareDirectoriesTest, TheNextOneGetsTheDirectoryAndItsRecord) {
  offer_first();
  make("a");
  const ino_t directory = inode("a");
  const auto a = os::open_at(boxes_.get(), "a", O_RDONLY | O_DIRECTORY).value();
  ASSERT_TRUE(os::replace_file(a.get(), "record", "of a", 0600));

  EXPECT_TRUE(spares_.keep(boxes_.get(), "a"));
  EXPECT_THAT(os::names_in(boxes_.get()), IsEmpty());
  make("b");

  EXPECT_EQ(inode("b"), directory);
  EXPECT_THAT(os::names_in(a.get()), UnorderedElementsAre("record"));
  make("c");
  EXPECT_NE(inode("c"), directory);
}

TEST_F(SpareDirectoriesTest, ASpareOneReplacesNothing) {
  offer_first();
  make("a");
  EXPECT_TRUE(spares_.keep(boxes_.get(), "a"));
  make("b");
  EXPECT_TRUE(spares_.keep(boxes_.get(), "b"));
  ASSERT_TRUE(os::make_directory(boxes_.get(), "taken", 0711));

  EXPECT_EQ(spares_.make(boxes_.get(), "taken").error().os_errno(), EEXIST);
}

TEST_F(SpareDirectoriesTest, NoMoreThanABoundAreKept) {
  offer_first();
  int kept = 0;
  for (int i = 0; i < 40; ++i) make(std::to_string(i));
  for (int i = 0; i < 40; ++i) kept += spares_.keep(boxes_.get(), std::to_string(i));

  EXPECT_EQ(kept, 32);
  EXPECT_EQ(os::names_in(boxes_.get()).size(), 8u);
}

TEST_F(SpareDirectoriesTest, NothingIsLeftOfThemOnceTheyAreCleared) {
  offer_first();
  make("a");
  EXPECT_TRUE(spares_.keep(boxes_.get(), "a"));
  EXPECT_THAT(os::names_in(run_.get()), UnorderedElementsAre("box", "spare"));

  spares_.clear();
  EXPECT_THAT(os::names_in(run_.get()), UnorderedElementsAre("box"));
  make("b");
  EXPECT_TRUE(spares_.keep(boxes_.get(), "b"));
  spares_.clear();
  EXPECT_THAT(os::names_in(run_.get()), UnorderedElementsAre("box"));
}

TEST_F(SpareDirectoriesTest, TheNextLauncherRemovesWhatIsThere) {
  offer_first();
  make("a");
  EXPECT_TRUE(spares_.keep(boxes_.get(), "a"));

  SpareDirectories next;
  next.open(run_.get());

  EXPECT_THAT(os::names_in(run_.get()), UnorderedElementsAre("box"));
  make("b");
  EXPECT_FALSE(spares_.keep(boxes_.get(), "b"));
}

}  // namespace
}  // namespace atl::native
