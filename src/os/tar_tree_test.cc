#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "os/file.h"
#include "os/tar_pack.h"
#include "os/tar_unpack.h"

namespace atl::os {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

class TarTree : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/atoll-tar-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    path_ = path;
    for (const char* name : {"from", "to"}) ASSERT_EQ(mkdir(at(name).c_str(), 0755), 0);
    from_ = std::move(*open_at(AT_FDCWD, at("from"), O_PATH | O_DIRECTORY));
    to_ = std::move(*open_at(AT_FDCWD, at("to"), O_PATH | O_DIRECTORY));
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(AT_FDCWD, path_).has_value()); }

  std::string at(const std::string& name) const { return path_ + "/" + name; }
  static void make(const std::string& path, std::string_view text) {
    const Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0640));
    ASSERT_TRUE(write_all(fd.get(), text).has_value());
  }
  Result<Packed> pack(PackLimits limits = {}) {
    return pack_tree(
        from_.get(), "from", limits,
        [&](std::string_view bytes) -> Result<> {
          archive_ += bytes;
          return {};
        },
        [&](const std::string& path, std::string_view) { skipped_.push_back(path); });
  }
  Result<> unpack(UnpackLimits limits = {}) {
    TarUnpacker unpacker(to_.get(), limits, {});
    TarReader reader(unpacker);
    TRY_OK(reader.put(archive_));
    return reader.finish();
  }
  void add_file(const std::string& path, const std::string& text) {
    archive_ += tar_header({.path = path, .size = text.size(), .mode = 0644}) + text +
                tar_padding(text.size());
  }

  std::string path_;
  Fd from_, to_;
  std::string archive_;
  std::vector<std::string> skipped_;
};

