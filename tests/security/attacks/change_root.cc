// Another root: chroot, the classic way out of a chroot, and pivot_root. Where the root was made
// with pivot_root there is nothing above it; where it is only a chroot, `..` climbs out.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

ATTACK(chroot_call, .title = "chroot", .dossier = 7, .user = User::root,
       .stopped_by = Layer::seccomp | Layer::capabilities) {
  if (chroot(scratch().c_str()) != 0) return denied("chroot");
  return reached("a root of its own");
}

ATTACK(chroot_escape, .title = "climb out of the root by chroot and ..", .dossier = 7,
       .user = User::root, .stopped_by = Layer::seccomp | Layer::capabilities | Layer::root) {
  const int before = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  const std::string below = scratch();
  if (chroot(below.c_str()) != 0) return denied("chroot");
  if (fchdir(before) != 0) return denied("fchdir");
  for (int step = 0; step < 64; ++step) {
    if (chdir("..") != 0) return denied("chdir ..");
  }
  if (chroot(".") != 0) return denied("chroot .");
  const auto secret = read_all(told("SECRET"));
  if (secret != canary()) return denied("the host's files from the outermost root");
  return reached("the host's root by chroot");
}

// With root as both arguments it fails with EBUSY behind the permission check, and changes nothing.
ATTACK(pivot_root_call, .title = "pivot_root", .dossier = 7, .user = User::root,
       .stopped_by = kMountCall,
       .rootless = Layer::seccomp | Layer::capabilities | Layer::landlock) {
  syscall(SYS_pivot_root, "/", "/");
  if (errno != EBUSY && errno != EINVAL) return denied("pivot_root");
  return reached("pivot_root may be called");
}

// The whole way: `..` and an absolute path, for those who left something mounted above.
ATTACK(climb_out, .title = "climb out of the root with ..", .dossier = 30,
       .stopped_by = Layer::root) {
  std::string path;
  for (int step = 0; step < 64; ++step) path += "../";
  const auto secret = read_all(path + told("SECRET"));
  if (secret != canary()) return denied("../../… and the host's file");
  return reached("the host's files by ..");
}
