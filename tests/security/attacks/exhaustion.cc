// Uses up what sandbox and host share. Bounded: twice the limit, or a few hundred, and no more.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <vector>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

constexpr long kMib = 1 << 20;

std::string amount(long number, const char* of) { return std::to_string(number) + " " + of; }

// Writes until the limit is passed twice, or the disk is full.
Outcome fill(const std::string& directory, long limit_mib) {
  const std::string path = directory + "/atoll-fill";
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return denied("create " + path);
  const std::vector<char> block(kMib, 'x');
  long written = 0;
  int error = 0;
  while (written < 2 * limit_mib) {
    const ssize_t got = write(file, block.data(), block.size());
    if (got != kMib) {
      error = got < 0 ? errno : ENOSPC;
      break;
    }
    ++written;
  }
  // Pages that were never written back are no disk.
  if (error == 0 && fsync(file) != 0) error = errno;
  close(file);
  unlink(path.c_str());
  if (error != 0) return denied(error, amount(written, "MiB in ") + directory);
  return reached(amount(written, "MiB in ") + directory);
}

// Makes empty files until the limit is passed twice, or no more can be made.
Outcome make_files(long limit) {
  const std::string directory = scratch();
  long made = 0;
  int error = 0;
  while (made < 2 * limit) {
    const std::string path = directory + "/" + std::to_string(made);
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) {
      error = errno;
      break;
    }
    close(file);
    ++made;
  }
  for (long number = 0; number < made; ++number) {
    unlink((directory + "/" + std::to_string(number)).c_str());
  }
  rmdir(directory.c_str());
  if (error != 0) return denied(error, amount(made, "files"));
  return reached(amount(made, "files"));
}

}  // namespace

ATTACK(fork_bomb, .title = "a fork bomb", .dossier = 35, .setting = Setting::limited,
       .stopped_by = Layer::cgroups, .rootless = Layer::rlimits) {
  const long limit = told_number("LIMIT_PIDS", 64);
  std::vector<pid_t> children;
  int error = 0;
  while (static_cast<long>(children.size()) < 2 * limit) {
    const pid_t child = fork();
    if (child < 0) {
      error = errno;
      break;
    }
    if (child == 0) {
      pause();
      _exit(0);
    }
    children.push_back(child);
  }
  const auto made = static_cast<long>(children.size());
  for (const pid_t child : children) kill(child, SIGKILL);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  if (error != 0) return denied(error, amount(made, "processes"));
  return reached(amount(made, "processes"));
}

