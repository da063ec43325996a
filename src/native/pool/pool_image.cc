#include "native/pool/pool_image.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/loop.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/ids.h"
#include "base/text.h"
#include "native/launcher/storage_pool.h"
#include "native/pool_support.h"
#include "os/file.h"

namespace atl::native {
namespace {

// Below this btrfs has hardly room for anything but itself.
constexpr uint64_t kSmallestImage = 512ULL << 20;
constexpr uint64_t kMebibyte = 1ULL << 20;
constexpr const char* kElsewhere = "/var/tmp";
constexpr const char* kLoopControl = "/dev/loop-control";
constexpr int kAttachAttempts = 32;
constexpr size_t kTokenLength = 32;
// Kernel 6.7; the headers of Debian 12 are older.
constexpr uint64_t kEnableSimpleQuota = 4;

// Whether its files would be in memory, which nobody counts.
bool is_in_memory(int directory) {
  struct statfs info{};
  return fstatfs(directory, &info) == 0 &&
         (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC);
}

Result<Fd> open_image_directory(int run_directory) {
  if (!is_in_memory(run_directory)) return os::open_at(run_directory, ".", O_RDONLY | O_DIRECTORY);
  TRY(auto elsewhere, os::open_at(AT_FDCWD, kElsewhere, O_RDONLY | O_DIRECTORY));
  if (!is_in_memory(elsewhere.get())) return elsewhere;
  return Error(Code::unavailable, "there is no disk for the storage pool: the run directory and " +
                                      std::string(kElsewhere) + " are in memory")
      .with_hint("name a state directory on a disk: --state DIR");
}

Result<Fd> make_image(int directory) {
  struct statvfs space{};
  if (fstatvfs(directory, &space) != 0) return os_error("looking at the host's disk");
  const uint64_t free_bytes = static_cast<uint64_t>(space.f_bavail) * space.f_frsize;
  const uint64_t size = free_bytes / 10 * 9 / kMebibyte * kMebibyte;
  TRY(const auto path, os::path_of(directory));
  if (size < kSmallestImage) {
    return Error(Code::out_of_space, "the disk of " + path + " has " +
                                         std::to_string(free_bytes / kMebibyte) +
                                         " MiB left, too little for the storage pool")
        .with_hint(
            "free space there, or ask for a --disk of at most half the --memory, which "
            "needs no pool");
  }
  TRY(auto image, os::open_at(directory, ".", O_TMPFILE | O_RDWR, 0600));
  if (ftruncate(image.get(), static_cast<off_t>(size)) != 0)
    return os_error("sizing the storage pool in", path);
  return image;
}

// Fixed arguments, no environment, and no descriptor but the image and what it says.
Result<> format(int image) {
  const char* const program = find_mkfs_btrfs();
  if (program == nullptr) {
    return Error(Code::unavailable, "mkfs.btrfs is not installed")
        .with_hint("apt install btrfs-progs");
  }
  const Fd said(memfd_create("atoll-pool-said", MFD_CLOEXEC));
  if (!said) return os_error("making a memory file");
  const pid_t child = fork();
  if (child < 0) return os_error("starting mkfs.btrfs");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    const char* const arguments[] = {
        "mkfs.btrfs", "-q", "-f", "-K", "-m", "single", "-d", "single", "/proc/self/fd/0", nullptr};
    const char* const environment[] = {nullptr};
    if (dup2(image, 0) == 0 && dup2(said.get(), 1) == 1 && dup2(said.get(), 2) == 2) {
      execve(program, const_cast<char**>(arguments), const_cast<char**>(environment));
    }
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status == 0) return {};
  lseek(said.get(), 0, SEEK_SET);
  const auto text = os::read_open_file(said.get(), 4096);
  return Error(Code::unavailable, "mkfs.btrfs failed: " + to_printable(text ? *text : ""));
}

// Cleared by the kernel with its last user, which is this one until it is mounted.
struct LoopDevice {
  std::string path;
  Fd held;
};

// The token as its name tells a successor that it is ours.
Result<LoopDevice> attach(int image, const std::string& token) {
  TRY(const auto control, os::open_at(AT_FDCWD, kLoopControl, O_RDWR));
  for (int attempt = 0; attempt < kAttachAttempts; ++attempt) {
    const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return os_error("finding a loop device");
    const std::string path = "/dev/loop" + std::to_string(number);
    TRY(auto device, os::open_at(AT_FDCWD, path, O_RDWR));
    loop_config config{};
    config.fd = static_cast<uint32_t>(image);
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
    token.copy(reinterpret_cast<char*>(config.info.lo_file_name), LO_NAME_SIZE - 1);
    if (ioctl(device.get(), LOOP_CONFIGURE, &config) == 0)
      return LoopDevice{path, std::move(device)};
    // Somebody else was faster.
    if (errno != EBUSY) return os_error("attaching the image to", path);
  }
  return Error(Code::unavailable, "no loop device stays free");
}

Result<Fd> mount_pool(const std::string& device) {
  const Fd context(fsopen("btrfs", FSOPEN_CLOEXEC));
  if (!context) return os_error("opening btrfs").with_hint("modprobe btrfs");
  constexpr struct {
    const char* key;
    const char* value;
  } kOptions[] = {{"discard", "sync"}, {"nobarrier", nullptr}, {"commit", "5"}};
  bool fine = fsconfig(context.get(), FSCONFIG_SET_STRING, "source", device.c_str(), 0) == 0;
  for (const auto& [key, value] : kOptions) {
    const unsigned command = value == nullptr ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING;
    fine = fine && fsconfig(context.get(), command, key, value, 0) == 0;
  }
  if (!fine || fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return os_error("mounting the storage pool from", device);
  Fd mount(fsmount(context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  if (!mount) return os_error("mounting the storage pool from", device);
  return mount;
}

// Simple quotas count a block for whoever wrote it; full ones walk references with each commit.
Result<> enable_quotas(const Fd& mount) {
  TRY(const auto top, os::open_at(mount.get(), ".", O_RDONLY | O_DIRECTORY));
  btrfs_ioctl_quota_ctl_args wanted{};
  wanted.cmd = kEnableSimpleQuota;
  if (ioctl(top.get(), BTRFS_IOC_QUOTA_CTL, &wanted) == 0) return {};
  wanted.cmd = BTRFS_QUOTA_CTL_ENABLE;
  if (ioctl(top.get(), BTRFS_IOC_QUOTA_CTL, &wanted) != 0) return os_error("enabling quotas");
  // Counts what there is, which is nothing; before that is done no limit holds.
  if (ioctl(top.get(), BTRFS_IOC_QUOTA_RESCAN_WAIT, 0) != 0) return os_error("enabling quotas");
  return {};
}

// The pool of an earlier launcher, if it is still there: a device of any other token is not ours.
Result<OpenedPool> find_pool(int run_directory) {
  TRY(const auto text, os::read_file(run_directory, kPoolFile, 256));
  const auto words = split(text, ' ');
  if (words.size() != 2 || words[1].size() != kTokenLength)
    return Error(Code::invalid_argument, "what is noted about the storage pool is malformed");
  TRY(auto device, os::open_at(AT_FDCWD, words[0], O_RDWR | O_NOFOLLOW));
  loop_info64 info{};
  if (ioctl(device.get(), LOOP_GET_STATUS64, &info) != 0) return os_error("asking", words[0]);
  if (words[1] != reinterpret_cast<const char*>(info.lo_file_name))
    return Error(Code::not_found, words[0] + " is somebody else's");
  TRY(auto mount, mount_pool(words[0]));
  return OpenedPool{words[0], std::move(mount)};
}

}  // namespace

Result<OpenedPool> open_pool(int run_directory) {
  if (auto found = find_pool(run_directory)) return found;
  TRY(const auto directory, open_image_directory(run_directory));
  TRY(const auto image, make_image(directory.get()));
  TRY_OK(format(image.get()));
  const std::string token = random_name(kTokenLength);
  TRY(const auto device, attach(image.get(), token));
  TRY(auto mount, mount_pool(device.path));
  TRY_OK(enable_quotas(mount));
  TRY_OK(os::replace_file(run_directory, kPoolFile, device.path + " " + token, 0600));
  return OpenedPool{device.path, std::move(mount)};
}

}  // namespace atl::native
