#include "os/cgroup_members.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "os/file.h"

namespace atl::os {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Child final {
 public:
  Child() : pid(fork()) {
    if (pid == 0) pause();
  }
  ~Child() {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  bool is_alive() const {
    siginfo_t ended{};
    return waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0;
  }

  const pid_t pid;
};

TEST(SignalMembers, ReachesWhoIsNamed) {
  const Child one, other;

  const auto told = signal_members([&] { return std::vector{one.pid, other.pid}; }, SIGKILL);

  EXPECT_THAT(told, ElementsAre(one.pid, other.pid));
  siginfo_t ended{};
  EXPECT_EQ(waitid(P_PID, static_cast<id_t>(one.pid), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(ended.si_status, SIGKILL);
}

TEST(SignalMembers, LeavesAStrangerWhoHasGotTheNumberOfOneThatEnded) {
  const Child stranger;
  int asked = 0;

  const auto told = signal_members(
      [&] { return asked++ == 0 ? std::vector{stranger.pid} : std::vector<pid_t>(); }, SIGKILL);

  EXPECT_THAT(told, IsEmpty());
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(stranger.is_alive());
}

TEST(SignalMembers, MoreThanCanBeHeldAtOnceAreAllReached) {
  const std::vector<Child> children(200);
  std::vector<pid_t> pids;
  for (const auto& child : children) pids.push_back(child.pid);

  const auto told = signal_members([&] { return pids; }, SIGTERM);

  EXPECT_EQ(told, pids);
}

TEST(CgroupMembers, AreThoseThatHaveAPidHere) {
  char name[] = "/tmp/atoll-members-XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  const auto group = open_at(AT_FDCWD, name, O_RDONLY | O_DIRECTORY).value();
  ASSERT_TRUE(replace_file(group.get(), "cgroup.procs", "712\n0\n1\n33\n", 0600));

  const auto members = cgroup_members(group.get());

  EXPECT_THAT(members, ElementsAre(33, 712));
  ASSERT_TRUE(remove_tree(AT_FDCWD, name));
}

}  // namespace
}  // namespace atl::os
