#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "native/call_checks.h"
#include "native/filter_tree.h"
#include "native/seccomp.h"

namespace atl::native {
namespace {

constexpr int kFchmodat2 = 452;  // younger than Debian 12's headers

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
    {SYS_fchmod, 1}, {SYS_fchmodat, 2}, {kFchmodat2, 2}, {SYS_mknodat, 2},
#if defined(__x86_64__)
    {SYS_chmod, 1},  {SYS_mknod, 1},    {SYS_creat, 1},
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

}  // namespace

std::vector<sock_filter> subprocess_filter() {
  Decision calls(allow());
  for (const uint32_t number : kDenied) calls.set(number, refuse(EPERM));

  // clone3 hides its flags behind a pointer; libc falls back to clone on ENOSYS.
  calls.set(SYS_clone3, refuse(ENOSYS));
  calls.set(SYS_clone, check_clone());
  // No sockets of any family. AF_UNIX too: Landlock does not stop a connect to a socket's path, and
  // behind one may be a daemon that runs containers as root. Pipes and socketpair() remain for
  // talking to one's own children.
  calls.set(SYS_socket, refuse(EACCES));
  // Limits of oneself only: those of a daemon of the same user would bring it down.
  calls.set(SYS_prlimit64, if_equal(word_of_argument(0), 0, allow(), refuse(EPERM)));
  // No setuid and setgid bits: a file with one, left in a host directory, would carry the user's
  // rights out.
  const auto check_mode = [](size_t argument) {
    return if_any_bit(word_of_argument(argument), S_ISUID | S_ISGID, refuse(EPERM), allow());
  };
  for (const auto& [number, mode] : kChangesMode) calls.set(number, check_mode(mode));
  for (const auto& [number, mode] : kMayCreate) {
    calls.set(number, if_any_bit(word_of_argument(mode - 1), kCreates, check_mode(mode), allow()));
  }
  // openat2 hides its mode behind a pointer; programs fall back to openat.
  calls.set(SYS_openat2, refuse(ENOSYS));
  // Typing into the terminal that the caller may have handed over.
  calls.set(SYS_ioctl, check_ioctl());
  return filter_of(std::move(calls));
}

}  // namespace atl::native
