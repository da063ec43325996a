#include "native/child/exec_child.h"

#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "native/child/clone_into.h"
#include "native/child/in_child.h"

namespace atl::native {
namespace {

constexpr size_t kStackBytes = 64 * 1024;
// Not ~0U, which gVisor takes for -1.
constexpr unsigned kLastDescriptor = INT32_MAX;

// Locked, so that not even a program that is root again gets capabilities back by exec or setuid.
constexpr unsigned long kLockedBits =
    SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
    SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

ATOLL_IN_CHILD bool drop_capabilities(const ChildPlan& plan) {
  const uint64_t kept = plan.kept_capabilities;
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  __user_cap_data_struct data[2]{};
  if (kept == 0 && !plan.bound_capabilities) {
    if (prctl(PR_SET_SECUREBITS, kLockedBits, 0, 0, 0) != 0) return false;
    return syscall(SYS_capset, &header, data) == 0;
  }
  // Uid 0 means nothing to exec here, so what is kept travels as ambient capabilities.
  const uint64_t last = CAP_LAST_CAP;
  for (uint64_t i = 0; i <= last; ++i) {
    if ((kept >> i & 1) != 0) continue;
    if (!plan.bound_capabilities && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) != 0 && errno != EINVAL)
      return false;
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, i, 0, 0);
  }
  for (int half = 0; half < 2; ++half) {
    const auto bits = static_cast<uint32_t>(kept >> (32 * half));
    data[half].effective = data[half].permitted = data[half].inheritable = bits;
  }
  return syscall(SYS_capset, &header, data) == 0;
}

// While we still may: who changes its user gives up what this takes.
ATOLL_IN_CHILD bool bound_capabilities(uint64_t kept) {
  const uint64_t last = CAP_LAST_CAP;
  for (uint64_t i = 0; i <= last; ++i) {
    if ((kept >> i & 1) == 0 && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) != 0 && errno != EINVAL)
      return false;
  }
  return true;
}

[[noreturn]] ATOLL_IN_CHILD void fail_child(ChildPlan& plan, ChildStage stage) {
  plan.failed_at = stage;
  plan.failure = errno;
  _exit(127);
}

[[noreturn]] ATOLL_IN_CHILD void carry_out(ChildPlan& plan) {
  // Nothing of ours outlives its supervisor by accident; a daemonised grandchild is caught by the
  // subreaper above.
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  setsid();
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int i = 0; i < 3; ++i) {
    if (dup2(plan.stdio[i], i) < 0) fail_child(plan, ChildStage::stdio);
  }
  if (plan.has_terminal && ioctl(STDIN_FILENO, TIOCSCTTY, 0) != 0)
    fail_child(plan, ChildStage::stdio);
  unsigned kept = 3;
  for (; kept < 5 && plan.more[kept - 3] >= 0; ++kept) {
    if (dup2(plan.more[kept - 3], static_cast<int>(kept)) < 0) fail_child(plan, ChildStage::stdio);
  }
  if (plan.root >= 0 && (fchdir(plan.root) != 0 || chroot(".") != 0))
    fail_child(plan, ChildStage::root);
  if (plan.directory >= 0 && fchdir(plan.directory) != 0) fail_child(plan, ChildStage::directory);
  if (plan.bound_capabilities && !bound_capabilities(plan.kept_capabilities))
    fail_child(plan, ChildStage::privileges);
  // By system call: the library's functions would tell every thread of the agent to follow.
  if (plan.change_identity && (syscall(SYS_setgroups, 0, nullptr) != 0 ||
                               syscall(SYS_setresgid, plan.gid, plan.gid, plan.gid) != 0 ||
                               syscall(SYS_setresuid, plan.uid, plan.uid, plan.uid) != 0)) {
    fail_child(plan, ChildStage::identity);
  }
  // Only now: whoever becomes a user that is at his limit of processes could not exec any more.
  for (size_t i = 0; i < plan.limit_count; ++i) {
    const auto& limit = plan.limits[i];
    if (setrlimit(static_cast<__rlimit_resource_t>(limit.resource), &limit.value) != 0) {
      fail_child(plan, ChildStage::limits);
    }
  }
  if (plan.drop_capabilities && !drop_capabilities(plan)) fail_child(plan, ChildStage::privileges);
  if (plan.no_new_privileges && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    fail_child(plan, ChildStage::privileges);
  }
  if (plan.landlock >= 0 && syscall(SYS_landlock_restrict_self, plan.landlock, 0) != 0) {
    fail_child(plan, ChildStage::landlock);
  }
  // What the agent holds open (its socket, the workspace, other processes' pipes) ends here.
  if (!plan.inherit_descriptors && syscall(SYS_close_range, kept, kLastDescriptor, 0U) != 0)
    fail_child(plan, ChildStage::stdio);
  if (plan.seccomp != nullptr &&
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, plan.seccomp) != 0) {
    fail_child(plan, ChildStage::seccomp);
  }

  // As execvpe does: the first program that can be run; "permission denied" is remembered over "not
  // found".
  int remembered = ENOENT;
  for (const char* const* program = plan.programs; *program != nullptr; ++program) {
    execve(*program, plan.argv, plan.environment);
    if (errno == EACCES) remembered = EACCES;
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) {
      remembered = errno;
      break;
    }
  }
  errno = remembered;
  fail_child(plan, ChildStage::exec);
}

