// A daemon that forks twice, leaves its session and ignores signals, so as to live on when the
// sandbox is gone. It leaves by itself after half a minute. The host looks for its environment
// among all processes.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

ATTACK(survivor, .title = "outlive the sandbox", .dossier = 44, .setting = Setting::outlive,
       .stopped_by = Layer::pid_namespace | Layer::cgroups) {
  const pid_t child = fork();
  if (child < 0) return denied("fork");
  if (child == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    for (const int number : {SIGHUP, SIGTERM, SIGINT, SIGQUIT, SIGUSR1}) signal(number, SIG_IGN);
    prctl(PR_SET_NAME, "survivor");
    for (int descriptor = 0; descriptor < 64; ++descriptor) close(descriptor);
    sleep(30);
    _exit(0);
  }
  hold("a daemon");
  return denied(0, "the host decides");
}
