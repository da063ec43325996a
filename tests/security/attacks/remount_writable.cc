// Takes read-only away from the root and from a mask of /proc, as a race against the runtime that
// remounts them would (CVE-2025-31133 and -52565 end in the same place). Nothing is written.
#include <sys/mount.h>
#include <sys/statvfs.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

ATTACK(remount_writable, .title = "remount the root writable", .cve = "CVE-2025-52565",
       .user = User::root, .stopped_by = kMountCall,
       .rootless = Layer::seccomp | Layer::capabilities | Layer::landlock) {
  if (!has_own_mounts()) return not_applicable("these are the host's own mounts");
  struct statvfs before{};
  if (statvfs("/", &before) != 0) return denied("statvfs");
  const bool was_read_only = (before.f_flag & ST_RDONLY) != 0;
  const unsigned long kept = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV;
  if (mount(nullptr, "/", nullptr, kept, nullptr) != 0) return denied("remount");
  if (was_read_only) mount(nullptr, "/", nullptr, kept | MS_RDONLY, nullptr);
  return reached("/ remounted without read-only");
}
