#include "native/child/box_child.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "native/agent_places.h"
#include "native/child/in_child.h"
#include "native/child/mount_steps.h"
#include "os/process.h"

namespace atl::native {
namespace {

constexpr size_t kStackBytes = 256 * 1024;
// Above the places that the agent expects; from here on the kernel picks numbers that are free.
constexpr int kAside = 128;
constexpr size_t kMostPlaced = 64;
constexpr const char* kMostNamespaces = "/proc/sys/user/max_user_namespaces";

// In the order of the enum.
constexpr const char* kStageTexts[] = {
    "starting",
    "taking on the sandbox's ids",
    "joining the cgroups",
    "raising the loopback interface",
    "setting the host name",
    "making the mount stage",
    "preparing",
    "placing descriptors",
    "entering the user namespace",
    "giving up capabilities",
    "setting no_new_privs",
    "applying Landlock",
    "executing the agent",
};
static_assert(std::size(kStageTexts) == static_cast<size_t>(BoxStage::exec) + 1);

// NO_CAP_AMBIENT_RAISE is left to the agent's own children: the agent's capabilities are ambient.
constexpr unsigned long kLockedBits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
                                      SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
                                      SECBIT_KEEP_CAPS_LOCKED;

// The agent's descriptors, first aside, then in their places.
struct Placement {
  int fds[kMostPlaced];
  size_t count;
};

[[noreturn]] ATOLL_IN_CHILD void fail(BoxLaunch& launch, BoxStage stage, const char* subject = "") {
  launch.failure = errno;
  launch.failed_at = stage;
  launch.subject = subject;
  _exit(127);
}

ATOLL_IN_CHILD int copy_aside(int fd) {
  const int aside = fcntl(fd, F_DUPFD_CLOEXEC, kAside);
  // What it says where the limit is not even that high.
  if (aside < 0 && errno == EINVAL) errno = EMFILE;
  return aside;
}

ATOLL_IN_CHILD bool put_aside(Placement& placement, int fd) {
  if (placement.count >= kMostPlaced) return false;
  const int aside = copy_aside(fd);
  if (aside < 0) return false;
  placement.fds[placement.count++] = aside;
  return true;
}

ATOLL_IN_CHILD bool write_text(const char* path, const char* text, int directory = AT_FDCWD) {
  const int fd = openat(directory, path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const auto length = static_cast<ssize_t>(strlen(text));
  const bool written = write(fd, text, static_cast<size_t>(length)) == length;
  close(fd);
  return written;
}

// "1000 4242 1": the one id that a user without privileges may map.
ATOLL_IN_CHILD void map_line(char* line, uint32_t inside, uint32_t outside) {
  char* at = line;
  for (const uint32_t value : {inside, outside, 1U}) {
    char digits[12];
    int count = 0;
    uint32_t rest = value;
    do {
      digits[count++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest > 0);
    while (count > 0) *at++ = digits[--count];
    *at++ = ' ';
  }
  at[-1] = 0;
}

ATOLL_IN_CHILD bool map_ourselves(const BoxLaunch& launch) {
  char line[48];
  if (!write_text("/proc/self/setgroups", "deny")) return false;
  map_line(line, kUserId, launch.outer_user);
  if (!write_text("/proc/self/uid_map", line)) return false;
  map_line(line, kUserId, launch.outer_group);
  if (!write_text("/proc/self/gid_map", line)) return false;
  // Counted for the caller, too, who has 128 on most hosts: without a bound of its own one sandbox
  // takes them all.
  if (!write_text("/proc/sys/user/max_inotify_instances", "32")) return false;
  // Behind seccomp, which lets the agent call clone3 (see SandboxFilterOptions).
  return launch.plan->without.has(Layer::seccomp) || write_text(kMostNamespaces, "0");
}

ATOLL_IN_CHILD bool join_cgroups(const BoxLaunch& launch) {
  const bool own_namespace = (launch.plan->namespaces & CLONE_NEWCGROUP) != 0;
  const bool v2 = launch.hand_down >= 0;
  // The namespace's root is where we are then: the sandbox's group, with its work below.
  const size_t here = v2 ? 0 : launch.join_count - launch.leave_count - 1;
  for (size_t i = 0; i < launch.join_count; ++i) {
    if (write(launch.joins[i], "0", 1) != 1) return false;
    if (i == here && own_namespace && unshare(CLONE_NEWCGROUP) != 0) return false;
  }
  if (!v2) return true;
  const size_t length = strlen(launch.hand_down_text);
  return write(launch.hand_down, launch.hand_down_text, length) == static_cast<ssize_t>(length);
}

ATOLL_IN_CHILD bool raise_loopback(int socket) {
  ifreq request{};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return ioctl(socket, SIOCSIFFLAGS, &request) == 0;
}

ATOLL_IN_CHILD bool raise_loopback() {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool up = raise_loopback(fd);
  close(fd);
  return up;
}

ATOLL_IN_CHILD bool hold_only(const Plan& plan) {
  const uint64_t capabilities = plan.agent_capabilities;
  for (int i = 0; i <= 63; ++i) {
    if ((capabilities >> i & 1) != 0) continue;
    if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) == 0) continue;
    if (errno != EINVAL) return false;
    break;  // this kernel knows no more of them
  }
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  __user_cap_data_struct data[2]{};
  for (int half = 0; half < 2; ++half) {
    const auto bits = static_cast<uint32_t>(capabilities >> (32 * half));
    data[half].effective = data[half].permitted = data[half].inheritable = bits;
  }
  if (syscall(SYS_capset, &header, data) != 0) return false;
  for (int i = 0; i <= 63; ++i) {
    if ((capabilities >> i & 1) == 0) continue;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0) != 0) return false;
  }
  // runsc sheds capabilities and executes itself, by the rules for uid 0.
  return plan.sentry || prctl(PR_SET_SECUREBITS, kLockedBits, 0, 0, 0) == 0;
}

