// New namespaces by unshare. A user namespace gives all capabilities inside it, and with them most
// of the kernel's attack surface; a mount namespace is then one's own to mount in.
#include <sched.h>
#include <sys/mount.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

ATTACK(unshare_user, .title = "a new user namespace by unshare", .dossier = 3,
       .stopped_by = Layer::seccomp | Layer::user_namespace, .rootless = kNoControl) {
  if (unshare(CLONE_NEWUSER) != 0) return denied("unshare(CLONE_NEWUSER)");
  return reached("a user namespace with all capabilities");
}

ATTACK(unshare_mount, .title = "a new mount namespace, and a mount in it", .dossier = 3,
       .user = User::root, .stopped_by = Layer::seccomp | Layer::capabilities | Layer::landlock) {
  if (unshare(CLONE_NEWNS) != 0) return denied("unshare(CLONE_NEWNS)");
  // Private first: nothing may show outside.
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return denied("private");
  if (mount("none", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k") != 0) {
    return denied("mount in the new namespace");
  }
  return reached("a mount namespace and a tmpfs in it");
}
