#include "native/child/clone_into.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/fd.h"
#include "base/text.h"
#include "native/child/in_child.h"
#include "os/file.h"
#include "tests/support/require.h"

namespace atl::native {
namespace {

constexpr size_t kStackBytes = 64 * 1024;

// Where the tree of version 2 is mounted, if anywhere.
std::string unified_tree() {
  const auto mounts = os::read_file(AT_FDCWD, "/proc/self/mounts", 1 << 20);
  for (const auto& line : mounts ? split(*mounts, '\n') : std::vector<std::string>()) {
    const auto fields = split(line, ' ');
    if (fields.size() > 2 && fields[2] == "cgroup2") return fields[1];
  }
  return "";
}

struct Told {
  char place[4096];
};

// Writes down in which groups it is.
ATOLL_IN_CHILD int tell_place(void* argument) {
  auto* told = static_cast<Told*>(argument);
  const int fd = open("/proc/self/cgroup", O_RDONLY);
  const ssize_t got = read(fd, told->place, sizeof told->place - 1);
  _exit(got > 0 ? 7 : 1);
}

class CloneInto : public testing::Test {
 protected:
  void SetUp() override {
    tree_ = unified_tree();
    ATOLL_REQUIRE(!tree_.empty() && access(tree_.c_str(), W_OK) == 0,
                  "a control group of version 2 that we may write to");
    const std::string path = tree_ + "/" + name_;
    ASSERT_EQ(mkdir(path.c_str(), 0755), 0) << path << ": " << errno;
    path_ = path;
    group_ = Fd(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(group_);
  }
  void TearDown() override {
    if (!path_.empty()) EXPECT_EQ(rmdir(path_.c_str()), 0) << path_;
  }

  std::string tree_;
  std::string name_ = "atoll-clone-into-" + std::to_string(getpid());
  std::string path_;
  Fd group_;
  alignas(16) char stack_[kStackBytes];
};

TEST_F(CloneInto, TheChildIsBornInTheGroup) {
  Told told{};

  const pid_t child = clone_into(group_.get(), tell_place, stack_, sizeof stack_, &told);

  ASSERT_GT(child, 0) << errno;
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_NE(std::string(told.place).find("0::/" + name_), std::string::npos) << told.place;
}

TEST_F(CloneInto, AGroupThatIsNoneIsAnError) {
  Told told{};
  const Fd root(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

  EXPECT_EQ(clone_into(root.get(), tell_place, stack_, sizeof stack_, &told), -1);
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace atl::native