ATTACK(memory_bomb, .title = "use up the memory", .dossier = 36, .setting = Setting::limited,
       .stopped_by = Layer::cgroups, .rootless = Layer::rlimits) {
  const long limit = told_number("LIMIT_MEMORY_MIB", 64);
  const int answer = in_child([&] {
    for (long done = 0; done < 2 * limit; ++done) {
      void* page = mmap(nullptr, kMib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (page == MAP_FAILED) return ENOMEM;
      for (long at = 0; at < kMib; at += 4096) static_cast<volatile char*>(page)[at] = 1;
    }
    return 0;
  });
  if (answer != 0) return denied(answer, "touch twice the memory");
  return reached(amount(2 * limit, "MiB of memory"));
}

ATTACK(tmpfs_bomb, .title = "use up the memory with files", .dossier = 36,
       .setting = Setting::limited, .stopped_by = Layer::cgroups, .rootless = kNoControl) {
  const long limit = told_number("LIMIT_MEMORY_MIB", 64);
  Outcome last = denied(ENOENT, "nowhere to write");
  for (const char* place : {"/dev/shm", "/tmp"}) {
    if (access(place, W_OK) != 0) continue;
    last = fill(place, limit);
    if (last.kind == Outcome::Kind::reached) return last;
  }
  return last;
}

ATTACK(disk_fill, .title = "fill the disk", .dossier = 38, .setting = Setting::limited,
       .stopped_by = Layer::root) {
  return fill(".", told_number("LIMIT_DISK_MIB", 16));
}

ATTACK(inode_fill, .title = "use up the inodes", .dossier = 38, .setting = Setting::limited,
       .stopped_by = Layer::root) {
  return make_files(told_number("LIMIT_INODES", 32'768));
}

// The same for a sandbox whose files are in the storage pool.
ATTACK(pool_fill, .title = "fill the storage pool", .dossier = 38, .setting = Setting::limited,
       .stopped_by = Layer::root) {
  return fill(".", told_number("LIMIT_DISK_MIB", 16));
}

// There the quota counts no files, but each takes more than 256 bytes of metadata from it. On the
// host's own disk the kernel's memory for so many counts as the sandbox's, and ends it as well.
ATTACK(pool_files, .title = "use up the storage pool with empty files", .dossier = 38,
       .setting = Setting::limited, .stopped_by = Layer::root | Layer::cgroups) {
  constexpr long kFilesPerMib = kMib / 256;
  return make_files(told_number("LIMIT_DISK_MIB", 8) * kFilesPerMib / 2);
}

ATTACK(cpu_spin, .title = "use up the processors", .dossier = 39, .setting = Setting::limited,
       .stopped_by = Layer::cgroups) {
  using Clock = std::chrono::steady_clock;
  const double limit = static_cast<double>(told_number("LIMIT_CPU_PERCENT", 10)) / 100;
  const auto begun = Clock::now();
  std::vector<pid_t> children;
  for (int number = 0; number < 2; ++number) {
    const pid_t child = fork();
    if (child == 0) {
      while (Clock::now() < begun + std::chrono::seconds(1)) {
      }
      _exit(0);
    }
    if (child > 0) children.push_back(child);
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  const double wall = std::chrono::duration<double>(Clock::now() - begun).count();
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const double cpu = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                     static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  const long percent = static_cast<long>(100 * cpu / wall);
  // Twice the limit is far beyond what the bandwidth controller's periods explain.
  if (cpu / wall > 2 * limit) return reached(amount(percent, "% of a processor"));
  return denied(0, amount(percent, "% of a processor"));
}

ATTACK(real_time, .title = "real-time priority", .dossier = 39, .user = User::root,
       .stopped_by = Layer::capabilities | Layer::user_namespace | Layer::cgroups) {
  const sched_param wish{.sched_priority = 1};
  if (sched_setscheduler(0, SCHED_FIFO, &wish) != 0) return denied("sched_setscheduler(FIFO)");
  const sched_param back{.sched_priority = 0};
  sched_setscheduler(0, SCHED_OTHER, &back);
  return reached("SCHED_FIFO");
}

ATTACK(high_priority, .title = "a priority above everyone", .dossier = 39, .user = User::root,
       .stopped_by = Layer::capabilities | Layer::user_namespace) {
  if (setpriority(PRIO_PROCESS, 0, -20) != 0) return denied("setpriority");
  setpriority(PRIO_PROCESS, 0, 0);
  return reached("nice -20");
}

ATTACK(descriptor_exhaustion, .title = "use up descriptors", .dossier = 37,
       .setting = Setting::limited, .stopped_by = Layer::rlimits) {
  const long limit = told_number("LIMIT_FILES", 8'192);
  rlimit wish{};
  getrlimit(RLIMIT_NOFILE, &wish);
  wish.rlim_cur = wish.rlim_max;
  setrlimit(RLIMIT_NOFILE, &wish);
  long made = 0;
  while (made < 2 * limit && dup(1) >= 0) ++made;
  if (made < 2 * limit) return denied(amount(made, "descriptors"));
  return reached(amount(made, "descriptors"));
}

// The host then looks whether its user 1000 can still watch files.
ATTACK(inotify_exhaustion, .title = "use up inotify of the host's user 1000", .dossier = 37,
       .setting = Setting::held, .stopped_by = Layer::user_namespace) {
  long made = 0;
  int error = 0;
  const auto take = [&] {
    while (made < 1'024 && inotify_init1(IN_CLOEXEC) >= 0) ++made;
    error = errno;
  };
  take();
  hold(amount(made, "inotify instances"), take);
  return denied(error, amount(made, "inotify instances"));
}

ATTACK(terminal_exhaustion, .title = "use up the host's terminals", .dossier = 37,
       .stopped_by = Layer::root) {
  constexpr long kMany = 128;
  long made = 0;
  while (made < kMany && open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC) >= 0) ++made;
  if (made < kMany) return denied(amount(made, "terminals"));
  return reached(amount(made, "terminals"));
}

ATTACK(core_limit, .title = "raise the limit of core dumps", .stopped_by = Layer::rlimits) {
  const rlimit wish{.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
  if (setrlimit(RLIMIT_CORE, &wish) != 0) return denied("setrlimit(RLIMIT_CORE)");
  return reached("core dumps");
}

// Below zero the kernel kills others first when memory is short.
ATTACK(
    oom_score_own, .title = "never be the one to die without memory", .user = User::root,
    .stopped_by = Layer::capabilities | Layer::user_namespace, .missing = [] {
      const bool may = (effective_capabilities() >> 24 & 1) != 0;
      return std::string(may ? "" : "this host's root lacks CAP_SYS_RESOURCE");
    }) {
  const auto before = read_all("/proc/self/oom_score_adj");
  if (!write_all("/proc/self/oom_score_adj", "-1000")) return denied("write oom_score_adj");
  write_all("/proc/self/oom_score_adj", before.value_or("0"));
  return reached("oom_score_adj -1000");
}
