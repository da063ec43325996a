#include "native/namespace_trial.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/fd.h"

namespace atl::native {
namespace {

int write_file(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const auto length = static_cast<ssize_t>(std::strlen(text));
  const int failure = write(fd, text, static_cast<size_t>(length)) == length ? 0 : errno;
  close(fd);
  return failure;
}

int map_ids(unsigned user, unsigned group) {
  char line[64];
  // Without this an ordinary user may not map groups at all.
  if (const int failed = write_file("/proc/self/setgroups", "deny")) return failed;
  std::snprintf(line, sizeof line, "0 %u 1\n", user);
  if (const int failed = write_file("/proc/self/uid_map", line)) return failed;
  std::snprintf(line, sizeof line, "0 %u 1\n", group);
  return write_file("/proc/self/gid_map", line);
}

int try_mounts() {
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno;
  return mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k") == 0 ? 0 : errno;
}

int try_overlay() {
  for (const char* name : {"/tmp/lower", "/tmp/upper", "/tmp/work", "/tmp/merged"}) {
    if (mkdir(name, 0700) != 0) return errno;
  }
  const char* options = "lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work,userxattr";
  return mount("overlay", "/tmp/merged", "overlay", 0, options) == 0 ? 0 : errno;
}

int try_loopback() {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
  request.ifr_flags = IFF_UP;
  const int failure = ioctl(fd, SIOCSIFFLAGS, &request) == 0 ? 0 : errno;
  close(fd);
  return failure;
}

void run_steps(NamespaceTrial& trial, unsigned user, unsigned group) {
  const auto note = [&](TrialStep step, int failure) {
    trial.failure[static_cast<int>(step)] = failure;
    return failure == 0;
  };
  constexpr int kOthers = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;
  if (!note(TrialStep::user_namespace, unshare(CLONE_NEWUSER) == 0 ? 0 : errno)) return;
  if (!note(TrialStep::id_map, map_ids(user, group))) return;
  if (!note(TrialStep::namespaces, unshare(kOthers) == 0 ? 0 : errno)) return;
  if (!note(TrialStep::mounts, try_mounts())) return;
  note(TrialStep::overlay, try_overlay());
  note(TrialStep::loopback, try_loopback());
}

}  // namespace

bool NamespaceTrial::works() const {
  return std::all_of(failure, failure + static_cast<int>(TrialStep::mounts) + 1,
                     [](int one) { return one == 0; });
}

TrialStep NamespaceTrial::broken_step() const {
  int step = 0;
  while (step < kTrialSteps - 1 && failure[step] == 0) ++step;
  return static_cast<TrialStep>(step);
}

std::string describe(TrialStep step) {
  constexpr const char* kWords[kTrialSteps] = {
      "making a user namespace",  "mapping ids into it", "making the other namespaces below it",
      "mounting a tmpfs in them", "mounting an overlay", "bringing the loopback device up"};
  return kWords[static_cast<int>(step)];
}

NamespaceTrial try_namespaces() {
  NamespaceTrial trial;
  std::fill(std::begin(trial.failure), std::end(trial.failure), ECANCELED);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return trial;
  Fd read_end(ends[0]), write_end(ends[1]);
  const unsigned user = geteuid(), group = getegid();
  const pid_t child = fork();
  if (child < 0) return trial;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    run_steps(trial, user, group);
    const bool told = write(ends[1], &trial, sizeof trial) == sizeof trial;
    _exit(told ? 0 : 1);
  }
  write_end.close();
  NamespaceTrial answer;
  const ssize_t got = read(read_end.get(), &answer, sizeof answer);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return got == sizeof answer ? answer : trial;
}

}  // namespace atl::native
