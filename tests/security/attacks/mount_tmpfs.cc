// Mounts a file system of its own. Needs CAP_SYS_ADMIN over the mount namespace, which belongs to
// the host's user namespace; the filter and Landlock refuse the call besides.
#include <sys/mount.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

ATTACK(mount_tmpfs, .title = "mount a tmpfs", .dossier = 1, .user = User::root,
       .stopped_by = kMountCall,
       .rootless = Layer::seccomp | Layer::capabilities | Layer::landlock) {
  const std::string target = scratch();
  if (mount("none", target.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "size=64k") != 0) {
    return denied("mount tmpfs");
  }
  umount2(target.c_str(), MNT_DETACH);
  return reached("a tmpfs on " + target);
}
