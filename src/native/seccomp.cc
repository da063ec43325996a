#include "native/seccomp.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace atl::native {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "this architecture has no filter yet"
#endif

constexpr uint32_t kX32Bit = 0x40000000;

constexpr uint32_t kNamespaceFlags = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                     CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// Calls that are refused whatever their arguments are.
constexpr uint32_t kDenied[] = {
    // other roots, mounts and namespaces
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_open_tree,
    SYS_move_mount,
    SYS_mount_setattr,
    // other processes' memory and descriptors
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_pidfd_getfd,
    SYS_kcmp,
    // the kernel itself
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_reboot,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_syslog,
    SYS_acct,
    SYS_swapon,
    SYS_swapoff,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
    SYS_fanotify_init,
    SYS_lookup_dcookie,
    SYS_nfsservctl,
    // objects without an owner among sandboxes, which would join them and outlive them
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_shmdt,
    SYS_semget,
    SYS_semop,
    SYS_semtimedop,
    SYS_semctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    SYS_mq_open,
    SYS_mq_unlink,
    // Landlock does not look at these: names of files that cannot be read, and attributes of files
    // anywhere
    SYS_inotify_init1,
    SYS_inotify_add_watch,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    // favourite roads of exploits
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_personality,
#if defined(__x86_64__)
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_uselib,
    SYS_ustat,
    SYS_sysfs,
    SYS__sysctl,
    SYS_create_module,
    SYS_inotify_init,
    SYS_get_kernel_syms,
    SYS_query_module,
#endif
};

// Calls that set a file's mode, and which argument it is.
struct ModeArgument {
  uint32_t number;
  size_t mode;
};
constexpr ModeArgument kChangesMode[] = {
    {SYS_fchmod, 1},  {SYS_fchmodat, 2},
    {452, 2},  // fchmodat2, which Debian 12's headers do not know
    {SYS_mknodat, 2},
#if defined(__x86_64__)
    {SYS_chmod, 1},   {SYS_mknod, 1},
    {SYS_creat, 1},
#endif
};
// The mode of these counts only when the argument before it says that a file is made.
constexpr ModeArgument kMayCreate[] = {
    {SYS_openat, 3},
#if defined(__x86_64__)
    {SYS_open, 2},
#endif
};
constexpr uint32_t kCreates = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);

sock_filter load(size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}
sock_filter answer(uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }
sock_filter refuse(int number) { return answer(SECCOMP_RET_ERRNO | static_cast<uint32_t>(number)); }
sock_filter skip_unless_equal(uint32_t value, uint8_t count) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count);
}

// The low half of an argument: both architectures are little-endian.
constexpr size_t argument(size_t index) {
  return offsetof(seccomp_data, args) + index * sizeof(uint64_t);
}

}  // namespace

std::vector<sock_filter> subprocess_filter() {
  std::vector<sock_filter> program;
  const auto add = [&](std::initializer_list<sock_filter> instructions) {
    program.insert(program.end(), instructions);
  };

  add({load(offsetof(seccomp_data, arch)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
       answer(SECCOMP_RET_KILL_PROCESS), load(offsetof(seccomp_data, nr))});
#if defined(__x86_64__)
  add({BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kX32Bit, 0, 1), answer(SECCOMP_RET_KILL_PROCESS)});
#endif

  for (const uint32_t number : kDenied) add({skip_unless_equal(number, 1), refuse(EPERM)});

  // clone3 hides its flags behind a pointer; libc falls back to clone on ENOSYS.
  add({skip_unless_equal(SYS_clone3, 1), refuse(ENOSYS)});
  add({skip_unless_equal(SYS_clone, 4), load(argument(0)),
       BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kNamespaceFlags, 0, 1), refuse(EPERM),
       answer(SECCOMP_RET_ALLOW)});
  // No sockets of any family. AF_UNIX too: Landlock does not stop a connect to a socket's path, and
  // behind one may be a daemon that runs containers as root. Pipes and socketpair() remain for
  // talking to one's own children.
  add({skip_unless_equal(SYS_socket, 1), refuse(EACCES)});
  // Limits of oneself only: those of a daemon of the same user would bring it down.
  add({skip_unless_equal(SYS_prlimit64, 4), load(argument(0)),
       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), refuse(EPERM), answer(SECCOMP_RET_ALLOW)});
  // No setuid and setgid bits: a file with one, left in a host directory, would carry the user's
  // rights out.
  const sock_filter sets_ids = BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, S_ISUID | S_ISGID, 0, 1);
  for (const auto& [number, mode] : kChangesMode) {
    add({skip_unless_equal(number, 4), load(argument(mode)), sets_ids, refuse(EPERM),
         answer(SECCOMP_RET_ALLOW)});
  }
  for (const auto& [number, mode] : kMayCreate) {
    add({skip_unless_equal(number, 6), load(argument(mode - 1)),
         BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kCreates, 0, 3), load(argument(mode)), sets_ids,
         refuse(EPERM), answer(SECCOMP_RET_ALLOW)});
  }
  // openat2 hides its mode behind a pointer; programs fall back to openat.
  add({skip_unless_equal(SYS_openat2, 1), refuse(ENOSYS)});
  // Typing into the terminal that the caller may have handed over.
  add({skip_unless_equal(SYS_ioctl, 5), load(argument(1)),
       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TIOCSTI, 1, 0),
       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TIOCLINUX, 0, 1), refuse(EPERM),
       answer(SECCOMP_RET_ALLOW)});
  add({answer(SECCOMP_RET_ALLOW)});
  return program;
}

}  // namespace atl::native
