#include "os/tree_copy.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "os/file.h"

namespace atl::os {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TreeCopyTest : public ::testing::Test {
 protected:
  TreeCopyTest() {
    char name[] = "/tmp/atoll-tree-copy-XXXXXX";
    top_ = mkdtemp(name);
    fs::create_directory(top_ / "from");
    fs::create_directory(top_ / "to");
  }
  ~TreeCopyTest() override { fs::remove_all(top_); }

  void put(const std::string& path, const std::string& text) {
    fs::create_directories((from() / path).parent_path());
    std::ofstream(from() / path) << text;
  }
  fs::path from() const { return top_ / "from"; }
  fs::path to() const { return top_ / "to"; }
  Result<CopiedTree> copy(CopyLimits limits = {}) {
    const Fd source(open(from().c_str(), O_PATH | O_DIRECTORY));
    const Fd target(open(to().c_str(), O_PATH | O_DIRECTORY));
    return copy_tree(source.get(), target.get(), limits);
  }
  static std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path top_;
};

TEST_F(TreeCopyTest, FilesDirectoriesAndLinksArriveWithTheirModes) {
  put("bin/tool", "#!/bin/sh\n");
  put("etc/deep/er/file", std::string(700'000, 'x'));
  fs::permissions(from() / "bin/tool", fs::perms(04755));
  fs::permissions(from() / "etc/deep", fs::perms(0500));
  fs::create_symlink("/etc/passwd", from() / "absolute");
  fs::create_symlink("../../..", from() / "bin/up");
  const auto copied = copy();

  ASSERT_TRUE(copied) << copied.error().message();
  EXPECT_EQ(text_of(to() / "etc/deep/er/file").size(), 700'000U);
  EXPECT_EQ(fs::status(to() / "bin/tool").permissions(), fs::perms(0755)) << "no set-user-id bit";
  EXPECT_EQ(fs::status(to() / "etc/deep").permissions(), fs::perms(0700));
  EXPECT_EQ(fs::read_symlink(to() / "absolute"), "/etc/passwd") << "a link stays a link";
  EXPECT_EQ(fs::read_symlink(to() / "bin/up"), "../../..");
  EXPECT_EQ(copied->left_out, 0U);
  EXPECT_EQ(copied->files, 8U);
}

TEST_F(TreeCopyTest, TheCopyIsAnotherFile) {
  put("a", "one");
  ASSERT_TRUE(copy());
  std::ofstream(to() / "a") << "two";
  EXPECT_EQ(text_of(from() / "a"), "one");
}

TEST_F(TreeCopyTest, NamesOfOneFileStayNamesOfOneFile) {
  put("one", "same");
  fs::create_hard_link(from() / "one", from() / "two");
  const auto copied = copy();

  ASSERT_TRUE(copied);
  EXPECT_EQ(fs::hard_link_count(to() / "one"), 2U);
  EXPECT_EQ(copied->bytes, 4U) << "counted once";
}

TEST_F(TreeCopyTest, WhatIsNoFileIsLeftOut) {
  put("a", "one");
  ASSERT_EQ(mkfifo((from() / "pipe").c_str(), 0600), 0);
  const auto copied = copy();

  ASSERT_TRUE(copied);
  EXPECT_EQ(copied->left_out, 1U);
  EXPECT_FALSE(fs::exists(to() / "pipe"));
}

TEST_F(TreeCopyTest, ATreeThatIsTooLargeIsRefused) {
  put("a", "one");
  put("b", "two");
  EXPECT_EQ(copy({.files = 1}).error().code(), Code::too_large);
  fs::remove_all(to());
  fs::create_directory(to());
  const auto copied = copy({.bytes = 5});
  EXPECT_EQ(copied.error().code(), Code::too_large);
  EXPECT_THAT(copied.error().hint(), HasSubstr("native"));
  fs::remove_all(to());
  fs::create_directory(to());
  EXPECT_THAT(copy({.time = std::chrono::seconds(-1)}).error().message(), HasSubstr("seconds"));
}

TEST_F(TreeCopyTest, AnEmptyTreeIsFine) {
  const auto copied = copy();
  ASSERT_TRUE(copied);
  EXPECT_EQ(copied->files, 0U);
}

}  // namespace
}  // namespace atl::os
