// Device nodes: of the host's /dev, made anew, and one that lies in a shared directory. Only
// opened.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

struct Node {
  const char* path;
  int flags;
};
constexpr Node kNodes[] = {{"/dev/mem", O_RDONLY},   {"/dev/vda", O_RDONLY},
                           {"/dev/sda", O_RDONLY},   {"/dev/nvme0n1", O_RDONLY},
                           {"/dev/fuse", O_RDWR},    {"/dev/kvm", O_RDWR},
                           {"/dev/net/tun", O_RDWR}, {"/dev/loop-control", O_RDWR}};

}  // namespace

ATTACK(host_devices, .title = "open memory, disks, fuse, kvm, tun", .dossier = 21,
       .user = User::root, .stopped_by = Layer::root | Layer::user_namespace) {
  int error = ENOENT;
  for (const Node& node : kNodes) {
    if (can_open(node.path, node.flags)) return reached(std::string(node.path) + " can be opened");
    if (errno != ENOENT) error = errno;
  }
  return denied(error, "open /dev/mem and others");
}

ATTACK(
    dev_kmsg, .title = "read the kernel log by its device", .dossier = 21,
    .stopped_by = Layer::root, .missing = [] {
      const auto level = read_all("/proc/sys/kernel/dmesg_restrict");
      struct stat entry{};
      const bool for_all = stat("/dev/kmsg", &entry) == 0 && (entry.st_mode & 04) != 0;
      const bool open_log = for_all && level && (*level)[0] == '0';
      return std::string(open_log ? "" : "/dev/kmsg is not for everyone on this host");
    }) {
  if (!can_open("/dev/kmsg", O_RDONLY)) return denied("open /dev/kmsg");
  return reached("/dev/kmsg can be read");
}

// The node is that of /dev/zero: had, it harms nobody.
ATTACK(mknod_device, .title = "make a device node", .dossier = 22, .user = User::root,
       .stopped_by = Layer::capabilities | Layer::user_namespace) {
  const std::string node = scratch() + "/node";
  if (mknod(node.c_str(), S_IFCHR | 0666, makedev(1, 5)) != 0) return denied("mknod");
  unlink(node.c_str());
  return reached("a device node");
}

ATTACK(device_in_volume, .title = "open a device node in a shared directory",
       .stopped_by = Layer::root) {
  const std::string node = told("SHARED") + "/device";
  const int zero = open(node.c_str(), O_RDONLY | O_CLOEXEC);
  if (zero < 0) return denied("open " + node);
  char bytes[4] = {1, 1, 1, 1};
  const bool zeros = read(zero, bytes, sizeof bytes) == 4 && bytes[0] == 0 && bytes[3] == 0;
  close(zero);
  if (!zeros) return denied(ENODEV, "it is no device");
  return reached("a device of the host");
}
