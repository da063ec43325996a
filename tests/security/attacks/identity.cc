// Becomes somebody else: another uid of the box, a uid of the host, root by a setuid file, powerful
// by a file capability, or by raising capabilities again. The files lie in a shared directory.
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

struct Identity {
  int euid = -1;
  uint64_t capabilities = 0;
};

// Runs a copy of this program that says who it is.
bool ask(const std::string& program, Identity& who) {
  if (access(program.c_str(), X_OK) != 0) return false;
  int ends[2];
  if (pipe(ends) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    execl(program.c_str(), program.c_str(), "--identity", nullptr);
    _exit(errno);
  }
  close(ends[1]);
  const auto text = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (text && std::sscanf(text->c_str(), "%d %" SCNx64, &who.euid, &who.capabilities) == 2) {
    return true;
  }
  errno = WIFEXITED(status) ? WEXITSTATUS(status) : EACCES;
  return false;
}

}  // namespace

ATTACK(setuid_other, .title = "become another user", .dossier = 23, .user = User::root,
       .stopped_by = Layer::capabilities, .rootless = kNoControl) {
  if (setresuid(4242, 4242, 4242) != 0) return denied("setresuid");
  return reached("uid 4242");
}

ATTACK(setuid_host, .title = "become a user of the host's", .dossier = 23, .user = User::root,
       .stopped_by = Layer::capabilities | Layer::user_namespace) {
  if (setresuid(400'042, 400'042, 400'042) != 0) return denied("setresuid");
  return reached("uid 400042, which is outside the range");
}

ATTACK(setuid_file, .title = "run a setuid-root program", .dossier = 28,
       .stopped_by = Layer::no_new_privileges | Layer::root | Layer::user_namespace |
                     Layer::capabilities,
       .rootless = kNoControl) {
  if (geteuid() == 0) return not_applicable("root already");
  Identity who;
  if (!ask(told("SHARED") + "/setuid", who)) return denied("run the setuid program");
  if (who.euid != 0) return denied(EPERM, "it ran as uid " + std::to_string(who.euid));
  return reached("root by a setuid file");
}

ATTACK(file_capability, .title = "run a program with file capabilities", .dossier = 29,
       .stopped_by = Layer::no_new_privileges | Layer::root | Layer::user_namespace |
                     Layer::capabilities,
       .rootless = kNoControl) {
  Identity who;
  // A file whose capabilities may not be gained (bounding set) fails with EPERM at exec.
  if (!ask(told("SHARED") + "/setcap", who)) return denied("run the program");
  if (who.capabilities == 0) return denied(EPERM, "it ran without capabilities");
  return reached("capabilities by a file");
}

ATTACK(raise_capabilities, .title = "raise capabilities again", .user = User::root,
       .stopped_by = Layer::capabilities) {
  __user_cap_header_struct head{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[2] = {};
  syscall(SYS_capget, &head, data);
  data[0].effective = data[0].permitted = data[0].permitted | (1U << CAP_SYS_ADMIN);
  if (syscall(SYS_capset, &head, data) != 0) return denied("capset");
  if ((effective_capabilities() & (1ULL << CAP_SYS_ADMIN)) == 0) return denied(EPERM, "capset");
  return reached("CAP_SYS_ADMIN");
}

// As root becomes by exec, unless securebits are locked.
ATTACK(regain_by_exec, .title = "regain root's capabilities by exec", .user = User::root,
       .stopped_by = Layer::capabilities) {
  prctl(PR_SET_SECUREBITS, 0);
  Identity who;
  if (!ask("/proc/self/exe", who)) return denied("run ourselves");
  if ((who.capabilities & (1ULL << CAP_SYS_ADMIN)) == 0) return denied(EPERM, "exec gave nothing");
  return reached("CAP_SYS_ADMIN by exec");
}
