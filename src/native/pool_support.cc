#include "native/pool_support.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "os/file.h"

namespace atl::native {
namespace {

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// Known already, or a module that the first mount loads.
bool kernel_has_btrfs() {
  const auto known = os::read_file(AT_FDCWD, "/proc/filesystems", 1 << 16);
  if (known && known->find("\tbtrfs\n") != std::string::npos) return true;
  utsname name{};
  uname(&name);
  const std::string module =
      std::string("/lib/modules/") + name.release + "/kernel/fs/btrfs/btrfs.ko";
  return exists(module) || exists(module + ".xz") || exists(module + ".zst");
}

}  // namespace

PoolObstacle find_pool_obstacle() {
  if (!kernel_has_btrfs()) return {"the kernel has no btrfs", "modprobe btrfs"};
  if (!exists("/dev/loop-control")) return {"the kernel has no loop devices", "modprobe loop"};
  if (find_mkfs_btrfs() == nullptr)
    return {"mkfs.btrfs is not installed", "apt install btrfs-progs"};
  return {};
}

const char* find_mkfs_btrfs() {
  for (const char* path : {"/usr/sbin/mkfs.btrfs", "/usr/bin/mkfs.btrfs", "/sbin/mkfs.btrfs"}) {
    if (access(path, X_OK) == 0) return path;
  }
  return nullptr;
}

}  // namespace atl::native