TEST_F(TarTree, ATreeComesBack) {
  mkdir(at("from/d").c_str(), 0750);
  make(at("from/d/file"), "text");
  ASSERT_EQ(symlink("d/file", at("from/link").c_str()), 0);

  const auto packed = pack();
  ASSERT_TRUE(packed.has_value());
  ASSERT_TRUE(unpack().has_value());

  EXPECT_EQ(*read_file(to_.get(), "d/file", 100), "text");
  EXPECT_EQ(*read_file(to_.get(), "link", 100), "text");
  struct stat info{};
  ASSERT_EQ(stat(at("to/d/file").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640U);
  EXPECT_EQ(packed->skipped, 0U);
}

TEST_F(TarTree, WhatNobodyWouldTakeIsLeftOut) {
  ASSERT_EQ(symlink("/etc", at("from/out").c_str()), 0);
  ASSERT_EQ(symlink("../to", at("from/up").c_str()), 0);
  ASSERT_EQ(mkfifo(at("from/pipe").c_str(), 0600), 0);
  make(at("from/file"), "text");

  ASSERT_TRUE(pack().has_value());
  EXPECT_THAT(skipped_, UnorderedElementsAre("out", "up", "pipe"));
  ASSERT_TRUE(unpack().has_value());
  EXPECT_THAT(names_in(to_.get()), UnorderedElementsAre("file"));
}

TEST_F(TarTree, NothingIsWrittenThroughALink) {
  ASSERT_EQ(symlink("../from", at("to/d").c_str()), 0);
  ASSERT_EQ(symlink("../from/file", at("to/file").c_str()), 0);
  make(at("from/file"), "before");
  add_file("d/inside", "x");
  archive_ += tar_end();
  const auto through = unpack();
  ASSERT_FALSE(through.has_value());
  EXPECT_EQ(through.error().code(), Code::permission_denied);
  EXPECT_THAT(through.error().message(), HasSubstr("behind a link"));

  archive_.clear();
  add_file("file", "after");
  archive_ += tar_end();
  ASSERT_TRUE(unpack().has_value());
  EXPECT_EQ(*read_file(from_.get(), "file", 100), "before");
  EXPECT_EQ(*read_file(to_.get(), "file", 100), "after");
}

TEST_F(TarTree, ALinkOfTheArchiveIsNotGoneThroughEither) {
  archive_ += tar_header({.path = "a", .kind = TarKind::directory, .mode = 0755});
  archive_ += tar_header({.path = "l", .kind = TarKind::symlink, .link_target = "a"});
  add_file("l/file", "x");
  archive_ += tar_end();
  ASSERT_FALSE(unpack().has_value());
  EXPECT_TRUE(names_in(to_.get(), "a").empty());
}

TEST_F(TarTree, AFileThatIsCutOffIsNotThere) {
  make(at("to/file"), "before");
  add_file("file", std::string(10'000, 'x'));
  archive_.resize(5000);
  EXPECT_FALSE(unpack().has_value());
  EXPECT_THAT(names_in(to_.get()), UnorderedElementsAre("file"));
  EXPECT_EQ(*read_file(to_.get(), "file", 100), "before");
}

TEST_F(TarTree, HardLinksStayInside) {
  add_file("one", "text");
  archive_ += tar_header({.path = "two", .kind = TarKind::hard_link, .link_target = "one"});
  archive_ += tar_end();
  EXPECT_FALSE(unpack().has_value());
  ASSERT_TRUE(unpack({.hard_links = true}).has_value());
  EXPECT_EQ(*read_file(to_.get(), "two", 100), "text");

  ASSERT_EQ(symlink("../from", at("to/out").c_str()), 0);
  make(at("from/secret"), "secret");
  archive_ = tar_header({.path = "got", .kind = TarKind::hard_link, .link_target = "out/secret"});
  archive_ += tar_end();
  EXPECT_FALSE(unpack({.hard_links = true}).has_value());
  archive_ = tar_header({.path = "got", .kind = TarKind::hard_link, .link_target = "out"});
  archive_ += tar_end();
  EXPECT_FALSE(unpack({.hard_links = true}).has_value());
  EXPECT_THAT(names_in(to_.get()), UnorderedElementsAre("one", "two", "out"));
}

TEST_F(TarTree, LimitsHold) {
  for (const char* name : {"a", "b", "c"}) add_file(name, "12345");
  archive_ += tar_end();
  EXPECT_EQ(unpack({.entries = 2}).error().code(), Code::too_large);
  EXPECT_EQ(unpack({.bytes = 14}).error().code(), Code::too_large);
  EXPECT_TRUE(unpack({.entries = 3, .bytes = 15}).has_value());

  make(at("from/file"), "12345");
  EXPECT_EQ(pack({.bytes = 4}).error().code(), Code::too_large);
  EXPECT_EQ(pack({.walk = {.files = 1}}).error().code(), Code::too_large);
}

TEST_F(TarTree, ADeepTreeIsCutNotFatal) {
  std::string path = at("from");
  Fd here = std::move(*open_at(AT_FDCWD, path, O_PATH | O_DIRECTORY));
  for (int i = 0; i < 400; ++i) {
    ASSERT_EQ(mkdirat(here.get(), "d", 0755), 0);
    here = std::move(*open_at(here.get(), "d", O_PATH | O_DIRECTORY));
  }
  uint64_t seen = 0;
  const auto walked = walk_tree(from_.get(), {}, [&](const WalkedFile&) -> Result<WalkStep> {
    ++seen;
    return WalkStep::go_on;
  });
  ASSERT_TRUE(walked.has_value());
  EXPECT_EQ(walked->skipped, 1U);
  EXPECT_EQ(seen, 257U);
}

TEST_F(TarTree, OwnersComeBackWhereTheyCount) {
  // Nobody but root can give a file away.
  const uid_t owner = geteuid() == 0 ? 1234 : geteuid();
  const gid_t group = geteuid() == 0 ? 4321 : getegid();
  mkdir(at("from/d").c_str(), 0755);
  make(at("from/d/file"), "text");
  ASSERT_EQ(symlink("file", at("from/d/link").c_str()), 0);
  for (const char* name : {"from/d", "from/d/file", "from/d/link"})
    ASSERT_EQ(lchown(at(name).c_str(), owner, group), 0);

  ASSERT_TRUE(pack({.owners = true}).has_value());
  ASSERT_TRUE(unpack({.owners = true}).has_value());

  for (const char* name : {"to/d", "to/d/file", "to/d/link"}) {
    struct stat info{};
    ASSERT_EQ(lstat(at(name).c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, owner) << name;
    EXPECT_EQ(info.st_gid, group) << name;
  }
}

}  // namespace
}  // namespace atl::os
