// Calls that steer the whole machine. Each is made so that it fails behind its permission check, or
// changes nothing: a wrong magic for reboot, a file that is not there, a time that is not set.
#include <sys/io.h>
#include <sys/personality.h>
#include <sys/quota.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

// EPERM is what everybody without the capability gets, and what the filter says.
Outcome by_errno(const char* call, long answer, int behind_the_check) {
  if (answer == 0 || errno == behind_the_check) return reached(std::string(call) + " is allowed");
  return denied(call);
}

// The calls themselves, harmless as they are made here: on the host they tell whether they exist.
long try_init_module() { return syscall(SYS_init_module, nullptr, 0, ""); }
long try_kexec() { return syscall(SYS_kexec_load, 0, 17, nullptr, ~0UL); }
long try_acct() { return acct("/nonexistent/atoll"); }
long try_quotactl() { return syscall(SYS_quotactl, QCMD(Q_SYNC, USRQUOTA), nullptr, 0, nullptr); }
#if defined(__x86_64__)
long try_iopl() { return iopl(3); }
#endif

template <long (*call)()>
std::string missing_call() {
  return call() != 0 && errno == ENOSYS ? "the kernel is built without it" : "";
}

}  // namespace

ATTACK(init_module_call, .title = "load a kernel module", .dossier = 14, .user = User::root,
       .stopped_by = kPrivilegedCall, .missing = missing_call<try_init_module>) {
  return by_errno("init_module", try_init_module(), ENOEXEC);
}

ATTACK(kexec_call, .title = "load another kernel", .dossier = 14, .user = User::root,
       .stopped_by = kPrivilegedCall, .missing = missing_call<try_kexec>) {
  return by_errno("kexec_load", try_kexec(), EINVAL);
}

ATTACK(reboot_call, .title = "reboot", .dossier = 14, .user = User::root,
       .stopped_by = kPrivilegedCall, .rootless = Layer::seccomp | Layer::capabilities) {
  return by_errno("reboot", syscall(SYS_reboot, 0, 0, 0, nullptr), EINVAL);
}

ATTACK(swapon_call, .title = "switch swap on", .dossier = 14, .user = User::root,
       .stopped_by = kPrivilegedCall) {
  return by_errno("swapon", swapon("/nonexistent/atoll", 0), ENOENT);
}

ATTACK(acct_call, .title = "switch process accounting on", .dossier = 14, .user = User::root,
       .stopped_by = kPrivilegedCall, .missing = missing_call<try_acct>) {
  return by_errno("acct", try_acct(), ENOENT);
}

ATTACK(settimeofday_call, .title = "set the clock", .dossier = 15, .user = User::root,
       .stopped_by = kPrivilegedCall) {
  return by_errno("settimeofday", syscall(SYS_settimeofday, nullptr, nullptr), 0);
}

#if defined(__x86_64__)
ATTACK(iopl_call, .title = "access to I/O ports", .dossier = 15, .user = User::root,
       .stopped_by = kPrivilegedCall, .missing = missing_call<try_iopl>) {
  return by_errno("iopl", try_iopl(), 0);
}
#endif

// Action 8 is the console's level, which 0 is not.
ATTACK(syslog_control, .title = "steer the kernel log", .dossier = 15, .user = User::root,
       .stopped_by = kPrivilegedCall) {
  return by_errno("syslog", syscall(SYS_syslog, 8, nullptr, 0), EINVAL);
}

ATTACK(
    syslog_read, .title = "read the kernel log", .dossier = 15, .stopped_by = Layer::seccomp,
    .missing = [] {
      const auto level = read_all("/proc/sys/kernel/dmesg_restrict");
      return std::string(level && (*level)[0] == '0' ? "" : "dmesg_restrict is set on this host");
    }) {
  char text[512];
  const long got = syscall(SYS_syslog, 3, text, sizeof text);
  if (got < 0) return denied("syslog");
  return reached(std::to_string(got) + " bytes of the kernel log");
}

ATTACK(quotactl_call, .title = "quota control", .dossier = 15, .stopped_by = Layer::seccomp,
       .missing = missing_call<try_quotactl>) {
  return by_errno("quotactl", try_quotactl(), 0);
}

ATTACK(personality_call, .title = "switch address randomisation off", .dossier = 15,
       .stopped_by = Layer::seccomp) {
  if (personality(ADDR_NO_RANDOMIZE) < 0) return denied("personality");
  if ((personality(0xffffffff) & ADDR_NO_RANDOMIZE) == 0) return denied(EPERM, "personality");
  return reached("ADDR_NO_RANDOMIZE");
}

// The permission comes first, then the flags, which are wrong.
ATTACK(fanotify_call, .title = "watch a whole file system", .user = User::root,
       .stopped_by = kPrivilegedCall) {
  const long made = syscall(SYS_fanotify_init, 0x4 | 0x1 /* FAN_CLASS_CONTENT, FAN_CLOEXEC */, 0);
  if (made < 0) return denied("fanotify_init");
  close(static_cast<int>(made));
  return reached("fanotify with content");
}
