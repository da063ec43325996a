#include "os/tree_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "os/file.h"

namespace atl::os {
namespace {

constexpr size_t kLongestLink = 4096;

struct Level {
  Fd directory;
  std::vector<std::string> names;
  size_t next = 0;
  std::string path;
};

bool is_made_up(int directory) {
  struct statfs info{};
  return fstatfs(directory, &info) == 0 &&
         (info.f_type == PROC_SUPER_MAGIC || info.f_type == SYSFS_MAGIC);
}

Result<Level> open_level(Fd directory, std::string path) {
  Level level;
  level.names = names_in(directory.get());
  std::ranges::sort(level.names);
  level.directory = std::move(directory);
  level.path = std::move(path);
  return level;
}

}  // namespace

std::string join_path(std::string_view above, std::string_view below) {
  if (above.empty() || below.empty()) return std::string(above.empty() ? below : above);
  std::string joined(above);
  if (!joined.ends_with('/')) joined += '/';
  return joined.append(below);
}

Result<Fd> WalkedFile::open(int flags) const {
  // The start was opened by somebody who knew what it is.
  auto fd = name.empty() ? open_at(AT_FDCWD, "/proc/self/fd/" + std::to_string(directory), flags)
                         : open_at(directory, name, flags | O_NOFOLLOW);
  if (!fd) return fd;
  struct stat now{};
  if (fstat(fd->get(), &now) != 0) return os_error("looking at", name);
  if ((now.st_mode & S_IFMT) != (info.st_mode & S_IFMT))
    return Error(Code::conflict, "it became something else meanwhile");
  return fd;
}

std::string WalkedFile::link_target() const {
  char target[kLongestLink];
  const ssize_t length = readlinkat(directory, name.c_str(), target, sizeof target);
  return length < 0 ? "" : std::string(target, static_cast<size_t>(length));
}

Result<Walked> walk_tree(int start, WalkLimits limits,
                         const std::function<Result<WalkStep>(const WalkedFile&)>& visit) {
  Walked walked;
  std::vector<Level> levels;
  WalkedFile file;
  file.directory = start;
  if (fstat(start, &file.info) != 0) return os_error("looking at the start");

  for (;;) {
    ++walked.seen;
    TRY(const auto step, visit(file));
    if (step == WalkStep::stop) return walked;
    if (step == WalkStep::go_on && S_ISDIR(file.info.st_mode)) {
      // Non-blocking as everywhere: a pipe may have taken its place.
      auto directory = file.open(O_RDONLY | O_DIRECTORY | O_NONBLOCK);
      const bool is_deep = levels.size() > limits.depth;
      if (!directory || is_deep || (!levels.empty() && is_made_up(directory->get()))) {
        if (levels.empty() && !directory) return std::move(directory).error();
        ++walked.skipped;
      } else {
        TRY(auto level, open_level(std::move(*directory), file.path));
        levels.push_back(std::move(level));
      }
    }
    // The next one that is still there.
    for (;;) {
      while (!levels.empty() && levels.back().next == levels.back().names.size()) levels.pop_back();
      if (levels.empty()) return walked;
      if (walked.seen >= limits.files) {
        walked.is_cut = true;
        return walked;
      }
      Level& level = levels.back();
      file.name = level.names[level.next++];
      file.directory = level.directory.get();
      file.depth = levels.size();
      file.path = join_path(level.path, file.name);
      if (fstatat(file.directory, file.name.c_str(), &file.info, AT_SYMLINK_NOFOLLOW) == 0) break;
      if (errno != ENOENT) ++walked.skipped;
    }
  }
}

}  // namespace atl::os
