#include "native/launcher/keeper.h"

#include <fcntl.h>
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

}  // namespace

Result<> keep(int run_directory, int (*launcher_main)(void* argument), void* argument) {
  TRY(auto lock, os::open_at(run_directory, kKeeperLock, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return Error(Code::already_exists, "another keeper is at work here");
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return os_error("becoming a subreaper");

  for (;;) {
    const Micros started = system_clock().boot();
    const pid_t launcher = fork();
    if (launcher < 0) return os_error("starting the launcher");
    if (launcher == 0) {
      lock.close();
      prctl(PR_SET_NAME, "atoll-launcher", 0, 0, 0);
      _exit(launcher_main(argument));
    }
    int status = 0;
    for (pid_t ended = 0; ended != launcher;) {
      ended = waitpid(-1, &status, 0);
      if (ended < 0 && errno != EINTR) return os_error("waiting for the launcher");
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      unlinkat(run_directory, kKeeperLock, 0);
      return {};
    }
    std::fprintf(stderr, "atoll-launcher: ended with status %d; starting it again\n", status);
    // One that cannot even start must not eat a core by trying.
    if (system_clock().boot() - started < kTooShort) {
      const timespec pause{1, 0};
      nanosleep(&pause, nullptr);
    }
  }
}

}  // namespace atl::native