#ifdef ATOLL_WEAKENABLE
ATOLL_IN_CHILD bool hold_all() {
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  __user_cap_data_struct data[2]{};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  for (auto& half : data) half.inheritable = half.permitted;
  if (syscall(SYS_capset, &header, data) != 0) return false;
  for (int i = 0; i <= CAP_LAST_CAP; ++i) prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0);
  return true;
}
#endif

struct [[gnu::packed]] PathBeneath {
  uint64_t allowed;
  int32_t parent;
};

ATOLL_IN_CHILD bool allow(const BoxLaunch& launch, int fd, FileAccess access) {
  struct stat info{};
  if (fstat(fd, &info) != 0) return false;
  PathBeneath rule{landlock_rights(access, launch.landlock_abi, S_ISDIR(info.st_mode)), fd};
  return syscall(SYS_landlock_add_rule, launch.landlock, 1, &rule, 0) == 0;
}

ATOLL_IN_CHILD bool apply_landlock(const BoxLaunch& launch, const Placement& placement,
                                   size_t first_made) {
  for (const auto& rule : launch.plan->landlock) {
    const int fd = open(rule.path.c_str(), O_PATH | O_CLOEXEC);
    if (fd < 0) {
      if (errno == ENOENT) continue;
      return false;
    }
    const bool added = allow(launch, fd, rule.access);
    close(fd);
    if (!added) return false;
  }
  // What the agent alone has open.
  if (!allow(launch, launch.program, FileAccess::read_execute)) return false;
  for (size_t i = 0; i < launch.work_group_count; ++i) {
    if (!allow(launch, launch.work_groups[i], FileAccess::read_write)) return false;
  }
  for (size_t i = first_made; i < placement.count; ++i) {
    if (!allow(launch, placement.fds[i], FileAccess::read_write)) return false;
  }
  return syscall(SYS_landlock_restrict_self, launch.landlock, 0) == 0;
}

// What is made for the sandbox belongs to its root from the beginning, and need not be given away
// entry by entry; and a mount that translates ids takes no file of somebody whom the sandbox does
// not know, the host's root included. What that root may do stays: the new ids are for files alone.
ATOLL_IN_CHILD bool make_files_as_sandbox(uint32_t first_id) {
  if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) != 0) return false;
  setfsgid(first_id);
  setfsuid(first_id);
  return true;
}

