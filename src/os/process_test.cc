#include "os/process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace atl::os {
namespace {

TEST(Process, FindsItselfInProc) {
  const auto self = find_process(getpid());

  ASSERT_TRUE(self.has_value());
  EXPECT_EQ(self->parent, getppid());
  EXPECT_EQ(self->session, getsid(0));
  EXPECT_GT(self->start_ticks, 0u);
}

TEST(Process, RefusesAPidThatBelongsToALaterProcess) {
  const auto self = find_process(getpid());

  EXPECT_TRUE(open_pidfd(getpid(), self->start_ticks).has_value());
  EXPECT_EQ(open_pidfd(getpid(), self->start_ticks + 1).error().code(), Code::not_found);
}

TEST(Process, SignallingAnEndedProcessIsNoError) {
  const pid_t child = fork();
  if (child == 0) pause();
  auto pidfd = open_pidfd(child).value();

  ASSERT_TRUE(send_signal(pidfd, SIGKILL).has_value());
  ASSERT_EQ(waitpid(child, nullptr, 0), child);

  EXPECT_TRUE(send_signal(pidfd, SIGKILL).has_value());
}

}  // namespace
}  // namespace atl::os
