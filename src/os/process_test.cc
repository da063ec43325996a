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

TEST(Process, KnowsWhomItFoundFromWhoGotTheNumberWithinTheSameTick) {
  const ProcessStat found{.pid = 7, .parent = 5, .session = 3, .start_ticks = 100};
  const auto changed = [&](auto change) {
    ProcessStat now = found;
    change(now);
    return now;
  };

  EXPECT_TRUE(is_still(found, found));
  EXPECT_TRUE(is_still(found, changed([](auto& now) { now.session = 7; })));
  EXPECT_TRUE(is_still(found, changed([](auto& now) { now.parent = getpid(); })));
  EXPECT_TRUE(is_still(found, changed([](auto& now) {
                         now.parent = getpid();
                         now.session = 7;
                       })));
  EXPECT_FALSE(is_still(found, changed([](auto& now) { now.start_ticks = 101; })));
  EXPECT_FALSE(is_still(found, changed([](auto& now) {
                          now.parent = 6;
                          now.session = 7;
                        })));
}

TEST(Process, RefusesAPidThatBelongsToAStrangerOfTheSameTick) {
  const pid_t child = fork();
  if (child == 0) pause();
  auto found = find_process(child).value();

  EXPECT_TRUE(open_pidfd(found).has_value());
  EXPECT_EQ(open_pidfd({.pid = getpid(),
                        .parent = 1,
                        .session = -1,
                        .start_ticks = find_process(getpid())->start_ticks})
                .error()
                .code(),
            Code::not_found);

  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(open_pidfd(found).error().os_errno(), ESRCH);
}

TEST(Process, AHostThatHasNoneLeftIsNoQuota) {
  const auto error = process_error(EAGAIN, "starting a process");

  EXPECT_EQ(error.code(), Code::unavailable);
  EXPECT_EQ(error.message(), "starting a process: this host has no process left");
  EXPECT_EQ(process_error(EPERM, "starting a process").code(), Code::permission_denied);
  EXPECT_EQ(os_error_from(EAGAIN, "sending").code(), Code::resource_exhausted);
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
