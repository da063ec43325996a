// A new user namespace by clone: the way that a filter which only knows unshare leaves open.
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/security/attack.h"

using namespace atl::attack;  // NOLINT

ATTACK(clone_newuser, .title = "a new user namespace by clone", .dossier = 4,
       .stopped_by = Layer::seccomp | Layer::user_namespace, .rootless = kNoControl) {
  const long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, 0L);
  if (child == 0) _exit(0);
  if (child < 0) return denied("clone(CLONE_NEWUSER)");
  waitpid(static_cast<pid_t>(child), nullptr, 0);
  return reached("a child in a new user namespace");
}
