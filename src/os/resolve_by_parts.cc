#include "os/resolve_by_parts.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <vector>

#include "base/text.h"

namespace atl::os {
namespace {

constexpr int kMostLinks = 40;
constexpr size_t kMostParts = 4096;

class Walk final {
 public:
  Walk(int directory, Bounds bounds) : directory_(directory), bounds_(bounds) {}

  Result<Fd> open(const std::string& path, int flags, mode_t mode) {
    TRY_OK(add(path, false));
    for (;;) {
      TRY_OK(walk_to_last());
      TRY(auto last, open_last(take(), flags, mode));
      if (last) return last;
    }
  }

 private:
  int here() const { return entered_.empty() ? directory_ : entered_.back().get(); }

  std::string take() {
    std::string part = std::move(todo_.front());
    todo_.pop_front();
    return part;
  }

  // Before what is still to be walked; what comes from a link may end in a slash like any path.
  Result<> add(const std::string& path, bool is_link) {
    if (path.empty()) return os_error_from(ENOENT, "opening", path);
    if (path.starts_with('/')) {
      if (bounds_ != Bounds::root) return os_error_from(EXDEV, "opening", path);
      entered_.clear();
    }
    auto parts = split(path, '/');
    if (is_link && parts.size() > 1 && parts.back().empty()) parts.back() = ".";
    if (todo_.size() + parts.size() > kMostParts) return os_error_from(ENAMETOOLONG, "opening");
    todo_.insert(todo_.begin(), parts.begin(), parts.end());
    return {};
  }

  Result<> go_up() {
    if (!entered_.empty()) {
      entered_.pop_back();
    } else if (bounds_ != Bounds::root) {
      return os_error_from(EXDEV, "opening", "..");
    }
    return {};
  }

  Result<> go_down(const std::string& part) {
    Fd next(openat(here(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat info{};
    if (!next || fstat(next.get(), &info) != 0) return os_error("opening", part);
    if (S_ISLNK(info.st_mode)) return follow(part);
    if (!S_ISDIR(info.st_mode)) return os_error_from(ENOTDIR, "opening", part);
    entered_.push_back(std::move(next));
    return {};
  }

  Result<> follow(const std::string& part) {
    if (bounds_ == Bounds::no_links || ++links_ > kMostLinks)
      return os_error_from(ELOOP, "opening", part);
    struct statfs system{};
    const bool is_plain =
        part == "self" || part == "thread-self" || part == "mounts" || part == "net";
    if (fstatfs(here(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC && !is_plain)
      return os_error_from(ELOOP, "opening", part);
    char target[PATH_MAX];
    const ssize_t length = readlinkat(here(), part.c_str(), target, sizeof target);
    if (length < 0) return os_error("opening", part);
    return add(std::string(target, static_cast<size_t>(length)), true);
  }

  Result<> walk_to_last() {
    while (todo_.size() > 1) {
      const std::string part = take();
      if (part.empty() || part == ".") continue;
      if (part == "..") {
        TRY_OK(go_up());
      } else {
        TRY_OK(go_down(part));
      }
    }
    return {};
  }

  // Nothing if it was a link, which is then to be walked.
  Result<Fd> open_last(std::string part, int flags, mode_t mode) {
    if (part == "..") {
      TRY_OK(go_up());
      part = ".";
    }
    // A path that ends in a slash is a directory's.
    if (part.empty()) flags |= O_DIRECTORY;
    if (part.empty()) part = ".";
    Fd fd(openat(here(), part.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode));
    const int failure = errno;
    struct stat info{};
    const bool is_link = (fd ? fstat(fd.get(), &info)
                             : fstatat(here(), part.c_str(), &info, AT_SYMLINK_NOFOLLOW)) == 0 &&
                         S_ISLNK(info.st_mode);
    if (is_link && (flags & (O_NOFOLLOW | O_EXCL)) == 0) {
      TRY_OK(follow(part));
      return Fd();
    }
    if (!fd) return os_error_from(failure, "opening", part);
    return fd;
  }

  const int directory_;
  const Bounds bounds_;
  std::vector<Fd> entered_;
  std::deque<std::string> todo_;
  int links_ = 0;
};

}  // namespace

Result<Fd> resolve_by_parts(int directory, const std::string& path, int flags, mode_t mode,
                            Bounds bounds) {
  auto fd = Walk(directory, bounds).open(path, flags, mode);
  if (!fd) return os_error_from(fd.error().os_errno(), "opening", path);
  return fd;
}

}  // namespace atl::os
