#include "native/launcher/storage_pool.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/bytes.h"
#include "native/launcher_protocol.h"
#include "os/file.h"
#include "os/socket.h"

namespace atl::native {
namespace {

btrfs_ioctl_vol_args_v2 named(const std::string& id) {
  btrfs_ioctl_vol_args_v2 arguments{};
  id.copy(arguments.name, sizeof arguments.name - 1);
  return arguments;
}

// Not the caller's fault, whatever errno says: a pool whose disk fails turns read-only.
Error broken(const char* what) {
  return Error(Code::unavailable, os_error(what).message(), errno)
      .with_hint(
          "if the host's disk was full or fails, repair that; a new pool is made once no sandbox "
          "is "
          "in this one. A --disk of at most half the --memory needs no pool");
}

}  // namespace

Result<PoolWorker> start_pool_worker(int program) {
  TRY(auto ends, os::socket_pair(os::SocketKind::packets));
  const pid_t pid = fork();
  if (pid < 0) return os_error("starting atoll-pool");
  if (pid == 0) {
    static char name[] = "atoll-pool";
    static char* const argv[] = {name, nullptr};
    if (dup2(ends.second.get(), 0) == 0)
      syscall(SYS_execveat, program, "", argv, argv + 1, AT_EMPTY_PATH);
    std::fprintf(stderr, "atoll-launcher: %s\n",
                 os_error("executing atoll-pool").message().c_str());
    _exit(127);
  }
  return PoolWorker{pid, std::move(ends.first)};
}

Result<> StoragePool::open(std::string_view answer, std::vector<Fd> descriptors) {
  ByteReader reader(answer);
  const uint8_t failed = reader.u8();
  const std::string text(reader.text());
  const std::string hint(reader.text());
  if (!reader.finish() || failed > static_cast<uint8_t>(Code::out_of_space) + 1 ||
      descriptors.size() != (failed == 0 ? 1 : 0)) {
    return Error(Code::internal, "atoll-pool ended without an answer")
        .with_hint(std::string(kLauncherLog) + " in the run directory may tell why");
  }
  if (failed > 0) return Error(static_cast<Code>(failed - 1), text).with_hint(hint);
  TRY(auto top, os::open_at(descriptors[0].get(), ".", O_RDONLY | O_DIRECTORY));
  struct statvfs space{};
  if (fstatvfs(top.get(), &space) != 0) return broken("looking at the storage pool");
  capacity_ = static_cast<uint64_t>(space.f_blocks) * space.f_frsize / 10 * 9;
  device_ = text;
  mount_ = std::move(descriptors[0]);
  top_ = std::move(top);
  for (const auto& name : os::names_in(top_.get())) {
    if (!sandboxes_.contains(name)) TRY_OK(destroy(name));
  }
  return {};
}

Result<Fd> StoragePool::create(const std::string& id, uint64_t bytes) {
  uint64_t left = capacity_;
  for (const auto& [other, promised] : sandboxes_) left -= std::min(left, promised);
  if (bytes > left) {
    return Error(Code::resource_exhausted, "the storage pool has " + std::to_string(left >> 20) +
                                               " MiB left to give, not " +
                                               std::to_string(bytes >> 20))
        .with_hint("ask for a smaller --disk, end sandboxes that have one, or free space");
  }
  auto made = make(id, bytes);
  if (made) {
    sandboxes_[id] = bytes;
  } else {
    static_cast<void>(destroy(id));
    // A broken pool that nobody uses goes, and the next sandbox gets a new one.
    if (sandboxes_.empty()) *this = StoragePool();
  }
  return made;
}

Result<Fd> StoragePool::make(const std::string& id, uint64_t bytes) {
  auto arguments = named(id);
  if (ioctl(top_.get(), BTRFS_IOC_SUBVOL_CREATE_V2, &arguments) != 0)
    return broken("making a place in the storage pool");
  TRY(const auto place, os::open_at(top_.get(), id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  btrfs_ioctl_qgroup_limit_args limit{};  // group 0 is that of the subvolume itself
  limit.lim.flags = BTRFS_QGROUP_LIMIT_MAX_RFER;
  limit.lim.max_rfer = bytes;
  if (fchmod(place.get(), 0755) != 0 || ioctl(place.get(), BTRFS_IOC_QGROUP_LIMIT, &limit) != 0)
    return broken("bounding a place in the storage pool");
  // A new mount of the same file system: older kernels clone no part of one that hangs nowhere.
  const Fd context(fsopen("btrfs", FSOPEN_CLOEXEC));
  const auto set = [&](const char* key, const std::string& value) {
    return fsconfig(context.get(), FSCONFIG_SET_STRING, key, value.c_str(), 0) == 0;
  };
  if (!context || !set("source", device_) || !set("subvol", id) ||
      fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return broken("opening a place in the storage pool");
  }
  Fd mount(fsmount(context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  if (!mount) return broken("mounting a place in the storage pool");
  return mount;
}

Result<> StoragePool::remove(const std::string& id) {
  if (sandboxes_.erase(id) == 0 || !is_open()) return {};
  return destroy(id);
}

Result<> StoragePool::destroy(const std::string& id) {
  auto arguments = named(id);
  if (ioctl(top_.get(), BTRFS_IOC_SNAP_DESTROY_V2, &arguments) != 0 && errno != ENOENT)
    return os_error("removing from the storage pool", id);
  return {};
}

}  // namespace atl::native
