#include "os/resolve_by_parts.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "os/file.h"

namespace atl::os {
namespace {

// Every answer is compared with the kernel's own: the descriptor's file, or the errno.
class ResolveByParts : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(path_.data()), nullptr);
    directory_ = open_at(AT_FDCWD, path_, O_RDONLY | O_DIRECTORY).value();
    const int top = directory_.get();
    for (const char* name : {"a", "a/b", "a/b/c"}) ASSERT_EQ(mkdirat(top, name, 0755), 0);
    for (const char* name : {"file", "a/file", "a/b/c/deep"})
      ASSERT_TRUE(open_at(top, name, O_WRONLY | O_CREAT, 0644));
    const std::pair<const char*, const char*> links[] = {
        {"a/b", "to_b"},          {"a/b/", "to_b_slash"},   {"/a/b", "absolute"},
        {"..", "a/up"},           {"../../..", "a/far_up"}, {"/etc/passwd", "passwd"},
        {"loop", "loop"},         {"a/up/file", "winding"}, {"nowhere", "broken"},
        {"../file", "a/to_file"}, {"/", "to_root"},         {"./to_b/./c/../c/deep", "crooked"},
    };
    for (const auto& [target, name] : links) ASSERT_EQ(symlinkat(target, top, name), 0);
  }
  void TearDown() override {
    directory_.close();
    ASSERT_TRUE(remove_tree(AT_FDCWD, path_));
  }

  static std::string said_of(const Result<Fd>& fd) {
    if (!fd) return "errno " + std::to_string(fd.error().os_errno());
    return path_of(fd->get()).value();
  }

  std::string kernel_says(const std::string& path, int flags, uint64_t resolve) {
    open_how how{};
    how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
    how.mode = (flags & O_CREAT) != 0 ? 0644 : 0;
    how.resolve = resolve | RESOLVE_NO_MAGICLINKS;
    Fd fd(static_cast<int>(syscall(SYS_openat2, directory_.get(), path.c_str(), &how, sizeof how)));
    if (!fd) return "errno " + std::to_string(errno);
    return path_of(fd.get()).value();
  }

  std::string path_ = "/tmp/atoll-parts-XXXXXX";
  Fd directory_;
};

TEST_F(ResolveByParts, AnswersWhatTheKernelAnswers) {
  const char* const paths[] = {
      "file",
      "a/b/c/deep",
      "to_b",
      "to_b/c",
      "to_b_slash/c/deep",
      "absolute",
      "absolute/c",
      "a/up",
      "a/up/file",
      "a/far_up",
      "a/far_up/a",
      "passwd",
      "loop",
      "loop/x",
      "winding",
      "broken",
      "broken/x",
      "a/to_file",
      "to_root",
      "to_root/file",
      "crooked",
      "..",
      "../file",
      "a/../file",
      "a/../../file",
      "a/b/../..",
      "a/b/../../..",
      "a/",
      "file/",
      "a//b",
      "./a/./b",
      "missing",
      "missing/file",
      "file/below",
      "/file",
      "/etc/passwd",
      "",
      "a/b/.",
      "to_b/.",
      "to_b/",
      "to_b/..",
      "to_b/../../..",
  };
  const std::pair<Bounds, uint64_t> kinds[] = {
      {Bounds::beneath, RESOLVE_BENEATH},
      {Bounds::no_links, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS},
      {Bounds::root, RESOLVE_IN_ROOT},
  };
  for (const int flags : {O_RDONLY, O_PATH, O_PATH | O_NOFOLLOW, O_RDONLY | O_NOFOLLOW,
                          O_PATH | O_DIRECTORY, O_RDONLY | O_DIRECTORY}) {
    for (const auto& [bounds, resolve] : kinds) {
      for (const char* path : paths) {
        EXPECT_EQ(said_of(resolve_by_parts(directory_.get(), path, flags, 0, bounds)),
                  kernel_says(path, flags, resolve))
            << "'" << path << "' with flags " << flags << " and resolve " << resolve;
      }
    }
  }
}

TEST_F(ResolveByParts, MakesAFileOnlyInside) {
  const auto make = [&](const char* path, Bounds bounds) {
    return said_of(
        resolve_by_parts(directory_.get(), path, O_WRONLY | O_CREAT | O_EXCL, 0644, bounds));
  };

  EXPECT_EQ(make("to_b/new", Bounds::beneath), path_ + "/a/b/new");
  EXPECT_EQ(make("a/far_up/new", Bounds::root), path_ + "/new");
  EXPECT_EQ(make("a/far_up/other", Bounds::beneath), "errno " + std::to_string(EXDEV));
  EXPECT_EQ(make("broken", Bounds::root), "errno " + std::to_string(EEXIST));
}

TEST_F(ResolveByParts, RefusesLinksOfProcThatAreMoreThanAText) {
  const auto proc = open_at(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY).value();

  EXPECT_TRUE(resolve_by_parts(proc.get(), "self/status", O_RDONLY, 0, Bounds::root));
  EXPECT_EQ(
      resolve_by_parts(proc.get(), "self/root/etc", O_RDONLY, 0, Bounds::root).error().os_errno(),
      ELOOP);
}

}  // namespace
}  // namespace atl::os