ATOLL_IN_CHILD int born_inside(void* argument) { carry_out(*static_cast<ChildPlan*>(argument)); }

ATOLL_IN_CHILD int born_outside(void* argument) {
  auto& plan = *static_cast<ChildPlan*>(argument);
  for (size_t i = 0; i < plan.join_count; ++i) {
    if (write(plan.joins[i], "0", 1) != 1) fail_child(plan, ChildStage::cgroup);
  }
  carry_out(plan);
}

// The child has left our memory when this returns.
pid_t make_child(ChildPlan& plan, char* stack) {
  if (plan.birthplace >= 0) {
    const pid_t pid = clone_into(plan.birthplace, born_inside, stack, kStackBytes, &plan);
    // Linux before 5.7, or a host that lets nobody call clone3.
    if (pid >= 0 || (errno != ENOSYS && errno != EINVAL && errno != E2BIG && errno != EPERM))
      return pid;
  }
  return clone(born_outside, stack + kStackBytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &plan);
}

}  // namespace

Result<pid_t> spawn_child(ChildPlan& plan) {
  // One stack serves every child, because the parent stands still until the child has left it.
  static char* const stack =
      static_cast<char*>(mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0));
  if (stack == MAP_FAILED) return os_error("allocating a stack");

  // No handler of ours may run in the child, which would run it on our memory.
  sigset_t all, saved;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &saved);
  const pid_t pid = make_child(plan, stack);
  const int clone_errno = errno;
  sigprocmask(SIG_SETMASK, &saved, nullptr);

  if (pid < 0 && clone_errno == EAGAIN) {
    return Error(Code::resource_exhausted, "the sandbox has as many processes as it may have",
                 clone_errno)
        .with_hint("end some of them, or give it more: --pids N");
  }
  if (pid < 0) return os_error_from(clone_errno, "starting a process");
  if (plan.failed_at == ChildStage::none) return pid;
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return os_error_from(plan.failure, to_text(plan.failed_at));
}

const char* to_text(ChildStage stage) {
  switch (stage) {
    case ChildStage::none:
      return "starting";
    case ChildStage::cgroup:
      return "joining the command's cgroup";
    case ChildStage::identity:
      return "becoming the command's user";
    case ChildStage::stdio:
      return "connecting stdin, stdout and stderr";
    case ChildStage::root:
      return "entering the root file system";
    case ChildStage::directory:
      return "entering the working directory";
    case ChildStage::limits:
      return "setting limits";
    case ChildStage::privileges:
      return "giving up privileges";
    case ChildStage::landlock:
      return "applying Landlock";
    case ChildStage::seccomp:
      return "applying seccomp";
    case ChildStage::exec:
      return "executing";
  }
  return "starting";
}

}  // namespace atl::native
