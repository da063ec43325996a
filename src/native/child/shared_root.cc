#include "native/child/shared_root.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
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
  int name_space = -1;
};

// As in box_child.cc: on the launcher's memory, and its descriptors, too, so that the one of the
// namespace stays there.
ATOLL_IN_CHILD int child_main(void* argument) {
  auto& making = *static_cast<Making*>(argument);
  BoxLaunch& launch = making.launch;
  const auto fail = [&](BoxStage stage, const char* subject) {
    launch.failure = errno;
    launch.failed_at = stage;
    launch.subject = subject;
    _exit(127);
  };
  umask(0);
  const int own = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  if (own < 0) fail(BoxStage::stage, "");
  making.name_space = own;
  if (enter_stage() != 0) fail(BoxStage::stage, "");
  for (size_t i = 0; i < launch.plan->shared_steps; ++i) {
    const Step& step = launch.plan->steps[i];
    if (carry_out(launch, step) != 0) fail(BoxStage::step, step.target.c_str());
  }
  if (make_stage_the_root() != 0) fail(BoxStage::stage, "");
  _exit(0);
}

}  // namespace

Result<Fd> make_shared_root(const Plan& plan) {
  void* const stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return os_error("allocating a stack");
  Making making;
  making.launch.plan = &plan;
  sigset_t all, saved;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &saved);
  const pid_t pid =
      clone(child_main, static_cast<char*>(stack) + kStackBytes,
            CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_NEWNS | SIGCHLD, &making);
  const int failure = errno;
  pthread_sigmask(SIG_SETMASK, &saved, nullptr);
  munmap(stack, kStackBytes);
  Fd name_space(making.name_space);
  if (pid < 0) return os_error_from(failure, "making the shared root");
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (making.launch.failed_at == BoxStage::none) return name_space;
  std::string what = std::string("the shared root: ") + to_text(making.launch.failed_at);
  if (making.launch.subject[0] != 0) what += std::string(" ") + making.launch.subject;
  return os_error_from(making.launch.failure, what);
}

}  // namespace atl::native
