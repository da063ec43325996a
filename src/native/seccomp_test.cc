#include "native/seccomp.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "native/filter_tree.h"
#include "native/syscall_list.h"

namespace atl::native {
namespace {

// What the kernel would answer: a small interpreter for the instructions that the filter uses.
uint32_t evaluate(const std::vector<sock_filter>& program, const seccomp_data& data) {
  uint32_t accumulator = 0;
  for (size_t at = 0; at < program.size(); ++at) {
    const auto& instruction = program[at];
    switch (instruction.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + instruction.k,
                    sizeof accumulator);
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        accumulator &= instruction.k;
        break;
      case BPF_JMP | BPF_JA:
        at += instruction.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        at += accumulator == instruction.k ? instruction.jt : instruction.jf;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        at += accumulator >= instruction.k ? instruction.jt : instruction.jf;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        at += (accumulator & instruction.k) != 0 ? instruction.jt : instruction.jf;
        break;
      case BPF_RET | BPF_K:
        return instruction.k;
      default:
        ADD_FAILURE() << "an instruction that this test does not know: " << instruction.code;
        return 0;
    }
  }
  ADD_FAILURE() << "the program runs off its end";
  return 0;
}

uint32_t verdict(int number, uint64_t first = 0, uint64_t second = 0) {
  seccomp_data data{};
  data.nr = number;
  data.arch = AUDIT_ARCH_X86_64;
  data.args[0] = first;
  data.args[1] = second;
  return evaluate(subprocess_filter(), data);
}

constexpr uint32_t refused(int number) { return SECCOMP_RET_ERRNO | static_cast<uint32_t>(number); }

TEST(Seccomp, LetsOrdinaryWorkThrough) {
  for (const int number : {SYS_read, SYS_write, SYS_openat, SYS_mmap, SYS_execve, SYS_wait4,
                           SYS_pipe2, SYS_exit_group}) {
    EXPECT_EQ(verdict(number), SECCOMP_RET_ALLOW) << number;
  }
}

TEST(Seccomp, RefusesWhatAnAttackerNeeds) {
  for (const int number :
       {SYS_mount, SYS_unshare, SYS_setns, SYS_ptrace, SYS_bpf, SYS_io_uring_setup, SYS_keyctl,
        SYS_userfaultfd, SYS_perf_event_open, SYS_shmget, SYS_msgget, SYS_inotify_add_watch,
        SYS_setxattr, SYS_open_by_handle_at, SYS_init_module}) {
    EXPECT_EQ(verdict(number), refused(EPERM)) << number;
  }
}

TEST(Seccomp, LooksAtArgumentsWhereTheyMatter) {
  EXPECT_EQ(verdict(SYS_clone, CLONE_VM | CLONE_THREAD), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict(SYS_clone, CLONE_NEWUSER), refused(EPERM));
  EXPECT_EQ(verdict(SYS_clone3), refused(ENOSYS));
  EXPECT_EQ(verdict(SYS_socketpair, AF_UNIX), SECCOMP_RET_ALLOW);
  for (const int family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG}) {
    EXPECT_EQ(verdict(SYS_socket, static_cast<uint64_t>(family)), refused(EACCES)) << family;
  }
  EXPECT_EQ(verdict(SYS_ioctl, 0, TCGETS), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict(SYS_ioctl, 0, TIOCSTI), refused(EPERM));
  EXPECT_EQ(verdict(SYS_ioctl, 0, TIOCLINUX), refused(EPERM));
  EXPECT_EQ(verdict(SYS_ioctl, 0, FICLONE), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict(SYS_ioctl, 0, FICLONERANGE), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict(SYS_ioctl, 0, FIDEDUPERANGE), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict(SYS_ioctl, 0, BTRFS_IOC_SUBVOL_CREATE), refused(ENOTTY));
  EXPECT_EQ(verdict(SYS_ioctl, 0, BTRFS_IOC_SUBVOL_CREATE_V2), refused(ENOTTY));
  EXPECT_EQ(verdict(SYS_ioctl, 0, BTRFS_IOC_SNAP_CREATE_V2), refused(ENOTTY));
}

TEST(Seccomp, LetsNoSetuidFileBeMade) {
  EXPECT_EQ(verdict(SYS_fchmod, 0, 0755), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict(SYS_fchmod, 0, 04755), refused(EPERM));
  EXPECT_EQ(verdict(SYS_chmod, 0, 02755), refused(EPERM));
  seccomp_data data{};
  data.arch = AUDIT_ARCH_X86_64;
  data.nr = SYS_openat;
  data.args[2] = O_RDONLY;
  data.args[3] = 04755;  // means nothing when no file is made
  EXPECT_EQ(evaluate(subprocess_filter(), data), SECCOMP_RET_ALLOW);
  data.args[2] = O_WRONLY | O_CREAT;
  EXPECT_EQ(evaluate(subprocess_filter(), data), refused(EPERM));
  data.args[3] = 0644;
  EXPECT_EQ(evaluate(subprocess_filter(), data), SECCOMP_RET_ALLOW);
}

