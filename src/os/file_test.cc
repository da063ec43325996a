#include "os/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace atl::os {
namespace {

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/atoll-file-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    path_ = path;
    directory_ = open_at(AT_FDCWD, path_, O_RDONLY | O_DIRECTORY).value();
  }
  void TearDown() override { ASSERT_TRUE(remove_tree(AT_FDCWD, path_).has_value()); }

  std::string path_;
  Fd directory_;
};

TEST_F(FileTest, NothingLeadsOutOfTheDirectory) {
  ASSERT_EQ(symlinkat("/etc/passwd", directory_.get(), "absolute"), 0);
  ASSERT_EQ(symlinkat("../../etc/passwd", directory_.get(), "relative"), 0);

  for (const char* path : {"absolute", "relative", "../etc", "/etc/passwd", "./../../etc/passwd"}) {
    EXPECT_EQ(open_beneath(directory_.get(), path, O_RDONLY).error().os_errno(), EXDEV) << path;
  }
}

TEST_F(FileTest, WithoutLinksNotEvenOneThatStaysInsideIsFollowed) {
  ASSERT_EQ(mkdirat(directory_.get(), "real", 0700), 0);
  ASSERT_EQ(symlinkat("real", directory_.get(), "inside"), 0);
  const int flags = O_PATH | O_DIRECTORY;

  EXPECT_TRUE(open_without_links(directory_.get(), "real", flags).has_value());
  EXPECT_EQ(open_without_links(directory_.get(), "inside", flags).error().os_errno(), ELOOP);
  EXPECT_EQ(open_without_links(directory_.get(), "inside/.", flags).error().os_errno(), ELOOP);
  EXPECT_EQ(open_without_links(directory_.get(), "../etc", flags).error().os_errno(), EXDEV);
}

TEST_F(FileTest, ReplaceLeavesTheNewContentAndNoOtherFile) {
  ASSERT_TRUE(replace_file(directory_.get(), "record", "one", 0600).has_value());
  ASSERT_TRUE(replace_file(directory_.get(), "record", "two", 0600).has_value());

  EXPECT_EQ(read_file(directory_.get(), "record", 100).value(), "two");
  ASSERT_EQ(unlinkat(directory_.get(), "record", 0), 0);
  EXPECT_EQ(rmdir(path_.c_str()), 0) << "something else was left";
  ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
}

TEST_F(FileTest, ReadStopsAtItsLimit) {
  ASSERT_TRUE(replace_file(directory_.get(), "big", std::string(5000, 'x'), 0600).has_value());

  EXPECT_EQ(read_file(directory_.get(), "big", 4999).error().code(), Code::too_large);
}

TEST_F(FileTest, RemoveTreeTakesLinksNotWhatTheyPointAt) {
  ASSERT_TRUE(make_directory(directory_.get(), "kept", 0700).has_value());
  ASSERT_TRUE(make_directory(directory_.get(), "tree", 0700).has_value());
  auto tree = open_at(directory_.get(), "tree", O_RDONLY | O_DIRECTORY).value();
  ASSERT_EQ(symlinkat("../kept", tree.get(), "link"), 0);
  ASSERT_TRUE(make_directory(tree.get(), "locked", 0000).has_value());

  ASSERT_TRUE(remove_tree(directory_.get(), "tree").has_value());

  EXPECT_EQ(faccessat(directory_.get(), "kept", F_OK, 0), 0);
  EXPECT_NE(faccessat(directory_.get(), "tree", F_OK, 0), 0);
  EXPECT_TRUE(remove_tree(directory_.get(), "tree").has_value()) << "missing is fine";
}

}  // namespace
}  // namespace atl::os
