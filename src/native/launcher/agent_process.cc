#include "native/launcher/agent_process.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/ids.h"
#include "native/agent_places.h"
#include "os/file.h"
#include "os/process.h"

namespace atl::native {
namespace {

// Above the places that the agent expects; from here on the kernel picks numbers that are free.
constexpr int kAside = 64;
constexpr int kMostDescriptors =
    kAgentFirstMount - kAgentConnection + static_cast<int>(kMostMounts);

struct AgentPlan {
  int program;
  const int* sources;  // for the descriptors kAgentConnection, kAgentConnection + 1, …
  int count;
  Identity identity;
  bool give_up_root;
  int failure;
};

// Runs in the parent's memory: only system calls.
[[noreturn, gnu::no_stack_protector]]
__attribute__((no_sanitize("address", "undefined", "thread"))) void become_agent(AgentPlan* plan) {
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // Away from the launcher's session: a terminal's Ctrl-C and hang-up are not for sandboxes.
  setsid();
  // Out of the way first: a place may be the number of a descriptor that is still to be moved.
  int aside[kMostDescriptors];
  bool fine = plan->count <= kMostDescriptors;
  for (int i = 0; i < plan->count && fine; ++i) {
    aside[i] = fcntl(plan->sources[i], F_DUPFD, kAside);
    fine = aside[i] >= 0;
  }
  const int program = fine ? fcntl(plan->program, F_DUPFD, kAside) : -1;
  // What fcntl says where the limit is not even that high.
  if (program < 0 && errno == EINVAL) errno = EMFILE;
  for (int i = 0; i < plan->count && fine; ++i) fine = dup2(aside[i], kAgentConnection + i) >= 0;
  if (fine && program >= 0) {
    syscall(SYS_close_range, static_cast<unsigned>(kAgentConnection + plan->count),
            static_cast<unsigned>(program - 1), 0U);
    syscall(SYS_close_range, static_cast<unsigned>(program + 1), ~0U, 0U);
    fcntl(program, F_SETFD, FD_CLOEXEC);
    if (plan->give_up_root) {
      fine = setgroups(0, nullptr) == 0 &&
             setresgid(plan->identity.gid, plan->identity.gid, plan->identity.gid) == 0 &&
             setresuid(plan->identity.uid, plan->identity.uid, plan->identity.uid) == 0;
    }
    static char name[] = "atoll-agent";
    static char* const argv[] = {name, nullptr};
    static char* const environment[] = {nullptr};
    if (fine) syscall(SYS_execveat, program, "", argv, environment, AT_EMPTY_PATH);
  }
  plan->failure = errno;
  _exit(127);
}

}  // namespace

std::string random_token() {
  std::array<uint8_t, kTokenBytes> bytes;
  fill_random(bytes);
  return std::string(bytes.begin(), bytes.end());
}

Result<Fd> told_pipe(const std::string& token, const BoxFacts& facts) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return os_error("making a pipe");
  Fd read_end(ends[0]), write_end(ends[1]);
  TRY_OK(os::write_all(write_end.get(), token + encode(facts)));
  return read_end;
}

Result<StartedAgent> start_agent(int program, const AgentDescriptors& descriptors,
                                 const Identity& identity) {
  std::vector<int> sources{descriptors.connection, descriptors.listener,  descriptors.config,
                           descriptors.token,      descriptors.workspace, descriptors.temporary};
  sources.insert(sources.end(), descriptors.mounts.begin(), descriptors.mounts.end());
  AgentPlan plan{program,
                 sources.data(),
                 static_cast<int>(sources.size()),
                 identity,
                 geteuid() == 0 && identity.uid != 0,
                 0};

  sigset_t all, saved;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &saved);
  // posix_spawn can neither place descriptors from aside nor give up root on the way.
  const pid_t pid = vfork();  // NOLINT(bugprone-unsafe-functions,clang-analyzer-security*)
  if (pid == 0) become_agent(&plan);
  const int failure = errno;
  sigprocmask(SIG_SETMASK, &saved, nullptr);
  if (pid < 0) return os::process_error(failure, "starting the agent");
  if (plan.failure != 0) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return os_error_from(plan.failure, "executing the agent");
  }
  StartedAgent started;
  started.pid = pid;
  TRY(started.pidfd, os::open_pidfd(pid));
  return started;
}

}  // namespace atl::native
