#include "cli/apply.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "os/file.h"

namespace atl::cli {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A sandbox's answers, made up.
class FakeChanges final : public ChangeSource {
 public:
  Result<Changes> list(const std::string&) override { return Changes{}; }
  Result<> read(const std::string& path, int fd) override {
    if (!files.contains(path)) return Error(Code::not_found, "no " + path);
    return os::write_all(fd, files.at(path));
  }
  std::map<std::string, std::string> files;
};

class ApplyTest : public testing::Test {
 protected:
  ApplyTest() {
    char path[] = "/tmp/atoll-apply-XXXXXX";
    home_ = fs::path(mkdtemp(path));
    fs::create_directory(home_ / "dir");
    changes_.copies = {{"/workspace", home_ / "dir"}};
    // What the tests write now was there before.
    changes_.created_at = system_clock().wall() + std::chrono::hours(1);
  }
  ~ApplyTest() override { fs::remove_all(home_); }

  void add(ChangeKind change, FileKind kind, const std::string& path, uint32_t mode = 0644,
           const std::string& link = "") {
    FileChange one;
    one.change = change;
    one.kind = kind;
    one.path = "/workspace/" + path;
    one.mode = mode;
    one.modified_at = std::chrono::nanoseconds(1'700'000'000'123'456'789);
    one.link_target = link;
    changes_.changes.push_back(one);
  }
  void add_file(const std::string& path, const std::string& bytes, uint32_t mode = 0644) {
    add(ChangeKind::added, FileKind::file, path, mode);
    source_.files["/workspace/" + path] = bytes;
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(home_ / "dir" / name) << text;
  }
  std::string read(const std::string& name) {
    std::ifstream file(home_ / "dir" / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> names() {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(home_ / "dir")) {
      found.push_back(entry.path().filename());
    }
    std::ranges::sort(found);
    return found;
  }
  Result<Applied> apply(Conflicts conflicts = Conflicts::stop, Doing doing = Doing::apply) {
    return apply_changes(source_, changes_, conflicts, doing);
  }

  fs::path home_;
  Changes changes_;
  FakeChanges source_;
};

TEST_F(ApplyTest, FilesDirectoriesLinksAndRemovalsArriveAsTheyAre) {
  write("old", "1");
  fs::create_directory(home_ / "dir/tree");
  write("tree/x", "1");
  add(ChangeKind::added, FileKind::directory, "new", 0555);
  add_file("new/script", "#!/bin/sh", 0755);
  add(ChangeKind::added, FileKind::symlink, "new/link", 0777, "/etc/passwd");
  add(ChangeKind::deleted, FileKind::file, "old");
  add(ChangeKind::deleted, FileKind::directory, "tree");

  const auto applied = apply();

  ASSERT_TRUE(applied) << applied.error().message();
  EXPECT_THAT(names(), ElementsAre("new"));
  EXPECT_EQ(read("new/script"), "#!/bin/sh");
  EXPECT_EQ(fs::read_symlink(home_ / "dir/new/link"), "/etc/passwd");
  struct stat info{};
  ASSERT_EQ(stat((home_ / "dir/new/script").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0755U);
  EXPECT_EQ(info.st_mtim.tv_nsec, 123'456'789);
  ASSERT_EQ(stat((home_ / "dir/new").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0555U);
  chmod((home_ / "dir/new").c_str(), 0755);
}

TEST_F(ApplyTest, SpecialBitsStayInside) {
  add_file("tool", "x", 06755);

  ASSERT_TRUE(apply());

  struct stat info{};
  ASSERT_EQ(stat((home_ / "dir/tool").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0755U);
}

TEST_F(ApplyTest, ALinkOfTheHostIsReplacedAndNeverWrittenThrough) {
  std::ofstream(home_ / "outside") << "mine";
  fs::create_symlink(home_ / "outside", home_ / "dir/file");
  add_file("file", "theirs");

  ASSERT_TRUE(apply());

  EXPECT_EQ(read("file"), "theirs");
  EXPECT_FALSE(fs::is_symlink(home_ / "dir/file"));
  std::ifstream outside(home_ / "outside");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(outside), {}), "mine");
}

TEST_F(ApplyTest, ALinkInTheWayLeadsNowhere) {
  fs::create_directory(home_ / "outside");
  fs::create_symlink(home_ / "outside", home_ / "dir/sub");
  add_file("sub/file", "theirs");

  const auto asked = apply();
  const auto forced = apply(Conflicts::overwrite);

  ASSERT_TRUE(asked);
  EXPECT_THAT(asked->conflicts, SizeIs(1));
  EXPECT_FALSE(forced);
  EXPECT_TRUE(fs::is_empty(home_ / "outside"));
}

TEST_F(ApplyTest, ALinkThatTheSandboxMadeIsNoWayOutEither) {
  fs::create_directory(home_ / "outside");
  add(ChangeKind::added, FileKind::symlink, "sub", 0777, home_ / "outside");
  add_file("sub/file", "theirs");

  EXPECT_FALSE(apply());

  EXPECT_TRUE(fs::is_empty(home_ / "outside"));
}

TEST_F(ApplyTest, NamesThatClimbAreRefusedBeforeAnythingIsDone) {
  for (const char* path : {"../up", "a/../../up", ".", "a//b", "a/.."}) {
    changes_.changes.clear();
    add_file("fine", "x");
    add_file(path, "x");

    const auto refused = apply(Conflicts::overwrite);

    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().code(), Code::permission_denied) << path;
    EXPECT_THAT(names(), IsEmpty()) << path;
  }
}

TEST_F(ApplyTest, APathOutsideOfEveryCopyIsRefused) {
  add_file("x", "x");
  changes_.changes[0].path = "/workspacex";

  EXPECT_EQ(apply().error().code(), Code::permission_denied);
}

TEST_F(ApplyTest, DevicesAreLeftOutAndSaidSo) {
  add(ChangeKind::added, FileKind::other, "pipe");
  add_file("file", "x");

  const auto applied = apply();

  ASSERT_TRUE(applied);
  EXPECT_THAT(applied->left_out, ElementsAre(HasSubstr("pipe")));
  EXPECT_THAT(names(), ElementsAre("file"));
}

TEST_F(ApplyTest, WhatChangedHereMeanwhileStopsEverythingUnlessForced) {
  write("file", "mine");
  changes_.created_at = system_clock().wall() - std::chrono::hours(1);
  add_file("file", "theirs");
  add_file("other", "x");

  const auto stopped = apply();
  ASSERT_TRUE(stopped);
  EXPECT_THAT(stopped->conflicts, ElementsAre(HasSubstr("/dir/file")));
  EXPECT_EQ(read("file"), "mine");
  EXPECT_THAT(names(), ElementsAre("file"));

  ASSERT_TRUE(apply(Conflicts::overwrite));
  EXPECT_EQ(read("file"), "theirs");
}

TEST_F(ApplyTest, ADirectoryWithNewFilesInItIsNotJustDeleted) {
  fs::create_directory(home_ / "dir/tree");
  write("tree/new", "mine");
  changes_.created_at = system_clock().wall() - std::chrono::hours(1);
  add(ChangeKind::deleted, FileKind::directory, "tree");

  const auto stopped = apply();

  ASSERT_TRUE(stopped);
  EXPECT_THAT(stopped->conflicts, SizeIs(1));
  EXPECT_EQ(read("tree/new"), "mine");
}

TEST_F(ApplyTest, ARehearsalChangesNothing) {
  add_file("file", "x");

  const auto told = apply(Conflicts::stop, Doing::rehearse);

  ASSERT_TRUE(told);
  EXPECT_THAT(told->done.changes, SizeIs(1));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(ApplyTest, AFileThatCannotBeReadLeavesNothingBehind) {
  write("file", "mine");
  add(ChangeKind::modified, FileKind::file, "file");

  EXPECT_FALSE(apply());

  EXPECT_EQ(read("file"), "mine");
  EXPECT_THAT(names(), ElementsAre("file"));
}

}  // namespace
}  // namespace atl::cli
