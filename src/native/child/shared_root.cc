#include "native/child/shared_root.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "native/child/in_child.h"
#include "native/child/mount_steps.h"

namespace atl::native {
namespace {

constexpr size_t kStackBytes = 256 * 1024;

struct Making {
  BoxLaunch launch;
  int root = -1, stage = -1;
};

// As in box_child.cc: on the launcher's memory, and its descriptors, too, so that those of the
// namespaces stay there.
ATOLL_IN_CHILD int child_main(void* argument) {
  auto& making = *static_cast<Making*>(argument);
  BoxLaunch& launch = making.launch;
  const auto fail = [&](BoxStage stage, const char* subject) ATOLL_IN_CHILD {
    launch.failure = errno;
    launch.failed_at = stage;
    launch.subject = subject;
    _exit(127);
  };
  umask(0);
  const int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) fail(BoxStage::stage, "");
  making.root = openat(proc, "self/ns/mnt", O_RDONLY | O_CLOEXEC);
  if (making.root < 0 || enter_stage() != 0) fail(BoxStage::stage, "");
  for (size_t i = 0; i < launch.plan->shared_steps; ++i) {
    const Step& step = launch.plan->steps[i];
    if (carry_out(launch, step) != 0) fail(BoxStage::step, step.target.c_str());
  }
  if (make_stage_the_root() != 0 || umount2("etc", MNT_DETACH) != 0 || unshare(CLONE_NEWNS) != 0 ||
      umount2("root", MNT_DETACH) != 0)
    fail(BoxStage::stage, "");
  making.stage = openat(proc, "self/ns/mnt", O_RDONLY | O_CLOEXEC);
  if (making.stage < 0) fail(BoxStage::stage, "");
  close(proc);
  _exit(0);
}

}  // namespace

Result<SharedRoot> make_shared_root(const Plan& plan) {
  void* const stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return os_error("allocating a stack");
  Making making;
  making.launch.plan = &plan;
  sigset_t all, saved;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &saved);
  const pid_t pid = clone(child_main, static_cast<char*>(stack) + kStackBytes,
                          CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_NEWNS | SIGCHLD, &making);
  const int failure = errno;
  pthread_sigmask(SIG_SETMASK, &saved, nullptr);
  munmap(stack, kStackBytes);
  SharedRoot made{Fd(making.root), Fd(making.stage)};
  if (pid < 0) return os_error_from(failure, "making the shared root");
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (making.launch.failed_at == BoxStage::none) return made;
  std::string what = std::string("the shared root: ") + to_text(making.launch.failed_at);
  if (making.launch.subject[0] != 0) what += std::string(" ") + making.launch.subject;
  return os_error_from(making.launch.failure, what);
}

}  // namespace atl::native
