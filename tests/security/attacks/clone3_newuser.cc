// A new user namespace by clone3, whose flags are behind a pointer where a filter cannot look.
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/security/attack.h"

using namespace atl::attack;  // NOLINT

ATTACK(clone3_newuser, .title = "a new user namespace by clone3", .dossier = 5,
       .stopped_by = Layer::seccomp | Layer::user_namespace, .rootless = kNoControl) {
  clone_args wish{.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
  const long child = syscall(SYS_clone3, &wish, sizeof wish);
  if (child == 0) _exit(0);
  if (child < 0) return denied("clone3(CLONE_NEWUSER)");
  waitpid(static_cast<pid_t>(child), nullptr, 0);
  return reached("a child in a new user namespace");
}
