#include "agent/diff.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "guest/frame.h"
#include "os/file.h"

namespace atl::agent {
namespace {

using guest::Change;
using guest::ChangeKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The two directories of a copy as the kernel keeps them, and what the sandbox sees of them, made
// by hand: only removals need a kernel, and a directory that hides its lower one stands for those.
class DiffTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/dev/shm/atoll-diff-XXXXXX";  // some tests make thousands of files
    ASSERT_NE(mkdtemp(path), nullptr);
    path_ = path;
    for (const char* name : {"upper", "lower", "root", "root/workspace"}) {
      std::filesystem::create_directory(path_ / name);
    }
    root_ = os::open_at(AT_FDCWD, path_ / "root", O_PATH | O_DIRECTORY).value();
    roots_ = std::make_unique<FileRoots>(std::vector<FileRoot>{{"/", root_.get(), true, true}},
                                         "workspace");
    copies_.push_back({"/workspace", open("upper"), open("lower")});
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  Fd open(const std::string& name) {
    return os::open_at(AT_FDCWD, path_ / name, O_PATH | O_DIRECTORY).value();
  }
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  void make(const std::string& name) { std::filesystem::create_directories(path_ / name); }
  // Seen by the sandbox as well.
  void write_both(const std::string& name, const std::string& text) {
    write("lower/" + name, text);
    write("root/workspace/" + name, text);
  }

  Result<std::vector<std::string>> lines(const std::string& path = "") {
    TRY(const auto page, diff(copies_, *roots_, "/workspace", {path, 0}));
    std::vector<std::string> out;
    for (const Change& change : page.changes) {
      const char* letter = change.change == ChangeKind::added      ? "A "
                           : change.change == ChangeKind::modified ? "M "
                                                                   : "D ";
      out.push_back(letter + change.path);
    }
    return out;
  }

  std::filesystem::path path_;
  Fd root_;
  std::unique_ptr<FileRoots> roots_;
  std::vector<CopiedDirectory> copies_;
};

TEST_F(DiffTest, NothingWrittenIsNothingChanged) {
  write_both("a", "1");

  EXPECT_THAT(lines().value(), IsEmpty());
}

TEST_F(DiffTest, NewFilesAreAddedWithEverythingBelowThem) {
  write("upper/new/deep/file", "x");
  write("upper/top", "yy");

  EXPECT_THAT(lines().value(), ElementsAre("A /workspace/new", "A /workspace/new/deep",
                                           "A /workspace/new/deep/file", "A /workspace/top"));
}

TEST_F(DiffTest, AWrittenFileIsModifiedAndAMereCopyIsNot) {
  write_both("changed", "1");
  write_both("copied", "same");
  write("upper/changed", "22");
  write("upper/copied", "same");
  std::filesystem::last_write_time(path_ / "upper/copied",
                                   std::filesystem::last_write_time(path_ / "lower/copied"));

  EXPECT_THAT(lines().value(), ElementsAre("M /workspace/changed"));
}

TEST_F(DiffTest, AnotherModeIsAChange) {
  write_both("script", "x");
  write("upper/script", "x");
  std::filesystem::last_write_time(path_ / "upper/script",
                                   std::filesystem::last_write_time(path_ / "lower/script"));
  ASSERT_EQ(chmod((path_ / "upper/script").c_str(), 0755), 0);

  EXPECT_THAT(lines().value(), ElementsAre("M /workspace/script"));
}

TEST_F(DiffTest, WhatTheSandboxNoLongerSeesIsDeleted) {
  write("lower/dir/gone", "1");
  write_both("dir/kept", "1");
  make("upper/dir");

  EXPECT_THAT(lines().value(), ElementsAre("D /workspace/dir/gone"));
}

TEST_F(DiffTest, AFileThatBecameADirectoryIsDeletedAndAdded) {
  write_both("x", "1");
  write("upper/x/y", "2");

  EXPECT_THAT(lines().value(), ElementsAre("D /workspace/x", "A /workspace/x", "A /workspace/x/y"));
}

TEST_F(DiffTest, LinksAreToldAndNeverFollowed) {
  write_both("link/file", "host");
  make("upper/target");
  write("upper/target/secret", "x");
  ASSERT_EQ(symlink("target", (path_ / "upper/link").c_str()), 0);

  const auto page = diff(copies_, *roots_, "/workspace", {"", 0}).value();

  ASSERT_EQ(page.changes.size(), 4U);
  EXPECT_EQ(page.changes[1].path, "/workspace/link");
  EXPECT_EQ(page.changes[1].kind, guest::EntryKind::symlink);
  EXPECT_EQ(page.changes[1].link_target, "target");
}

TEST_F(DiffTest, APathNarrowsItDown) {
  write("upper/a/one", "x");
  write("upper/b/two", "x");

  EXPECT_THAT(lines("/workspace/a").value(), ElementsAre("A /workspace/a", "A /workspace/a/one"));
  EXPECT_THAT(lines("b/two").value(), ElementsAre("A /workspace/b/two"));
  EXPECT_THAT(lines("./a/../b/two").value(), ElementsAre("A /workspace/b/two"));
  EXPECT_EQ(lines("/etc").error().code(), Code::not_found);
}

TEST_F(DiffTest, WithoutCopiesItSaysSo) {
  copies_.clear();

  EXPECT_EQ(lines().error().code(), Code::unsupported);
}

TEST_F(DiffTest, PagesGoOnWhereTheLastOneEnded) {
  std::string deep = "upper";
  for (int i = 0; i < 15; ++i) deep += "/" + std::string(240, 'd');
  for (int i = 0; i < 400; ++i) write(deep + "/" + std::to_string(i), "");
  std::vector<std::string> seen;
  bool more = true;
  int pages = 0;
  while (more && pages < 10) {
    auto page = diff(copies_, *roots_, "/workspace", {"", seen.size()}).value();
    ASSERT_LE(guest::encode(page).size(), guest::kLargestBody);
    for (auto& change : page.changes) seen.push_back(change.path);
    more = page.more;
    ++pages;
  }

  EXPECT_EQ(seen.size(), 415U);
  EXPECT_EQ(pages, 2);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
}

TEST_F(DiffTest, TooManyAndTooDeepAreRefused) {
  for (int i = 0; i < 10'001; ++i) write("upper/f" + std::to_string(i), "");
  EXPECT_EQ(lines().error().code(), Code::too_large);

  std::string deep = "upper/deep";
  for (int i = 0; i < 70; ++i) deep += "/d";
  make(deep);
  EXPECT_THAT(lines("deep").error().message(), HasSubstr("64 deep"));
}

}  // namespace
}  // namespace atl::agent