// Returns the settings of the user namespace in the sandbox's own /proc, before they are covered.
// The host's /proc keeps an entry for every namespace that ever asked, all under one name, and
// looks through them one by one.
ATOLL_IN_CHILD int build_root(BoxLaunch& launch, Placement& placement) {
  const Plan& plan = *launch.plan;
  int settings = -1;
  const bool shares = launch.shared_root >= 0;
  if ((shares ? enter_shared(launch) : enter_stage()) != 0) fail(launch, BoxStage::stage);
  for (size_t i = shares ? plan.shared_steps : 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (step.kind == StepKind::move_into_root) {
      const int told = open_on_stage(plan.told.c_str());
      if (told < 0 || !put_aside(placement, told)) fail(launch, BoxStage::descriptors);
      for (const auto& copy : plan.copy_on_write) {
        const int upper = open_on_stage(copy.upper.c_str());
        const int lower = open_on_stage(copy.lower.c_str());
        if (upper < 0 || lower < 0 || !put_aside(placement, upper) ||
            !put_aside(placement, lower)) {
          fail(launch, BoxStage::descriptors);
        }
      }
    }
    if (carry_out(launch, step) != 0) fail(launch, BoxStage::step, step.target.c_str());
    if (step.kind == StepKind::proc) settings = open_on_stage("root/proc/sys/user");
  }
  return settings;
}

ATOLL_IN_CHILD int child_main(void* argument) {
  BoxLaunch& launch = *static_cast<BoxLaunch*>(argument);
  const Plan& plan = *launch.plan;
  const bool rootless = plan.authority == Authority::rootless;

  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setsid();
  umask(0);

  // Only now a table of descriptors of our own, without what lies above.
  if (syscall(SYS_close_range, launch.first_not_copied, ~0U, CLOSE_RANGE_UNSHARE) != 0)
    fail(launch, BoxStage::descriptors);
  Placement placement{};
  for (size_t i = 0; i < launch.given_count; ++i) {
    if (!put_aside(placement, launch.given[i])) fail(launch, BoxStage::descriptors);
  }
  const size_t first_made = placement.count;
  const int program = copy_aside(launch.program);
  if (program < 0) fail(launch, BoxStage::descriptors);
#ifdef ATOLL_WEAKENABLE
  if (plan.without.has(Layer::descriptors)) {
    static_cast<void>(fcntl(open("/", O_RDONLY | O_DIRECTORY), F_DUPFD, 200));
  }
#endif

  if (rootless && !map_ourselves(launch)) fail(launch, BoxStage::identity);
  if (launch.join_count > 0) {
    if (!join_cgroups(launch)) fail(launch, BoxStage::cgroup);
  } else if ((plan.namespaces & CLONE_NEWCGROUP) != 0 && unshare(CLONE_NEWCGROUP) != 0) {
    fail(launch, BoxStage::cgroup);
  }
  if (launch.network != nullptr) {
    if (setns(launch.network->get(), CLONE_NEWNET) != 0) fail(launch, BoxStage::network);
  } else if ((plan.namespaces & CLONE_NEWNET) != 0 && !raise_loopback()) {
    fail(launch, BoxStage::network);
  }
  if ((plan.namespaces & CLONE_NEWUTS) != 0 &&
      sethostname(plan.hostname.c_str(), plan.hostname.size()) != 0) {
    fail(launch, BoxStage::hostname);
  }
  int settings = -1;
  if ((plan.namespaces & CLONE_NEWNS) != 0 && !plan.without.has(Layer::root)) {
    if (!rootless && !make_files_as_sandbox(launch.first_id)) fail(launch, BoxStage::identity);
    settings = build_root(launch, placement);
  }

  if (launch.user_namespace >= 0) {
    if (setns(launch.user_namespace, CLONE_NEWUSER) != 0) fail(launch, BoxStage::user_namespace);
    // By system call: the library's functions would tell every thread of the launcher to follow.
    if (syscall(SYS_setgroups, 0, nullptr) != 0 || syscall(SYS_setresgid, 0, 0, 0) != 0 ||
        syscall(SYS_setresuid, 0, 0, 0) != 0) {
      fail(launch, BoxStage::identity);
    }
    const bool own = settings >= 0;
    // A second kernel puts its own processes into some.
    if (!write_text(own ? "max_user_namespaces" : kMostNamespaces, plan.sentry ? "16" : "0",
                    own ? settings : AT_FDCWD))
      fail(launch, BoxStage::user_namespace);
  }
  const rlimit no_core{0, 0};
  if (!plan.without.has(Layer::rlimits) && setrlimit(RLIMIT_CORE, &no_core) != 0) {
    fail(launch, BoxStage::identity);
  }
  if (!plan.without.has(Layer::capabilities) && !hold_only(plan)) {
    fail(launch, BoxStage::capabilities);
  }
#ifdef ATOLL_WEAKENABLE
  // A user other than root keeps nothing across exec unless it is ambient.
  if (plan.without.has(Layer::capabilities) && rootless && !hold_all()) {
    fail(launch, BoxStage::capabilities);
  }
#endif
  if (!plan.without.has(Layer::no_new_privileges) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    fail(launch, BoxStage::no_new_privileges);
  }
  if (launch.landlock >= 0 && !apply_landlock(launch, placement, first_made)) {
    fail(launch, BoxStage::landlock);
  }

  for (size_t i = 0; i < placement.count; ++i) {
    if (dup2(placement.fds[i], kAgentConnection + static_cast<int>(i)) < 0) {
      fail(launch, BoxStage::descriptors);
    }
  }
  if (!plan.without.has(Layer::descriptors)) {
    const auto first = static_cast<unsigned>(kAgentConnection + static_cast<int>(placement.count));
    if (syscall(SYS_close_range, first, static_cast<unsigned>(program - 1), 0U) != 0 ||
        syscall(SYS_close_range, static_cast<unsigned>(program + 1), ~0U, 0U) != 0) {
      fail(launch, BoxStage::descriptors);
    }
  }
  static char name[] = "atoll-agent";
  static char* const argv[] = {name, nullptr};
  static char* const environment[] = {nullptr};
  syscall(SYS_execveat, program, "", argv, environment, AT_EMPTY_PATH);
  fail(launch, BoxStage::exec);
}

