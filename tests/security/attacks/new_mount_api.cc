// The mount API of kernel 5.2: the same power as mount(2) by other numbers, which older filters do
// not know. Landlock watches move_mount only; the rest is up to filter, capabilities and user
// namespace.
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

constexpr Layers kRootless = Layer::seccomp | Layer::capabilities;

// A detached tmpfs, or -1.
int detached_tmpfs() {
  const long context = syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
  if (context < 0) return -1;
  int made = -1;
  if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0) {
    made = static_cast<int>(syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0));
  }
  const int error = errno;
  close(static_cast<int>(context));
  errno = error;
  return made;
}

}  // namespace

ATTACK(fsopen_tmpfs, .title = "make a detached tmpfs", .dossier = 2, .user = User::root,
       .stopped_by = kPrivilegedCall, .rootless = kRootless) {
  const int tmpfs = detached_tmpfs();
  if (tmpfs < 0) return denied("fsopen, fsconfig, fsmount");
  close(tmpfs);
  return reached("a detached tmpfs");
}

ATTACK(open_tree_clone, .title = "clone the mount of the root", .dossier = 2, .user = User::root,
       .stopped_by = kPrivilegedCall, .rootless = kRootless) {
  const long tree =
      syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
  if (tree < 0) return denied("open_tree");
  close(static_cast<int>(tree));
  return reached("a detached copy of /");
}

ATTACK(move_mount_tmpfs, .title = "attach a detached tmpfs", .dossier = 2, .user = User::root,
       .stopped_by = kMountCall, .rootless = kRootless | Layer::landlock) {
  const int tmpfs = detached_tmpfs();
  if (tmpfs < 0) return denied("fsopen, fsconfig, fsmount");
  const std::string target = scratch();
  if (syscall(SYS_move_mount, tmpfs, "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0) {
    return denied("move_mount");
  }
  syscall(SYS_umount2, target.c_str(), 2 /* MNT_DETACH */);
  return reached("a tmpfs on " + target);
}

ATTACK(mount_setattr_writable, .title = "make the root writable with mount_setattr", .dossier = 2,
       .user = User::root, .stopped_by = kPrivilegedCall, .rootless = kRootless) {
  struct statvfs before{};
  statvfs("/", &before);
  mount_attr change{.attr_clr = MOUNT_ATTR_RDONLY};
  if (syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &change, sizeof change) != 0) {
    return denied("mount_setattr");
  }
  if ((before.f_flag & ST_RDONLY) != 0) {
    mount_attr back{.attr_set = MOUNT_ATTR_RDONLY};
    syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &back, sizeof back);
  }
  return reached("/ can be made writable");
}
