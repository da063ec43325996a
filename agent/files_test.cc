#include "agent/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

namespace atl::agent {
namespace {

class FilesTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/atoll-files-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    path_ = path;
    ASSERT_EQ(mkdir((path_ + "/ws").c_str(), 0700), 0);
    directory_ = os::open_at(AT_FDCWD, path_ + "/ws", O_RDONLY | O_DIRECTORY).value();
    roots_ = std::make_unique<FileRoots>(std::vector<FileRoot>{
        {"/workspace", directory_.get(), true}, {path_ + "/ws", directory_.get(), true}});
    files_ = std::make_unique<FileService>(*roots_);
  }
  void TearDown() override {
    files_.reset();
    ASSERT_TRUE(os::remove_tree(AT_FDCWD, path_).has_value());
  }

  Result<guest::Entry> put(const std::string& path, const std::string& bytes) {
    guest::Path request;
    request.path = path;
    request.deep = true;
    TRY(auto opened, files_->open_write(request));
    TRY_OK(files_->write({opened.handle, bytes}));
    return files_->commit(opened.handle);
  }
  Result<std::string> get(const std::string& path) {
    TRY(auto opened, files_->open_read(path));
    std::string bytes;
    TRY_OK(files_->read({opened.handle, 0, 1000}, bytes));
    files_->close(opened.handle);
    return bytes;
  }

  std::string path_;
  Fd directory_;
  std::unique_ptr<FileRoots> roots_;
  std::unique_ptr<FileService> files_;
};

TEST_F(FilesTest, WritesAreVisibleUnderEveryNameOfTheWorkspace) {
  ASSERT_TRUE(put("a/b/c.txt", "hello").has_value());

  EXPECT_EQ(get("a/b/c.txt").value(), "hello");
  EXPECT_EQ(get("/workspace/a/b/c.txt").value(), "hello");
  EXPECT_EQ(get(path_ + "/ws/a/b/c.txt").value(), "hello");
}

TEST_F(FilesTest, NothingOutsideIsReachable) {
  ASSERT_EQ(symlinkat("/etc", directory_.get(), "etc"), 0);
  ASSERT_EQ(symlinkat("..", directory_.get(), "up"), 0);

  for (const char* path :
       {"/etc/passwd", "../x", "etc/passwd", "up/ws", "/workspace/../x", "/workspace2/x"}) {
    EXPECT_EQ(get(path).error().code(), Code::permission_denied) << path;
    EXPECT_FALSE(put(path, "x").has_value()) << path;
    EXPECT_FALSE(files_->remove({path, 0, true, 0}).has_value() && path[0] == '/') << path;
  }
  EXPECT_EQ(access((path_ + "/x").c_str(), F_OK), -1);
}

TEST_F(FilesTest, BadPathsHaveTheirOwnErrors) {
  EXPECT_THAT(get(std::string("a\0b", 3)).error().message(), testing::HasSubstr("NUL"));
  EXPECT_THAT(get(std::string(5000, 'x')).error().message(), testing::HasSubstr("4,095"));
  EXPECT_EQ(get(std::string(300, 'x')).error().os_errno(), ENAMETOOLONG);
  EXPECT_EQ(get("missing").error().code(), Code::not_found);
  EXPECT_THAT(get("").error().message(), testing::HasSubstr("directory"));
}

TEST_F(FilesTest, AnUploadThatIsNotCommittedLeavesNothing) {
  guest::Path request;
  request.path = "half";
  auto opened = files_->open_write(request).value();
  ASSERT_TRUE(files_->write({opened.handle, "data"}).has_value());

  files_ = std::make_unique<FileService>(*roots_);

  EXPECT_TRUE(files_->list("", 100).value().empty());
}

TEST_F(FilesTest, ANewUploadRemovesPartsThatNobodyHasCaredForInADay) {
  const auto begin = [&](const std::string& upload) {
    guest::ResumeWrite request;
    request.file.path = "big";
    request.upload = upload;
    const auto opened = files_->resume_write(request);
    ASSERT_TRUE(opened) << opened.error().message();
    ASSERT_TRUE(files_->write({opened->handle, "part"}));
    files_->close(opened->handle);
  };
  const auto exists = [&](const std::string& name) {
    return faccessat(directory_.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  };
  const auto age = [&](const std::string& name, time_t seconds) {
    const timespec then{time(nullptr) - seconds, 0};
    const timespec both[] = {then, then};
    ASSERT_EQ(utimensat(directory_.get(), name.c_str(), both, AT_SYMLINK_NOFOLLOW), 0);
  };
  begin("old");
  begin("young");
  ASSERT_TRUE(put("kept", "x"));
  age(".atoll-partial-old", 25 * 3600);
  age(".atoll-partial-young", 23 * 3600);
  age("kept", 25 * 3600);

  begin("new");

  EXPECT_FALSE(exists(".atoll-partial-old"));
  EXPECT_TRUE(exists(".atoll-partial-young"));
  EXPECT_TRUE(exists(".atoll-partial-new"));
  EXPECT_TRUE(exists("kept"));
}

TEST_F(FilesTest, AFifoCannotHoldTheAgent) {
  ASSERT_EQ(mkfifoat(directory_.get(), "pipe", 0600), 0);

  EXPECT_THAT(get("pipe").error().message(), testing::HasSubstr("regular"));
}

TEST_F(FilesTest, ReplacingALinkReplacesTheLinkNotItsTarget) {
  ASSERT_TRUE(put("target", "old").has_value());
  ASSERT_EQ(symlinkat("target", directory_.get(), "link"), 0);

  ASSERT_TRUE(put("link", "new").has_value());

  EXPECT_EQ(get("target").value(), "old");
  EXPECT_EQ(get("link").value(), "new");
}

TEST_F(FilesTest, NonUtf8NamesAreCarriedThrough) {
  const std::string name = "caf\xE9";
  ASSERT_TRUE(put(name, "x").has_value());

  EXPECT_EQ(files_->list("", 10).value().at(0).name, name);
  EXPECT_EQ(files_->stat(name).value().size, 1u);
}

TEST_F(FilesTest, MoveRemoveAndListDoWhatTheySay) {
  ASSERT_TRUE(put("d/x", "1").has_value());
  ASSERT_TRUE(files_->move({"d/x", "d/y"}).has_value());
  EXPECT_EQ(files_->remove({"d", 0, false, 0}).error().code(), Code::conflict);
  EXPECT_EQ(files_->list("d", 0).error().code(), Code::too_large);

  ASSERT_TRUE(files_->remove({"d", 0, true, 0}).has_value());

  EXPECT_TRUE(files_->list("", 10).value().empty());
}

}  // namespace
}  // namespace atl::agent
