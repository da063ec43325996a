// The plain way: files of the host by their names.
#include <fcntl.h>
#include <unistd.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

ATTACK(secret_file, .title = "read a file of the host", .dossier = 30, .stopped_by = Layer::root) {
  const auto secret = read_all(told("SECRET"));
  if (secret != canary()) return denied("read the host's file");
  return reached("a file of the host");
}

ATTACK(secret_of_root, .title = "read a file of the host's root", .dossier = 30, .user = User::root,
       .stopped_by = Layer::root | Layer::user_namespace) {
  const auto secret = read_all(told("SECRET_ROOT"));
  if (secret != canary()) return denied("read the file of root");
  return reached("a file of the host's root");
}

ATTACK(write_outside, .title = "write a file of the host", .dossier = 30,
       .stopped_by = Layer::root | Layer::landlock) {
  const std::string path = told("OUTSIDE") + "/written";
  if (!write_all(path, canary())) return denied("write " + path);
  return reached("a file on the host");
}

// Where users keep keys, and where the engine keeps its own.
ATTACK(home_of_root, .title = "list the home of the host's root", .user = User::root,
       .stopped_by = Layer::root | Layer::user_namespace) {
  const std::string path = told("SECRET_ROOT");
  const std::string directory = path.substr(0, path.rfind('/'));
  if (!can_open(directory, O_RDONLY | O_DIRECTORY)) return denied("open " + directory);
  return reached(directory + " can be listed");
}

ATTACK(
    sysfs_read, .title = "read the host's /sys", .stopped_by = Layer::root,
    .missing = [] { return missing_file("/sys/kernel/mm"); }) {
  if (!can_open("/sys/kernel/mm", O_RDONLY | O_DIRECTORY)) return denied("open /sys/kernel/mm");
  return reached("/sys can be read");
}

// Whoever may write this leaves its limits behind.
ATTACK(cgroup_files, .title = "leave its cgroup", .user = User::root,
       .stopped_by = Layer::root | Layer::user_namespace | Layer::landlock) {
  for (const char* path : {"/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/pids/cgroup.procs",
                           "/sys/fs/cgroup/unified/cgroup.procs"}) {
    if (can_open(path, O_WRONLY)) return reached(std::string(path) + " can be written");
  }
  return denied("open cgroup.procs");
}
