#include "agent/chroot_tree.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "os/file.h"
#include "os/tree_copy.h"

namespace atl::agent {
namespace {

struct Device {
  const char* name;
  unsigned major, minor;
};
constexpr Device kDevices[] = {{"null", 1, 3},   {"zero", 1, 5},    {"full", 1, 7},
                               {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0}};

struct Link {
  const char* name;
  const char* target;
};
constexpr Link kLinks[] = {{"fd", "/proc/self/fd"},
                           {"stdin", "/proc/self/fd/0"},
                           {"stdout", "/proc/self/fd/1"},
                           {"stderr", "/proc/self/fd/2"}};

bool may_enter_roots() {
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  __user_cap_data_struct held[2]{};
  if (syscall(SYS_capget, &header, held) != 0) return false;
  return (held[0].effective >> CAP_SYS_CHROOT & 1) != 0;
}

// Whoever we are stays who we are.
Result<> map_ourselves(uid_t uid, gid_t gid) {
  const auto line = [](uint32_t id) {
    return std::to_string(id) + " " + std::to_string(id) + " 1\n";
  };
  // What /proc says of a process that others may not look at belongs to root.
  const int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  auto mapped = os::write_value(AT_FDCWD, "/proc/self/setgroups", "deny");
  if (mapped) mapped = os::write_value(AT_FDCWD, "/proc/self/uid_map", line(uid));
  if (mapped) mapped = os::write_value(AT_FDCWD, "/proc/self/gid_map", line(gid));
  prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0);
  return mapped;
}

enum class Mounts : uint8_t { of_the_host, our_own };

Result<Mounts> enter_namespaces() {
  const bool needs_user = !may_enter_roots();
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  if (unshare(CLONE_NEWNS | (needs_user ? CLONE_NEWUSER : 0)) != 0) {
    if (!needs_user) return Mounts::of_the_host;
    return os_error("making a user namespace")
        .with_hint(
            "entering a root needs root or a user namespace; atoll doctor says what forbids it");
  }
  if (needs_user) TRY_OK(map_ourselves(uid, gid));
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return os_error("keeping mounts to ourselves");
  return Mounts::our_own;
}

// The tree is not trusted: what stands in the way of a directory, a link for example, goes.
Result<Fd> make_place(int root, const std::string& name, mode_t mode) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  auto there = os::open_at(root, name, kFlags);
  if (!there) {
    TRY_OK(os::remove_tree(root, name));
    TRY_OK(os::make_directory(root, name, mode));
    there = os::open_at(root, name, kFlags);
  }
  if (there && fchmod(there->get(), mode) != 0) return os_error("making", name);
  return there;
}

std::string path_to(const Fd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

// By the path: the descriptor is of what lies under the mount.
Result<> make_read_only(const Fd& place, uint64_t more) {
  TRY(const auto path, os::path_of(place.get()));
  mount_attr wanted{};
  wanted.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | more;
  if (syscall(SYS_mount_setattr, AT_FDCWD, path.c_str(), AT_RECURSIVE, &wanted, sizeof(wanted)) !=
      0)
    return os_error("making it read-only", path);
  return {};
}

// The node is the host's own, and commands may be the user that it belongs to: what it does is not
// touched by a mount that is read-only, but its mode and owner are kept.
Result<> add_device(int directory, const Device& device, Mounts mounts) {
  TRY_OK(os::remove_tree(directory, device.name));
  if (mounts == Mounts::of_the_host) {
    const mode_t mask = umask(0);
    const int made =
        mknodat(directory, device.name, S_IFCHR | 0666, makedev(device.major, device.minor));
    umask(mask);
    return made == 0 ? Result<>() : os_error("making a device", device.name);
  }
  TRY(const auto place, os::open_at(directory, device.name,
                                    O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const std::string source = std::string("/dev/") + device.name;
  if (mount(source.c_str(), path_to(place).c_str(), nullptr, MS_BIND, nullptr) != 0)
    return os_error("showing", source);
  return make_read_only(place, 0);
}

// Commands are the user that we are, and some of what is in there is that user's to write.
Result<> show_processes(const Fd& place) {
  const std::string path = path_to(place);
  if (mount("/proc", path.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return os_error("showing /proc");
  return make_read_only(place, MOUNT_ATTR_NODEV);
}

// Of its own: those of the host are our user's, too.
Result<Fd> add_terminals(int devices) {
  TRY(const auto place, make_place(devices, "pts", 0755));
  if (mount("devpts", path_to(place).c_str(), "devpts", MS_NOSUID | MS_NOEXEC,
            "newinstance,ptmxmode=0666,mode=0620,max=64") != 0)
    return os_error("mounting /dev/pts");
  TRY_OK(os::remove_tree(devices, "ptmx"));
  if (symlinkat("pts/ptmx", devices, "ptmx") != 0) return os_error("linking", "ptmx");
  return os::open_at(devices, "pts", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

Result<Fd> furnish(int root, Mounts mounts) {
  TRY_OK(make_place(root, "workspace", 0755));
  TRY_OK(make_place(root, "tmp", 01777));
  TRY(const auto devices, make_place(root, "dev", 0755));
  for (const auto& device : kDevices) TRY_OK(add_device(devices.get(), device, mounts));
  TRY(const auto processes, make_place(root, "proc", 0555));
  if (mounts == Mounts::of_the_host) return Fd();
  for (const auto& link : kLinks) {
    TRY_OK(os::remove_tree(devices.get(), link.name));
    if (symlinkat(link.target, devices.get(), link.name) != 0)
      return os_error("linking", link.name);
  }
  TRY_OK(show_processes(processes));
  return add_terminals(devices.get());
}

}  // namespace

Result<ChrootTree> make_chroot_tree(int tree, int place) {
  TRY(const auto path, os::path_of(place));
  TRY(const Mounts mounts, enter_namespaces());
  ChrootTree made;
  TRY(made.root, os::open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  TRY_OK(os::copy_tree(tree, made.root.get(), {}));
  TRY(made.terminals, furnish(made.root.get(), mounts));
  return made;
}

}  // namespace atl::agent
