// Kills the agent, pid 1 of the sandbox, with whatever it did not expect. The kernel shields the
// first process of a pid namespace from its own descendants, whatever their uid.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

ATTACK(kill_agent, .title = "kill pid 1 of the sandbox", .user = User::root,
       .setting = Setting::daemon, .stopped_by = Layer::pid_namespace) {
  if (!in_box()) return not_applicable("only in a sandbox");
  const pid_t agent = getppid();
  // Nobody else's parent is to be killed: not a shell's, not init.
  const auto name = read_all("/proc/" + std::to_string(agent) + "/comm");
  const bool is_agent = name && (name->starts_with("atoll-agent") || *name == "agent\n");
  if (!is_agent) return denied(ESRCH, "the parent is no agent");
  int refused = 0;
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM,
                           SIGSEGV, SIGILL, SIGABRT, SIGSTOP, SIGKILL}) {
    if (kill(agent, number) != 0) ++refused;
  }
  // Its children would see another parent.
  for (int look = 0; look < 200; ++look) {
    if (getppid() != agent) return reached("the agent is dead");
    usleep(1'000);
  }
  return denied(refused > 0 ? EPERM : 0, "the agent lives");
}
