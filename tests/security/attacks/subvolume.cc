// Makes a subvolume inside of the sandbox's own in the storage pool: it would have a quota of its
// own, which is none. btrfs lets everybody do so who may write to a directory; the filter does not.
#include <fcntl.h>
#include <linux/btrfs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

// Without these the host has no storage pool, and the files of a sandbox are in memory.
std::string missing_pool() {
  for (const char* path : {"/dev/loop-control", "/usr/sbin/mkfs.btrfs"}) {
    if (auto missing = missing_file(path); !missing.empty()) return missing;
  }
  return "";
}

}  // namespace

ATTACK(pool_subvolume, .title = "a subvolume without a quota", .dossier = 38,
       .setting = Setting::limited, .stopped_by = Layer::seccomp, .rootless = kNoControl,
       .missing = missing_pool) {
  const int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (here < 0) return denied("open .");
  btrfs_ioctl_vol_args wanted{};
  std::strcpy(wanted.name, "atoll-nested");
  const bool made = ioctl(here, BTRFS_IOC_SUBVOL_CREATE, &wanted) == 0;
  const int error = errno;
  if (made) rmdir(wanted.name);
  close(here);
  return made ? reached("a subvolume of its own") : denied(error, "BTRFS_IOC_SUBVOL_CREATE");
}
