#include "native/call_checks.h"

#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

// Younger than Debian 12's headers.
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_GET_MDWE 66
#endif
#ifndef PR_SET_MEMORY_MERGE
#define PR_SET_MEMORY_MERGE 67
#define PR_GET_MEMORY_MERGE 68
#endif
#ifndef PR_GET_AUXV
#define PR_GET_AUXV 0x41555856
#endif

namespace atl::native {
namespace {

// CLONE_NEWTIME is not among them: clone() takes its bit for a part of the signal's number.
constexpr uint32_t kNamespaceFlags = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                     CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

constexpr uint32_t kTerminalRequests[] = {TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS};

// Every file system may answer these, though they are of the family that btrfs has for itself.
constexpr uint32_t kCloneRequests[] = {FICLONE, FICLONERANGE, FIDEDUPERANGE};
constexpr uint32_t kFamilyMask = 0xFF00;

// The rest of a socket's type is SOCK_CLOEXEC and SOCK_NONBLOCK. The kernel has no name for this
// mask in its public headers.
constexpr uint32_t kSocketTypeMask = 0xf;

// Of IP: whatever the type means by itself, or these by name. The ICMP ones are for ping without
// raw sockets.
constexpr uint32_t kProtocols[] = {IPPROTO_IP, IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP,
                                   IPPROTO_ICMPV6};

// Those that processes set and ask about themselves, and those of other architectures that are as
// harmless.
constexpr uint32_t kHarmlessOptions[] = {
    PR_SET_PDEATHSIG,
    PR_GET_PDEATHSIG,
    PR_GET_DUMPABLE,
    PR_SET_DUMPABLE,
    PR_GET_KEEPCAPS,
    PR_SET_KEEPCAPS,
    PR_SET_NAME,
    PR_GET_NAME,
    PR_GET_SECCOMP,
    PR_SET_SECCOMP,
    PR_CAPBSET_READ,
    PR_CAPBSET_DROP,
    PR_GET_TSC,
    PR_SET_TSC,
    PR_GET_SECUREBITS,
    PR_SET_SECUREBITS,  // needs CAP_SETPCAP; the agent locks them for what it starts
    PR_SET_TIMERSLACK,
    PR_GET_TIMERSLACK,
    PR_SET_CHILD_SUBREAPER,
    PR_GET_CHILD_SUBREAPER,
    PR_SET_NO_NEW_PRIVS,
    PR_GET_NO_NEW_PRIVS,
    PR_GET_TID_ADDRESS,
    PR_SET_THP_DISABLE,
    PR_GET_THP_DISABLE,
    PR_CAP_AMBIENT,
    PR_SVE_SET_VL,
    PR_SVE_GET_VL,
    PR_GET_SPECULATION_CTRL,
    PR_SET_SPECULATION_CTRL,
    PR_PAC_RESET_KEYS,
    PR_SET_TAGGED_ADDR_CTRL,
    PR_GET_TAGGED_ADDR_CTRL,
    PR_PAC_SET_ENABLED_KEYS,
    PR_PAC_GET_ENABLED_KEYS,
    PR_SME_SET_VL,
    PR_SME_GET_VL,
    PR_SET_MDWE,
    PR_GET_MDWE,
    PR_GET_MEMORY_MERGE,
    PR_GET_AUXV,
    PR_SET_VMA,
};

constexpr uint32_t kRefusedOptions[] = {
    PR_SET_MM,            // would let a process lie in /proc about what it runs
    PR_SET_MEMORY_MERGE,  // equal pages of two sandboxes become one, and timing tells
    PR_SCHED_CORE,        // claims whole cores
    PR_SET_IO_FLUSHER,    // memory reserves
    PR_GET_IO_FLUSHER,
    PR_MCE_KILL,
    PR_MCE_KILL_GET,
    PR_TASK_PERF_EVENTS_DISABLE,
    PR_TASK_PERF_EVENTS_ENABLE,
    PR_SET_SYSCALL_USER_DISPATCH,
};

}  // namespace

Fragment check_clone() {
  return if_any_bit(word_of_argument(0), kNamespaceFlags, refuse(EPERM), allow());
}

Fragment check_ioctl() {
  Decision request(allow());
  for (const uint32_t number : kTerminalRequests) request.set(number, refuse(EPERM));
  Decision btrfs(refuse(ENOTTY));
  for (const uint32_t number : kCloneRequests) btrfs.set(number, allow());
  Decision family(request.on(word_of_argument(1)));
  family.set(BTRFS_IOCTL_MAGIC << 8, btrfs.on(word_of_argument(1)));
  return family.on(word_of_argument(1), kFamilyMask);
}

Fragment check_socket() {
  Decision protocol(refuse(EPROTONOSUPPORT));
  for (const uint32_t number : kProtocols) {
    protocol.set(number, allow());
  }
  Decision type(refuse(ESOCKTNOSUPPORT));
  type.set(SOCK_STREAM, protocol.on(word_of_argument(2)));
  type.set(SOCK_DGRAM, protocol.on(word_of_argument(2)));
  type.set(SOCK_RAW, refuse(EPERM));
  type.set(SOCK_PACKET, refuse(EPERM));  // of AF_INET is another name for AF_PACKET

  // AF_INET and AF_INET6 differ in this bit alone, so that one copy of their checks serves both.
  constexpr uint32_t kSixBit = AF_INET ^ AF_INET6;
  static_assert(kSixBit == 8 && (AF_INET & kSixBit) == 0);
  Decision internet(refuse(EAFNOSUPPORT));
  internet.set(AF_INET, type.on(word_of_argument(1), kSocketTypeMask));

  return if_equal(
      word_of_argument(0), AF_UNIX, allow(),
      if_equal(word_of_argument(0), AF_NETLINK,
               if_equal(word_of_argument(2), NETLINK_ROUTE, allow(), refuse(EAFNOSUPPORT)),
               internet.on(word_of_argument(0), ~kSixBit)));
}

Fragment check_socketpair() {
  return if_equal(word_of_argument(0), AF_UNIX, allow(), refuse(EAFNOSUPPORT));
}

Fragment check_prctl(Debugging debugging) {
  Decision option(refuse(EINVAL));
  for (const uint32_t number : kHarmlessOptions) option.set(number, allow());
  for (const uint32_t number : kRefusedOptions) option.set(number, refuse(EPERM));
  // Names who may trace this process, against the host's rule that only parents may.
  option.set(PR_SET_PTRACER, debugging == Debugging::allowed ? allow() : refuse(EPERM));
  return option.on(word_of_argument(0));
}

Fragment check_personality(Debugging debugging) {
  constexpr uint32_t kAsk = UINT32_MAX;
  Decision persona(refuse(EPERM));
  persona.set(PER_LINUX, allow());
  persona.set(kAsk, allow());
  if (debugging == Debugging::allowed) persona.set(ADDR_NO_RANDOMIZE, allow());
  return persona.on(word_of_argument(0));
}

}  // namespace atl::native
