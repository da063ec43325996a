// The part of file.h for paths that somebody else chose; the launcher takes none.
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "os/file.h"

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

// Part by part, for who may not call openat2: a filter of system calls can forbid it.
Result<Fd> open_by_parts(int directory, const std::string& path, int flags, mode_t mode) {
  Fd here;
  const auto parts = split(path, '/');
  if (path.starts_with('/')) return os_error_from(EXDEV, "opening", path);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == "..") return os_error_from(EXDEV, "opening", path);
    const int from = here ? here.get() : directory;
    const std::string part = parts[i].empty() ? "." : parts[i];
    const int how = i + 1 == parts.size() ? flags : O_PATH | O_DIRECTORY;
    Fd next(openat(from, part.c_str(), how | O_NOFOLLOW | O_CLOEXEC, mode));
    const int failure = errno;
    struct stat info{};
    const bool is_link = (!next || (how & O_PATH) != 0) &&
                         (next ? fstat(next.get(), &info)
                               : fstatat(from, part.c_str(), &info, AT_SYMLINK_NOFOLLOW)) == 0 &&
                         S_ISLNK(info.st_mode);
    if (is_link) return os_error_from(ELOOP, "opening", path);
    if (!next) return os_error_from(failure, "opening", path);
    here = std::move(next);
  }
  return here;
}

}  // namespace

Result<Fd> open_beneath(int directory, const std::string& path, int flags, mode_t mode) {
  return open_resolved(directory, path, flags, mode, RESOLVE_BENEATH);
}

Result<Fd> open_in_root(int directory, const std::string& path, int flags, mode_t mode) {
  return open_resolved(directory, path, flags, mode, RESOLVE_IN_ROOT);
}

Result<Fd> open_without_links(int directory, const std::string& path, int flags, mode_t mode) {
  auto fd = open_resolved(directory, path, flags, mode, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
  if (fd || fd.error().os_errno() != ENOSYS) return fd;
  return open_by_parts(directory, path, flags, mode);
}

}  // namespace atl::os
