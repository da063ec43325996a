#include "native/syscall_list.h"

#include <asm/unistd.h>
#include <stdlib.h>

namespace atl::native {
namespace {

// A name without a number stays as it is when the preprocessor makes text of it, which tells what
// an architecture lacks without an #ifdef for each.
consteval uint32_t number_of(const char* text) {
  if (*text < '0' || *text > '9') {
#if defined(__x86_64__)
    abort();  // not a constant, so the compiler points at the misspelt name
#endif
    return kNoSuchCall;
  }
  uint32_t number = 0;
  for (; *text != '\0'; ++text) number = number * 10 + static_cast<uint32_t>(*text - '0');
  return number;
}
#define ATOLL_TEXT_OF(x) #x
#define ATOLL_NUMBER_OF(x) number_of(ATOLL_TEXT_OF(x))
#define CALL(name) \
  SystemCall { #name, ATOLL_NUMBER_OF(__NR_##name) }

// With a number stands what is younger than Debian 12's headers (Linux 6.1); the running kernel may
// have it. From 424 on a call has one number on every architecture that Atoll knows.
constexpr uint32_t kNewestCall = 469;
#if defined(__x86_64__)
constexpr uint32_t kReturnProbe = 335, kProbe = 336;
#else
constexpr uint32_t kReturnProbe = kNoSuchCall, kProbe = kNoSuchCall;
#endif

// Moving bytes, and asking for it ahead of time.
constexpr SystemCall kReadingAndWriting[] = {CALL(read),
                                             CALL(write),
                                             CALL(readv),
                                             CALL(writev),
                                             CALL(pread64),
                                             CALL(pwrite64),
                                             CALL(preadv),
                                             CALL(pwritev),
                                             CALL(preadv2),
                                             CALL(pwritev2),
                                             CALL(lseek),
                                             CALL(sendfile),
                                             CALL(copy_file_range),
                                             CALL(splice),
                                             CALL(tee),
                                             CALL(vmsplice),
                                             CALL(readahead),
                                             CALL(fadvise64),
                                             {"cachestat", 451},
                                             CALL(io_setup),
                                             CALL(io_destroy),
                                             CALL(io_getevents),
                                             CALL(io_pgetevents),
                                             CALL(io_submit),
                                             CALL(io_cancel)};

// Getting descriptors and keeping them in order.
constexpr SystemCall kDescriptors[] = {
    CALL(open),  CALL(openat),  CALL(openat2),  CALL(creat),       CALL(close), CALL(close_range),
    CALL(dup),   CALL(dup2),    CALL(dup3),     CALL(fcntl),       CALL(flock), CALL(pipe),
    CALL(pipe2), CALL(eventfd), CALL(eventfd2), CALL(memfd_create)};

// Files and directories by name. Nodes of devices need a capability that no sandbox has.
constexpr SystemCall kFilesByName[] = {
    CALL(access),     CALL(faccessat),  CALL(faccessat2), CALL(stat),      CALL(fstat),
    CALL(lstat),      CALL(newfstatat), CALL(statx),      CALL(statfs),    CALL(fstatfs),
    CALL(getdents),   CALL(getdents64), CALL(getcwd),     CALL(chdir),     CALL(fchdir),
    CALL(mkdir),      CALL(mkdirat),    CALL(rmdir),      CALL(mknod),     CALL(mknodat),
    CALL(link),       CALL(linkat),     CALL(symlink),    CALL(symlinkat), CALL(readlink),
    CALL(readlinkat), CALL(rename),     CALL(renameat),   CALL(renameat2), CALL(unlink),
    CALL(unlinkat)};

// Attributes of files. A setuid bit is set in vain: every mount is nosuid.
constexpr SystemCall kFileAttributes[] = {
    CALL(chmod),           CALL(fchmod),         CALL(fchmodat),     {"fchmodat2", 452},
    CALL(chown),           CALL(fchown),         CALL(lchown),       CALL(fchownat),
    CALL(umask),           CALL(utime),          CALL(utimes),       CALL(futimesat),
    CALL(utimensat),       CALL(truncate),       CALL(ftruncate),    CALL(fallocate),
    CALL(setxattr),        CALL(lsetxattr),      CALL(fsetxattr),    {"setxattrat", 463},
    CALL(getxattr),        CALL(lgetxattr),      CALL(fgetxattr),    {"getxattrat", 464},
    CALL(listxattr),       CALL(llistxattr),     CALL(flistxattr),   {"listxattrat", 465},
    CALL(removexattr),     CALL(lremovexattr),   CALL(fremovexattr), {"removexattrat", 466},
    {"file_getattr", 468}, {"file_setattr", 469}};

// Having data on disk.
constexpr SystemCall kDurability[] = {CALL(fsync),  CALL(fdatasync),       CALL(sync),
                                      CALL(syncfs), CALL(sync_file_range), CALL(msync)};

// Sleeping until something happens: servers, event loops, file watchers.
constexpr SystemCall kWaitingForEvents[] = {CALL(poll),
                                            CALL(ppoll),
                                            CALL(select),
                                            CALL(pselect6),
                                            CALL(epoll_create),
                                            CALL(epoll_create1),
                                            CALL(epoll_ctl),
                                            CALL(epoll_wait),
                                            CALL(epoll_pwait),
                                            CALL(epoll_pwait2),
                                            CALL(inotify_init),
                                            CALL(inotify_init1),
                                            CALL(inotify_add_watch),
                                            CALL(inotify_rm_watch)};

// One's own memory. Locking is bounded by RLIMIT_MEMLOCK.
constexpr SystemCall kMemory[] = {CALL(brk),           CALL(mmap),
                                  CALL(munmap),        CALL(mremap),
                                  CALL(mprotect),      CALL(madvise),
                                  CALL(mincore),       CALL(mlock),
                                  CALL(mlock2),        CALL(munlock),
                                  CALL(mlockall),      CALL(munlockall),
                                  {"mseal", 462},      CALL(remap_file_pages),
                                  CALL(pkey_alloc),    CALL(pkey_free),
                                  CALL(pkey_mprotect), {"map_shadow_stack", 453},
                                  CALL(get_mempolicy), CALL(membarrier)};

// Starting programs, waiting for them, ending them; uretprobe is the kernel's own way back from a
// probe that the host has set.
constexpr SystemCall kProcesses[] = {CALL(fork),
                                     CALL(vfork),
                                     CALL(execve),
                                     CALL(execveat),
                                     CALL(exit),
                                     CALL(exit_group),
                                     CALL(wait4),
                                     CALL(waitid),
                                     CALL(getpid),
                                     CALL(getppid),
                                     CALL(gettid),
                                     CALL(getpgid),
                                     CALL(setpgid),
                                     CALL(getpgrp),
                                     CALL(getsid),
                                     CALL(setsid),
                                     CALL(pidfd_open),
                                     CALL(pidfd_send_signal),
                                     CALL(process_mrelease),
                                     CALL(arch_prctl),
                                     {"uretprobe", kReturnProbe}};

// Locks between threads.
constexpr SystemCall kThreads[] = {
    CALL(futex),           CALL(futex_waitv),      {"futex_wake", 454},
    {"futex_wait", 455},   {"futex_requeue", 456}, CALL(set_robust_list),
    CALL(get_robust_list), CALL(set_tid_address),  CALL(rseq)};

// Signals. The process namespace ends their reach.
constexpr SystemCall kSignals[] = {CALL(kill),
                                   CALL(tkill),
                                   CALL(tgkill),
                                   CALL(rt_sigaction),
                                   CALL(rt_sigprocmask),
                                   CALL(rt_sigreturn),
                                   CALL(rt_sigpending),
                                   CALL(rt_sigtimedwait),
                                   CALL(rt_sigsuspend),
                                   CALL(rt_sigqueueinfo),
                                   CALL(rt_tgsigqueueinfo),
                                   CALL(sigaltstack),
                                   CALL(signalfd),
                                   CALL(signalfd4),
                                   CALL(pause),
                                   CALL(restart_syscall)};

// Reading clocks and setting timers.
constexpr SystemCall kTime[] = {CALL(time),
                                CALL(gettimeofday),
                                CALL(clock_gettime),
                                CALL(clock_getres),
                                CALL(nanosleep),
                                CALL(clock_nanosleep),
                                CALL(alarm),
                                CALL(getitimer),
                                CALL(setitimer),
                                CALL(timer_create),
                                CALL(timer_settime),
                                CALL(timer_gettime),
                                CALL(timer_getoverrun),
                                CALL(timer_delete),
                                CALL(timerfd_create),
                                CALL(timerfd_settime),
                                CALL(timerfd_gettime),
                                CALL(times)};

// Priorities and cores. Without CAP_SYS_NICE they only get lower, and the cpuset holds.
constexpr SystemCall kScheduling[] = {CALL(sched_yield),
                                      CALL(sched_setparam),
                                      CALL(sched_getparam),
                                      CALL(sched_setscheduler),
                                      CALL(sched_getscheduler),
                                      CALL(sched_setattr),
                                      CALL(sched_getattr),
                                      CALL(sched_get_priority_max),
                                      CALL(sched_get_priority_min),
                                      CALL(sched_rr_get_interval),
                                      CALL(sched_setaffinity),
                                      CALL(sched_getaffinity),
                                      CALL(getpriority),
                                      CALL(setpriority),
                                      CALL(ioprio_set),
                                      CALL(ioprio_get),
                                      CALL(getcpu)};

// Who one is. The agent changes over to the user of each command; others may only do what their
// capabilities allow.
constexpr SystemCall kIdentity[] = {
    CALL(getuid),    CALL(geteuid),   CALL(getgid),    CALL(getegid),   CALL(getgroups),
    CALL(getresuid), CALL(getresgid), CALL(setuid),    CALL(setgid),    CALL(setreuid),
    CALL(setregid),  CALL(setgroups), CALL(setresuid), CALL(setresgid), CALL(setfsuid),
    CALL(setfsgid),  CALL(capget),    CALL(capset)};

// Limits, usage, the machine's facts, randomness.
constexpr SystemCall kLimitsAndFacts[] = {CALL(getrlimit), CALL(setrlimit), CALL(prlimit64),
                                          CALL(getrusage), CALL(sysinfo),   CALL(uname),
                                          CALL(getrandom)};

// Talking over sockets, which socket() has let through.
constexpr SystemCall kSockets[] = {
    CALL(bind),       CALL(listen),     CALL(accept),      CALL(accept4),
    CALL(connect),    CALL(shutdown),   CALL(getsockname), CALL(getpeername),
    CALL(setsockopt), CALL(getsockopt), CALL(sendto),      CALL(recvfrom),
    CALL(sendmsg),    CALL(recvmsg),    CALL(sendmmsg),    CALL(recvmmsg)};

// System V and POSIX objects, which end with the sandbox's own IPC namespace.
constexpr SystemCall kInterprocess[] = {
    CALL(shmget),    CALL(shmat),        CALL(shmctl),       CALL(shmdt),
    CALL(semget),    CALL(semop),        CALL(semtimedop),   CALL(semctl),
    CALL(msgget),    CALL(msgsnd),       CALL(msgrcv),       CALL(msgctl),
    CALL(mq_open),   CALL(mq_unlink),    CALL(mq_timedsend), CALL(mq_timedreceive),
    CALL(mq_notify), CALL(mq_getsetattr)};

// Taking more away from oneself, as browsers do. The strictest answer of all filters counts.
constexpr SystemCall kOwnSandboxes[] = {CALL(seccomp), CALL(landlock_create_ruleset),
                                        CALL(landlock_add_rule), CALL(landlock_restrict_self)};

// Allowed unless an argument asks for more than a sandbox gives.
constexpr SystemCall kByArguments[] = {CALL(clone), CALL(socket), CALL(socketpair),
                                       CALL(ioctl), CALL(prctl),  CALL(personality)};

// Debuggers: the memory and registers of processes of the same sandbox.
constexpr SystemCall kDebugging[] = {CALL(ptrace), CALL(process_vm_readv), CALL(process_vm_writev)};

// Calls with their arguments behind a pointer or in shared memory, where no filter sees them. Every
// program that probes for these has another way.
constexpr SystemCall kAbsent[] = {CALL(clone3), CALL(io_uring_setup), CALL(io_uring_enter),
                                  CALL(io_uring_register)};

// What follows is refused.

// Other roots, mounts and namespaces: the walls of the sandbox.
constexpr SystemCall kRootsAndNamespaces[] = {
    CALL(mount),       CALL(umount2),       CALL(pivot_root),   CALL(chroot),
    CALL(unshare),     CALL(setns),         CALL(open_tree),    {"open_tree_attr", 467},
    CALL(move_mount),  CALL(fsopen),        CALL(fsconfig),     CALL(fsmount),
    CALL(fspick),      CALL(mount_setattr), {"statmount", 457}, {"listmount", 458},
    CALL(sethostname), CALL(setdomainname)};

// Descriptors and memory of other processes.
constexpr SystemCall kOtherProcesses[] = {CALL(pidfd_getfd), CALL(kcmp), CALL(process_madvise)};

// Reaching or watching files without walking a path to them.
constexpr SystemCall kAroundThePath[] = {CALL(name_to_handle_at), CALL(open_by_handle_at),
                                         CALL(fanotify_init), CALL(fanotify_mark)};

// Large, young or little used parts of the kernel, which exploits like best; keyrings are also
// shared by everything of one uid.
constexpr SystemCall kExploitRoads[] = {CALL(bpf),
                                        CALL(perf_event_open),
                                        CALL(userfaultfd),
                                        CALL(add_key),
                                        CALL(request_key),
                                        CALL(keyctl),
                                        CALL(memfd_secret),
                                        CALL(modify_ldt),
                                        CALL(set_thread_area),
                                        CALL(get_thread_area),
                                        {"lsm_get_self_attr", 459},
                                        {"lsm_set_self_attr", 460},
                                        {"lsm_list_modules", 461}};

// The machine: modules, kernels, swap, accounting, quota, ports, log.
constexpr SystemCall kTheMachine[] = {CALL(init_module), CALL(finit_module),    CALL(delete_module),
                                      CALL(kexec_load),  CALL(kexec_file_load), CALL(reboot),
                                      CALL(swapon),      CALL(swapoff),         CALL(acct),
                                      CALL(syslog),      CALL(quotactl),        CALL(quotactl_fd),
                                      CALL(iopl),        CALL(ioperm),          CALL(vhangup)};

// The clock, which all sandboxes share. Reading by adjtimex cannot be told from setting.
constexpr SystemCall kTheClock[] = {CALL(settimeofday), CALL(clock_settime), CALL(adjtimex),
                                    CALL(clock_adjtime)};

// On which node of the host memory lies.
constexpr SystemCall kMemoryPlacement[] = {CALL(mbind), CALL(set_mempolicy),
                                           CALL(set_mempolicy_home_node), CALL(migrate_pages),
                                           CALL(move_pages)};

// Gone from the kernel, never in it, or for nobody but the kernel.
constexpr SystemCall kObsolete[] = {
    CALL(uselib),         CALL(ustat),          CALL(sysfs),         CALL(_sysctl),
    CALL(nfsservctl),     CALL(lookup_dcookie), CALL(create_module), CALL(get_kernel_syms),
    CALL(query_module),   CALL(getpmsg),        CALL(putpmsg),       CALL(afs_syscall),
    CALL(tuxcall),        CALL(security),       CALL(vserver),       CALL(epoll_ctl_old),
    CALL(epoll_wait_old), {"uprobe", kProbe}};

using enum CallRule;
constexpr CallGroup kGroups[] = {
    {allow, kReadingAndWriting},
    {allow, kDescriptors},
    {allow, kFilesByName},
    {allow, kFileAttributes},
    {allow, kDurability},
    {allow, kWaitingForEvents},
    {allow, kMemory},
    {allow, kProcesses},
    {allow, kThreads},
    {allow, kSignals},
    {allow, kTime},
    {allow, kScheduling},
    {allow, kIdentity},
    {allow, kLimitsAndFacts},
    {allow, kSockets},
    {allow, kInterprocess},
    {allow, kOwnSandboxes},
    {by_arguments, kByArguments},
    {debug, kDebugging},
    {absent, kAbsent},
    {refuse, kRootsAndNamespaces},
    {refuse, kOtherProcesses},
    {refuse, kAroundThePath},
    {refuse, kExploitRoads},
    {refuse, kTheMachine},
    {refuse, kTheClock},
    {refuse, kMemoryPlacement},
    {refuse, kObsolete},
};

}  // namespace

std::span<const CallGroup> system_call_groups() { return kGroups; }

uint32_t newest_known_call() { return kNewestCall; }

}  // namespace atl::native
