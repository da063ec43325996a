#include "native/child/mount_steps.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "native/child/in_child.h"

namespace atl::native {
namespace {

constexpr size_t kLongestPath = 1200;
constexpr const char* kStageOptions = "size=4m,nr_inodes=2k,mode=755";

// Closes by itself; Fd would do, but its destructor is not ours to vouch for here.
struct Held {
  int fd;
  ATOLL_IN_CHILD explicit Held(int number) : fd(number) {}
  ATOLL_IN_CHILD ~Held() {
    const int kept = errno;
    if (fd >= 0) close(fd);
    errno = kept;
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
};

ATOLL_IN_CHILD bool is_in_root(const char* path) { return strncmp(path, "root/", 5) == 0; }

// Where a name on the way may be a link: in the caller's own root, and below what is mounted from
// the host. In a root of our own every other name is ours.
ATOLL_IN_CHILD bool may_be_link(const BoxLaunch& launch, const char* path) {
  return is_in_root(path) && (launch.plan->has_own_root || strncmp(path, "root/usr/", 9) == 0);
}

// Inside the new root every link is followed as the sandbox would follow it, and leads nowhere
// else.
ATOLL_IN_CHILD int open_in_root(const char* path, int flags) {
  if (!is_in_root(path)) return open(path, flags | O_PATH | O_CLOEXEC);
  const Held root(open("root", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (root.fd < 0) return -1;
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_PATH | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, root.fd, path + 5, &how, sizeof how));
}

ATOLL_IN_CHILD int open_place(const BoxLaunch& launch, const char* path, int flags) {
  return may_be_link(launch, path) ? open_in_root(path, flags)
                                   : open(path, flags | O_PATH | O_CLOEXEC);
}

// The directory that holds the last part of a path in the root, and that part; -1 if it cannot be
// had.
ATOLL_IN_CHILD int open_parent_in_root(const char* path, const char** name) {
  const char* slash = strrchr(path, '/');
  *name = slash + 1;
  char directory[kLongestPath];
  const auto length = static_cast<size_t>(slash - path);
  if (length >= sizeof directory) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(directory, path, length);
  directory[length] = 0;
  return open_in_root(directory, O_DIRECTORY);
}

// Where every name is ours, the path itself will do.
ATOLL_IN_CHILD int open_parent(const BoxLaunch& launch, const char* path, const char** name) {
  *name = path;
  return may_be_link(launch, path) ? open_parent_in_root(path, name) : AT_FDCWD;
}

// Whatever is made belongs to the sandbox's root already.
ATOLL_IN_CHILD int give_to(const BoxLaunch& launch, int directory, const char* name,
                           int64_t owner) {
  if (owner <= 0 || launch.plan->authority == Authority::rootless) return 0;
  const auto id = static_cast<uid_t>(launch.first_id + owner);
  const int flags = name[0] == 0 ? AT_EMPTY_PATH : AT_SYMLINK_NOFOLLOW;
  return fchownat(directory, name, id, id, flags);
}

ATOLL_IN_CHILD int make_directory(const BoxLaunch& launch, const Step& step) {
  const char* name = nullptr;
  const Held parent(open_parent(launch, step.target.c_str(), &name));
  if (parent.fd == -1) return -1;
  if (mkdirat(parent.fd, name, step.mode) != 0) return errno == EEXIST ? 0 : -1;
  return give_to(launch, parent.fd, name, step.owner);
}

// A place to mount something of the request's on: every missing directory on the way is made.
ATOLL_IN_CHILD int open_or_make_place(const BoxLaunch& launch, const char* path) {
  int place = open_in_root(path, O_DIRECTORY);
  if (place >= 0 || errno != ENOENT) return place;
  char part[kLongestPath];
  const size_t length = strlen(path);
  if (length >= sizeof part) {
    errno = ENAMETOOLONG;
    return -1;
  }
  for (size_t at = 5; at <= length; ++at) {
    if (at < length && path[at] != '/') continue;
    memcpy(part, path, at);
    part[at] = 0;
    const Held there(open_in_root(part, O_DIRECTORY));
    if (there.fd >= 0) continue;
    const char* name = nullptr;
    const Held parent(open_parent_in_root(part, &name));
    if (parent.fd == -1 || mkdirat(parent.fd, name, 0755) != 0) return -1;
    if (give_to(launch, parent.fd, name, kUserId) != 0) return -1;
  }
  return open_in_root(path, O_DIRECTORY);
}

ATOLL_IN_CHILD int make_file(const BoxLaunch& launch, const Step& step) {
  const char* name = nullptr;
  const Held parent(open_parent(launch, step.target.c_str(), &name));
  if (parent.fd == -1) return -1;
  const Held file(
      openat(parent.fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, step.mode));
  if (file.fd < 0) return errno == EEXIST && step.optional ? 0 : -1;
  const size_t length = step.text.size();
  if (length > 0 && write(file.fd, step.text.data(), length) != static_cast<ssize_t>(length))
    return -1;
  return give_to(launch, parent.fd, name, step.owner);
}

ATOLL_IN_CHILD int make_link(const BoxLaunch& launch, const Step& step) {
  const char* name = nullptr;
  const Held parent(open_parent(launch, step.target.c_str(), &name));
  if (parent.fd == -1) return -1;
  return symlinkat(step.text.c_str(), parent.fd, name);
}

ATOLL_IN_CHILD int attach(int mount, int place) {
  return move_mount(mount, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

ATOLL_IN_CHILD int add_attributes(int mount, uint64_t attributes, bool recursive) {
  if (attributes == 0) return 0;
  mount_attr wanted{};
  wanted.attr_set = attributes;
  const unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0U);
  return mount_setattr(mount, "", flags, &wanted, sizeof wanted);
}

// "size=4m,mode=755,userxattr": one option at a time.
ATOLL_IN_CHILD int set_options(int context, const char* options) {
  char key[32];
  char value[kLongestPath];
  while (*options != 0) {
    const char* comma = strchr(options, ',');
    const size_t length = comma == nullptr ? strlen(options) : static_cast<size_t>(comma - options);
    const char* equals = strchr(options, '=');
    if (equals != nullptr && equals >= options + length) equals = nullptr;
    const size_t key_length = equals == nullptr ? length : static_cast<size_t>(equals - options);
    const size_t value_length = equals == nullptr ? 0 : length - key_length - 1;
    if (key_length >= sizeof key || value_length >= sizeof value) {
      errno = ENAMETOOLONG;
      return -1;
    }
    memcpy(key, options, key_length);
    key[key_length] = 0;
    if (equals == nullptr) {
      if (fsconfig(context, FSCONFIG_SET_FLAG, key, nullptr, 0) != 0) return -1;
    } else {
      memcpy(value, equals + 1, value_length);
      value[value_length] = 0;
      if (fsconfig(context, FSCONFIG_SET_STRING, key, value, 0) != 0) return -1;
    }
    options += length + (comma == nullptr ? 0 : 1);
  }
  return 0;
}

// A new file system of this type, attached nowhere yet.
ATOLL_IN_CHILD int make_mount(const char* type, const char* options, uint64_t attributes) {
  const Held context(fsopen(type, FSOPEN_CLOEXEC));
  if (context.fd < 0 || set_options(context.fd, options) != 0 ||
      fsconfig(context.fd, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return -1;
  }
  return fsmount(context.fd, FSMOUNT_CLOEXEC, static_cast<unsigned>(attributes));
}

ATOLL_IN_CHILD int mount_new(const BoxLaunch& launch, const Step& step, const char* type) {
  const Held mount(make_mount(type, step.text.c_str(), step.attributes));
  if (mount.fd < 0) return -1;
  if (give_to(launch, mount.fd, "", step.owner) != 0) return -1;
  const Held place(step.kind == StepKind::overlay && is_in_root(step.target.c_str())
                       ? open_or_make_place(launch, step.target.c_str())
                       : open_place(launch, step.target.c_str(), O_DIRECTORY));
  return place.fd < 0 ? -1 : attach(mount.fd, place.fd);
}

ATOLL_IN_CHILD int bind_path(const BoxLaunch& launch, const Step& step) {
  const char* const target = step.target.c_str();
  const bool is_ours = !may_be_link(launch, target);
  // Without root a tree can only be taken whole: what is mounted below may cover something.
  const bool whole = step.recursive || launch.plan->authority == Authority::rootless;
  if (is_ours && step.attributes == 0) {
    // What it is mounted with comes along, and one call is a third of what a detached copy takes.
    const int bound =
        mount(step.source.c_str(), target, nullptr, whole ? MS_BIND | MS_REC : MS_BIND, nullptr);
    return bound != 0 && errno == ENOENT && step.optional ? 0 : bound;
  }
  const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (whole ? AT_RECURSIVE : 0U);
  const Held tree(open_tree(AT_FDCWD, step.source.c_str(), flags));
  if (tree.fd < 0) return errno == ENOENT && step.optional ? 0 : -1;
  if (add_attributes(tree.fd, step.attributes, whole) != 0) return -1;
  if (is_ours) {
    const int moved = move_mount(tree.fd, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH);
    return moved != 0 && errno == ENOENT && step.optional ? 0 : moved;
  }
  const Held place(open_in_root(target, 0));
  if (place.fd < 0) return errno == ENOENT && step.optional ? 0 : -1;
  return attach(tree.fd, place.fd);
}

ATOLL_IN_CHILD int mount_tree(const BoxLaunch& launch, const Step& step) {
  if (step.slot < 0 || static_cast<size_t>(step.slot) >= launch.tree_count) {
    errno = EINVAL;
    return -1;
  }
  const BoxTree& given = launch.trees[step.slot];
  int tree = -1;
  if (launch.plan->authority == Authority::root) {
    tree = fcntl(given.descriptor, F_DUPFD_CLOEXEC, 3);
  } else {
    const Held found(open(given.path, O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat info{};
    if (found.fd < 0 || fstat(found.fd, &info) != 0) return -1;
    if (info.st_dev != given.device || info.st_ino != given.inode) {
      errno = ESTALE;
      return -1;
    }
    tree =
        open_tree(found.fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
  }
  const Held mount(tree);
  if (mount.fd < 0 || add_attributes(mount.fd, step.attributes, true) != 0) return -1;
  const Held place(is_in_root(step.target.c_str())
                       ? open_or_make_place(launch, step.target.c_str())
                       : open_place(launch, step.target.c_str(), O_DIRECTORY));
  return place.fd < 0 ? -1 : attach(mount.fd, place.fd);
}

ATOLL_IN_CHILD int make_device(const BoxLaunch& launch, const Step& step) {
  const char* name = nullptr;
  const Held parent(open_parent(launch, step.target.c_str(), &name));
  if (parent.fd == -1) return -1;
  if (launch.plan->authority == Authority::root) {
    if (mknodat(parent.fd, name, S_IFCHR | step.mode, makedev(step.major, step.minor)) != 0)
      return -1;
    return give_to(launch, parent.fd, name, step.owner);
  }
  const Held file(openat(parent.fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  const Held tree(open_tree(AT_FDCWD, step.source.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (file.fd < 0 || tree.fd < 0) return -1;
  const Held place(openat(parent.fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  return place.fd < 0 ? -1 : attach(tree.fd, place.fd);
}

ATOLL_IN_CHILD int seal(const BoxLaunch& launch, const Step& step) {
  const Held place(open_place(launch, step.target.c_str(), O_DIRECTORY));
  return place.fd < 0 ? -1 : add_attributes(place.fd, step.attributes, false);
}

// Names in a file system of the kernel's own, so that none is a link; those that this kernel lacks
// need no cover. The cover's flags come along, and one call for each is a third of what a detached
// copy takes.
ATOLL_IN_CHILD int mask(const Step& step) {
  char path[kLongestPath];
  const size_t start = step.target.size() + 1;
  if (start + NAME_MAX >= sizeof path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(path, step.target.c_str(), start - 1);
  path[start - 1] = '/';
  for (const char* at = step.text.c_str(); *at != 0;) {
    const size_t length = strcspn(at, " ");
    if (length > NAME_MAX) {
      errno = ENAMETOOLONG;
      return -1;
    }
    memcpy(path + start, at, length);
    path[start + length] = 0;
    at += length + (at[length] == 0 ? 0 : 1);
    if (mount(step.source.c_str(), path, nullptr, MS_BIND, nullptr) != 0 && errno != ENOENT)
      return -1;
  }
  return 0;
}

// The old root goes over the new one and then off it, with `layers` mounts that lie over one
// another there. Whether anything is left to climb back to is not believed but looked at.
ATOLL_IN_CHILD int change_root(const char* target, int layers) {
  if (chdir(target) != 0) return -1;
  if (syscall(SYS_pivot_root, ".", ".") != 0) return -1;
  for (int i = 0; i < layers; ++i) {
    if (umount2(".", MNT_DETACH) != 0) return -1;
  }
  if (chdir("/") != 0) return -1;
  struct stat here{}, above{};
  if (stat("/", &here) != 0 || stat("/..", &above) != 0) return -1;
  if (here.st_dev != above.st_dev || here.st_ino != above.st_ino) {
    errno = EXDEV;
    return -1;
  }
  return 0;
}

}  // namespace

ATOLL_IN_CHILD int enter_stage() {
  // Nothing that we mount reaches the host, and nothing that the host mounts later reaches us.
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return -1;
  const Held stage(make_mount("tmpfs", kStageOptions, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  if (stage.fd < 0) return -1;
  if (move_mount(stage.fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) != 0) return -1;
  return fchdir(stage.fd);
}

ATOLL_IN_CHILD int make_stage_the_root() { return change_root(".", 1); }

ATOLL_IN_CHILD int enter_shared(const BoxLaunch& launch) {
  if (setns(launch.shared_root, CLONE_NEWNS) != 0) return -1;
  const Held root(open_tree(AT_FDCWD, "root", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
  if (root.fd < 0) return -1;
  if (launch.user_namespace >= 0) {
    // What we have made belongs to the sandbox's root, where the kernel can say so of a tmpfs
    // (6.3); else to nobody. What is the host's stays the host's root's, whom nobody inside is.
    mount_attr wanted{};
    wanted.attr_set = MOUNT_ATTR_IDMAP;
    wanted.userns_fd = static_cast<uint64_t>(launch.user_namespace);
    mount_setattr(root.fd, "", AT_EMPTY_PATH, &wanted, sizeof wanted);
  }
  if (setns(launch.shared_stage, CLONE_NEWNS) != 0 || unshare(CLONE_NEWNS) != 0) return -1;
  const Held place(open("root", O_PATH | O_DIRECTORY | O_CLOEXEC));
  return place.fd < 0 ? -1 : attach(root.fd, place.fd);
}

ATOLL_IN_CHILD int carry_out(const BoxLaunch& launch, const Step& step) {
  switch (step.kind) {
    case StepKind::directory:
      return make_directory(launch, step);
    case StepKind::file:
      return make_file(launch, step);
    case StepKind::link:
      return make_link(launch, step);
    case StepKind::device:
      return make_device(launch, step);
    case StepKind::tmpfs:
      return mount_new(launch, step, "tmpfs");
    case StepKind::overlay:
      return mount_new(launch, step, "overlay");
    case StepKind::proc:
      return mount_new(launch, step, "proc");
    case StepKind::pts:
      return mount_new(launch, step, "devpts");
    case StepKind::mqueue:
      return mount_new(launch, step, "mqueue");
    case StepKind::bind:
      return bind_path(launch, step);
    case StepKind::tree:
      return mount_tree(launch, step);
    case StepKind::mask:
      return mask(step);
    case StepKind::seal:
      return seal(launch, step);
    case StepKind::move_into_root:
      // The stage is the root already, or lies over the host's.
      return change_root(step.target.c_str(), launch.shared_root >= 0 ? 1 : 2);
  }
  errno = EINVAL;
  return -1;
}

ATOLL_IN_CHILD int open_on_stage(const char* path) {
  return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

}  // namespace atl::native
