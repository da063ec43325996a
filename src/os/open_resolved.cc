// The part of file.h for paths that somebody else chose; the launcher takes none.
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "os/file.h"
#include "os/resolve_by_parts.h"

namespace atl::os {
namespace {

constexpr int kResolveAttempts = 64;

Result<Fd> open_resolved(int directory, const std::string& path, int flags, mode_t mode,
                         uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.mode = mode;
  how.resolve = resolve | RESOLVE_NO_MAGICLINKS;
  for (int attempt = 0; attempt < kResolveAttempts; ++attempt) {
    const long fd = syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how);
    if (fd >= 0) return Fd(static_cast<int>(fd));
    if (errno != EAGAIN && errno != EINTR) break;
  }
  return os_error("opening", path);
}

// For who may not call openat2: a filter of system calls can forbid it, and gVisor lacks it.
bool lacks_openat2(const Result<Fd>& opened) {
  return !opened && opened.error().os_errno() == ENOSYS;
}

}  // namespace

Result<Fd> open_beneath(int directory, const std::string& path, int flags, mode_t mode) {
  auto fd = open_resolved(directory, path, flags, mode, RESOLVE_BENEATH);
  if (!lacks_openat2(fd)) return fd;
  return resolve_by_parts(directory, path, flags, mode, Bounds::beneath);
}

Result<Fd> open_in_root(int directory, const std::string& path, int flags, mode_t mode) {
  auto fd = open_resolved(directory, path, flags, mode, RESOLVE_IN_ROOT);
  if (!lacks_openat2(fd)) return fd;
  return resolve_by_parts(directory, path, flags, mode, Bounds::root);
}

Result<Fd> open_without_links(int directory, const std::string& path, int flags, mode_t mode) {
  auto fd = open_resolved(directory, path, flags, mode, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
  if (!lacks_openat2(fd)) return fd;
  return resolve_by_parts(directory, path, flags, mode, Bounds::no_links);
}

}  // namespace atl::os