TEST(Seccomp, LeavesTheLimitsOfOthersAlone) {
  EXPECT_EQ(verdict(SYS_prlimit64, 0), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict(SYS_prlimit64, 4711), refused(EPERM));
}

TEST(Seccomp, KillsForeignArchitectures) {
  seccomp_data data{};
  data.nr = SYS_read;
  data.arch = AUDIT_ARCH_I386;
  EXPECT_EQ(evaluate(subprocess_filter(), data), SECCOMP_RET_KILL_PROCESS);
  EXPECT_EQ(verdict(0x40000000 | SYS_read), SECCOMP_RET_KILL_PROCESS) << "x32";
}

// What the sandbox's filter says to a call with all arguments 0.
uint32_t sandbox_verdict(const std::vector<sock_filter>& filter, uint32_t number) {
  seccomp_data data{};
  data.nr = static_cast<int>(number);
  data.arch = AUDIT_ARCH_X86_64;
  return evaluate(filter, data);
}

// Straight from the list, without the tree.
uint32_t expected_verdict(const std::map<uint32_t, CallRule>& rules, uint32_t number,
                          SandboxFilterOptions options) {
  if (number > newest_known_call()) return refused(ENOSYS);
  const auto found = rules.find(number);
  if (found == rules.end()) return refused(EPERM);
  switch (found->second) {
    case CallRule::allow:
      return SECCOMP_RET_ALLOW;
    case CallRule::absent:
      return refused(ENOSYS);
    case CallRule::debug:
      return options.allow_ptrace ? SECCOMP_RET_ALLOW : refused(EPERM);
    case CallRule::refuse:
      return refused(EPERM);
    case CallRule::by_arguments:
      break;
  }
  if (number == SYS_socket || number == SYS_socketpair) return refused(EAFNOSUPPORT);
  return number == SYS_prctl ? refused(EINVAL) : SECCOMP_RET_ALLOW;
}

TEST(SandboxFilter, SaysToEveryNumberWhatTheListSays) {
  std::map<uint32_t, CallRule> rules;
  for (const auto& group : system_call_groups()) {
    for (const auto& call : group.calls) rules.emplace(call.number, group.rule);
  }
  for (const bool debug : {false, true}) {
    const SandboxFilterOptions options{.allow_ptrace = debug};
    const auto filter = sandbox_filter(options);
    for (uint32_t number = 0; number <= 600; ++number) {
      EXPECT_EQ(sandbox_verdict(filter, number), expected_verdict(rules, number, options))
          << number;
    }
    EXPECT_EQ(sandbox_verdict(filter, 0x3fffffff), refused(ENOSYS));
    EXPECT_EQ(sandbox_verdict(filter, 0x40000000), SECCOMP_RET_KILL_PROCESS);
    EXPECT_EQ(sandbox_verdict(filter, 0x7fffffff), SECCOMP_RET_KILL_PROCESS);
    EXPECT_EQ(sandbox_verdict(filter, 0xffffffff), refused(ENOSYS));
  }
}

TEST(SandboxFilter, KnowsEveryCallExactlyOnce) {
  std::map<uint32_t, int> seen;
  for (const auto& group : system_call_groups()) {
    for (const auto& call : group.calls) ++seen[call.number];
  }
  // Between the old calls of x86-64 and those that all architectures share there are none.
  for (uint32_t number = 0; number <= newest_known_call(); ++number) {
    EXPECT_EQ(seen[number], number > 336 && number < 424 ? 0 : 1) << number;
  }
}

TEST(SandboxFilter, StaysSmall) {
  EXPECT_LE(sandbox_filter({}).size(), 200U);
  EXPECT_LE(subprocess_filter().size(), 180U);
}

TEST(SandboxFilter, TellsWhatItAmountsTo) {
  const auto plain = summarize_filter({});
  const auto debug = summarize_filter({.allow_ptrace = true});
  EXPECT_EQ(debug.allowed, plain.allowed + 3);
  EXPECT_EQ(plain.instructions, sandbox_filter({}).size());
  EXPECT_EQ(describe_filter({}), std::to_string(plain.allowed) +
                                     " system calls allowed, 6 more by their arguments, all "
                                     "others refused (" +
                                     std::to_string(plain.instructions) + " instructions)");
}

TEST(FilterTree, JumpsFartherThanAConditionalJumpReaches) {
  Decision decision(allow());
  for (uint32_t value = 0; value < 2000; value += 2) decision.set(value, refuse(EPERM));
  decision.set_range(100, 299, kill_process());
  decision.set(UINT32_MAX, refuse(ENOSYS));
  const auto filter = filter_of(decision);
  for (uint32_t value = 0; value < 2100; ++value) {
    const uint32_t plain = value < 2000 && value % 2 == 0 ? refused(EPERM) : SECCOMP_RET_ALLOW;
    const bool killed = value >= 100 && value <= 299;
    EXPECT_EQ(sandbox_verdict(filter, value), killed ? SECCOMP_RET_KILL_PROCESS : plain) << value;
  }
}

}  // namespace
}  // namespace atl::native
