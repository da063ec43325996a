#include "native/child/parked_child.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "native/child/in_child.h"

namespace atl::native {
namespace {

constexpr size_t kStackBytes = 64 * 1024;
constexpr size_t kThreadStackBytes = 64 * 1024;
constexpr timespec kPatience{10, 0};

// Not private to the process: the kernel's own wake-up, when the child leaves, is not either.
template <typename Word>
ATOLL_IN_CHILD long wait_while(const std::atomic<Word>& word, Word value,
                               const timespec* patience) {
  static_assert(sizeof word == sizeof(uint32_t) && std::atomic<Word>::is_always_lock_free);
  return syscall(SYS_futex, &word, FUTEX_WAIT, static_cast<uint32_t>(value), patience, nullptr, 0);
}

template <typename Word>
void wake(const std::atomic<Word>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace

Result<ParkedChild*> ParkedChild::create() {
  auto* parked = new ParkedChild;
  parked->stack_ = static_cast<char*>(mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0));
  if (parked->stack_ == MAP_FAILED) return os_error("allocating a stack");
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kThreadStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // Signals are for the main thread, which reads them from a descriptor.
  sigset_t all, saved;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &saved);
  pthread_t thread;
  const int failure = pthread_create(&thread, &attributes, tend, parked);
  pthread_sigmask(SIG_SETMASK, &saved, nullptr);
  pthread_attr_destroy(&attributes);
  if (failure != 0) return os_error_from(failure, "starting a thread");
  return parked;
}

void* ParkedChild::tend(void* self) {
  auto* parked = static_cast<ParkedChild*>(self);
  for (uint32_t served = 0;;) {
    while (parked->wanted_.load() == served) wait_while(parked->wanted_, served, nullptr);
    ++served;
    // Returns when the child has left our memory. Until then it uses this thread's errno.
    const int made = clone(
        wait_for_plan, parked->stack_ + kStackBytes,
        CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD,
        parked, &parked->pid_, nullptr, &parked->here_);
    if (made >= 0) continue;
    parked->state_ = State::failed;
    parked->here_ = 0;
  }
}

ATOLL_IN_CHILD int ParkedChild::wait_for_plan(void* self) {
  auto* parked = static_cast<ParkedChild*>(self);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  prctl(PR_SET_NAME, "atoll-parked", 0, 0, 0);
  setsid();
  for (const int join : parked->joins_) {
    if (write(join, "0", 1) == 1) continue;
    parked->state_.store(State::failed);
    _exit(127);
  }
  parked->state_.store(State::waiting);
  while (parked->state_.load() == State::waiting)
    wait_while(parked->state_, State::waiting, nullptr);
  // A table of descriptors of its own, with everything that was opened meanwhile.
  if (syscall(SYS_close_range, ~0U, ~0U, CLOSE_RANGE_UNSHARE) != 0) {
    fail_child(*parked->plan_, ChildStage::stdio);
  }
  carry_out(*parked->plan_);
}

void ParkedChild::park(std::vector<int> joins) {
  joins_ = std::move(joins);
  here_ = 1;
  state_ = State::joining;
  ++wanted_;
  wake(wanted_);
}

bool ParkedChild::is_free() const { return here_.load() == 0; }

bool ParkedChild::is_ready() const { return state_.load() == State::waiting && here_.load() != 0; }

Result<pid_t> ParkedChild::start(ChildPlan& plan) {
  plan_ = &plan;
  state_ = State::going;
  wake(state_);
  while (here_.load() != 0) {
    if (wait_while(here_, 1U, &kPatience) == 0 || errno == EAGAIN || errno == EINTR) continue;
    // Stopped or frozen by somebody. Killed it never comes back to read its plan.
    kill(pid_, SIGKILL);
    return Error(Code::unavailable, "the command did not start within 10 seconds");
  }
  if (plan.failed_at == ChildStage::none) return pid_.load();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  return os_error_from(plan.failure, to_text(plan.failed_at));
}

}  // namespace atl::native
