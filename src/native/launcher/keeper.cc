#include "native/launcher/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/clock.h"
#include "native/launcher_protocol.h"
#include "os/file.h"

namespace atl::native {
namespace {

constexpr auto kTooShort = std::chrono::seconds(1);

sigset_t signals_of(KeptFor whom) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  if (whom == KeptFor::service) {
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
  }
  return signals;
}

struct Ended {
  int status = 0;
  bool is_replaced = false;
  bool was_told_to_leave = false;
};

// Collects everybody until it was the launcher's turn, and obeys meanwhile.
Result<Ended> wait_for_end(pid_t launcher, const sigset_t& signals) {
  Ended ended;
  for (;;) {
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid != launcher) continue;
      ended.status = status;
      return ended;
    }
    const int number = sigwaitinfo(&signals, nullptr);
    if (number < 0 && errno != EINTR) return os_error("waiting for the launcher");
    if (number == SIGTERM) {
      ended.was_told_to_leave = true;
      kill(launcher, SIGTERM);
    }
    if (number == SIGHUP) {
      ended.is_replaced = true;
      kill(launcher, SIGKILL);
    }
  }
}

}  // namespace

Result<KeptUntil> keep(KeptFor whom, int run_directory, int (*launcher_main)(void* argument),
                       void* argument) {
  TRY(auto lock, os::open_at(run_directory, kKeeperLock, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return Error(Code::already_exists, "another keeper is at work here");
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return os_error("becoming a subreaper");
  const sigset_t signals = signals_of(whom);
  if (sigprocmask(SIG_BLOCK, &signals, nullptr) != 0) return os_error("blocking signals");

  for (;;) {
    const Micros started = system_clock().boot();
    const pid_t launcher = fork();
    if (launcher < 0) return os_error("starting the launcher");
    if (launcher == 0) {
      lock.close();
      sigset_t kept_off;
      sigemptyset(&kept_off);
      if (whom == KeptFor::service) sigaddset(&kept_off, SIGTERM);
      sigprocmask(SIG_SETMASK, &kept_off, nullptr);
      prctl(PR_SET_NAME, "atoll-launcher", 0, 0, 0);
      _exit(launcher_main(argument));
    }
    TRY(const Ended ended, wait_for_end(launcher, signals));
    if (WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 0) {
      unlinkat(run_directory, kKeeperLock, 0);
      return KeptUntil::launcher_left;
    }
    // One that was killed before it obeyed: the word waits, blocked, for its successor.
    if (ended.was_told_to_leave) raise(SIGTERM);
    if (ended.is_replaced) return KeptUntil::replacement;
    std::fprintf(stderr, "atoll-launcher: ended with status %d; starting it again\n", ended.status);
    // One that cannot even start must not eat a core by trying.
    if (system_clock().boot() - started < kTooShort) {
      const timespec pause{1, 0};
      nanosleep(&pause, nullptr);
    }
  }
}

}  // namespace atl::native
