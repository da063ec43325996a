// A daemon that forks twice, leaves its session, ignores signals, wipes its environment and then
// changes its pid all the time, so that whoever goes through a list of processes comes too late. A
// pid namespace and a cgroup do not go through lists. It ends by itself after half a minute, or
// when SHARED/stop is there. The host sees it by a lock on SHARED/alive, which is inherited from
// one pid to the next.
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

[[noreturn]] void live_on(const std::string& stop) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(30);
  while (Clock::now() < end && access(stop.c_str(), F_OK) != 0) {
    const pid_t child = fork();
    if (child > 0) _exit(0);
    usleep(child == 0 ? 300 : 3'000);
  }
  _exit(0);
}

}  // namespace

ATTACK(survivor, .title = "outlive the sandbox", .dossier = 44, .setting = Setting::outlive,
       .stopped_by = Layer::pid_namespace | Layer::cgroups) {
  const std::string stop = told("SHARED") + "/stop";
  const int alive = open((told("SHARED") + "/alive").c_str(), O_RDONLY);
  if (alive < 0) return not_applicable("no shared directory");
  if (flock(alive, LOCK_SH) != 0) return not_applicable("no locks in the shared directory");
  const pid_t child = fork();
  if (child < 0) return denied("fork");
  if (child == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    for (const int number : {SIGHUP, SIGTERM, SIGINT, SIGQUIT, SIGUSR1}) signal(number, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    for (char** variable = environ; *variable != nullptr; ++variable) {
      memset(*variable, 0, strlen(*variable));
    }
    for (int descriptor = 0; descriptor < 3; ++descriptor) close(descriptor);
    live_on(stop);
  }
  close(alive);
  hold("a daemon");
  return denied(0, "the host decides");
}
