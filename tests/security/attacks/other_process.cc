// The victim's memory and descriptors: a process outside, of uid 1000 as we are. Its pid means
// nothing in another pid namespace, its uid is another's in another user namespace, Landlock keeps
// ptrace in its own domain, and the filter takes the calls away (/proc/PID/mem needs none).
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

pid_t victim() { return static_cast<pid_t>(told_number("VICTIM_PID", -1)); }
uintptr_t address() { return static_cast<uintptr_t>(told_number("VICTIM_ADDRESS")); }

}  // namespace

ATTACK(ptrace_victim, .title = "trace a process outside", .dossier = 8,
       .stopped_by = kOutsideProcess | Layer::seccomp, .rootless = kNoControl) {
  if (ptrace(PTRACE_SEIZE, victim(), 0, 0) != 0) return denied("ptrace(PTRACE_SEIZE)");
  ptrace(PTRACE_INTERRUPT, victim(), 0, 0);
  waitpid(victim(), nullptr, __WALL);
  errno = 0;
  const long word = ptrace(PTRACE_PEEKDATA, victim(), address(), 0);
  const int error = errno;
  ptrace(PTRACE_DETACH, victim(), 0, 0);
  const std::string start(reinterpret_cast<const char*>(&word), sizeof word);
  if (error != 0 || !canary().starts_with(start)) return denied(error, "PTRACE_PEEKDATA");
  return reached("the victim's memory by ptrace");
}

ATTACK(process_vm_readv_victim, .title = "read the memory of a process outside", .dossier = 8,
       .stopped_by = kOutsideProcess | Layer::seccomp, .rootless = kNoControl) {
  char text[128] = {};
  const iovec here{text, canary().size()};
  const iovec there{reinterpret_cast<void*>(address()), canary().size()};  // NOLINT
  if (process_vm_readv(victim(), &here, 1, &there, 1, 0) < 0) return denied("process_vm_readv");
  if (text != canary()) return denied(ESRCH, "that was another process");
  return reached("the victim's memory by process_vm_readv");
}

ATTACK(proc_mem_victim, .title = "read /proc/PID/mem of a process outside", .dossier = 8,
       .stopped_by = kOutsideProcess, .rootless = kNoControl) {
  const std::string path = "/proc/" + told("VICTIM_PID") + "/mem";
  const int memory = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (memory < 0) return denied("open " + path);
  char text[128] = {};
  if (pread(memory, text, canary().size(), static_cast<off_t>(address())) < 0) {
    return denied("pread " + path);
  }
  if (text != canary()) return denied(ESRCH, "that was another process");
  return reached("the victim's memory by /proc");
}

ATTACK(pidfd_getfd_victim, .title = "take a descriptor of a process outside", .dossier = 8,
       .stopped_by = kOutsideProcess | Layer::seccomp, .rootless = kNoControl) {
  const long process = syscall(SYS_pidfd_open, victim(), 0);
  if (process < 0) return denied("pidfd_open");
  const long taken = syscall(SYS_pidfd_getfd, process, told_number("VICTIM_FD"), 0);
  if (taken < 0) return denied("pidfd_getfd");
  char text[128] = {};
  if (pread(static_cast<int>(taken), text, sizeof text - 1, 0) < 0) return denied("pread");
  if (text != canary()) return denied(ESRCH, "that was another process");
  return reached("the victim's open file");
}

// Limits are asked for only; who may ask may also set.
ATTACK(prlimit_victim, .title = "touch the limits of a process outside",
       .stopped_by = Layer::pid_namespace | Layer::user_namespace) {
  rlimit64 limits{};
  if (syscall(SYS_prlimit64, victim(), RLIMIT_NPROC, nullptr, &limits) != 0) {
    return denied("prlimit64");
  }
  if (syscall(SYS_prlimit64, victim(), RLIMIT_NPROC, &limits, nullptr) != 0) {
    return denied("prlimit64, setting what is set");
  }
  return reached("the victim's limits");
}

// The victim ends by SIGTERM; the host sees whether it is gone, and starts another.
ATTACK(signal_victim, .title = "kill a process outside", .dossier = 41,
       .stopped_by = kOutsideProcess) {
  if (victim() <= 1) return not_applicable("there is no victim");
  if (kill(victim(), SIGTERM) != 0) return denied("kill");
  return reached("the victim got SIGTERM");
}

ATTACK(oom_score_victim, .title = "make a process outside the first to die without memory",
       .stopped_by = Layer::pid_namespace | Layer::user_namespace) {
  const std::string path = "/proc/" + told("VICTIM_PID") + "/oom_score_adj";
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return denied("open " + path);
  if (write(file, "900", 3) != 3) return denied("write " + path);
  return reached("the victim's oom_score_adj");
}