int highest_descriptor(const BoxLaunch& launch) {
  int highest = std::max({launch.program, launch.shared_root, launch.shared_stage,
                          launch.user_namespace, launch.hand_down, launch.landlock,
                          launch.network != nullptr ? launch.network->get() : -1});
  const auto look = [&](const int* fds, size_t count) {
    for (size_t i = 0; i < count; ++i) highest = std::max(highest, fds[i]);
  };
  look(launch.given, launch.given_count);
  look(launch.joins, launch.join_count);
  look(launch.work_groups, launch.work_group_count);
  for (size_t i = 0; i < launch.tree_count; ++i)
    highest = std::max(highest, launch.trees[i].descriptor);
  return highest;
}

}  // namespace

Result<StartedAgent> start_box(BoxLaunch& launch) {
  // One stack serves every child, because the parent stands still until the child has left it.
  static char* const stack =
      static_cast<char*>(mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0));
  if (stack == MAP_FAILED) return os_error("allocating a stack");
  // The cgroup namespace comes when the child is where it belongs; the user namespace is entered at
  // the end, or, without root, is what everything else needs.
  uint64_t flags = launch.plan->namespaces & ~static_cast<uint64_t>(CLONE_NEWCGROUP);
  if (launch.plan->authority == Authority::root) flags &= ~static_cast<uint64_t>(CLONE_NEWUSER);
  // The host's mounts, which may be many, need not be copied only to be left.
  if (launch.shared_root >= 0) flags &= ~static_cast<uint64_t>(CLONE_NEWNS);
  if (launch.network != nullptr) {
    flags &= ~static_cast<uint64_t>(CLONE_NEWNET);
    if (!*launch.network) *launch.network = make_network(launch.home_network);
    if (!*launch.network) return os_error("making a network namespace");
  }

  sigset_t all, saved;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &saved);
  int pidfd = -1;
  flags |= CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_PIDFD | SIGCHLD;
  launch.first_not_copied = std::max(kNotForChildren, highest_descriptor(launch) + 1);
  const pid_t pid =
      clone(child_main, stack + kStackBytes, static_cast<int>(flags), &launch, &pidfd);
  const int failure = errno;
  sigprocmask(SIG_SETMASK, &saved, nullptr);
  if (pid < 0) return os::process_error(failure, "making the sandbox's namespaces");
  StartedAgent started{pid, Fd(pidfd)};
  if (launch.failed_at == BoxStage::none) return started;
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  std::string what = to_text(launch.failed_at);
  if (launch.subject[0] != 0) what += std::string(" ") + launch.subject;
  return os_error_from(launch.failure, what);
}

Fd make_network(int home) {
  if (unshare(CLONE_NEWNET) != 0) return {};
  const Fd inside(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const bool is_up = inside && raise_loopback(inside.get());
  Fd made(is_up ? ioctl(inside.get(), SIOCGSKNS) : -1);
  const int failure = errno;
  // Whatever is made next must not find itself in a sandbox's.
  if (setns(home, CLONE_NEWNET) != 0) std::abort();
  errno = failure;
  return made;
}

const char* to_text(BoxStage stage) { return kStageTexts[static_cast<int>(stage)]; }

}  // namespace atl::native
