#include "os/tree_copy.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <string>

#include "base/text.h"
#include "os/file.h"
#include "os/tree_walk.h"

namespace atl::os {
namespace {

constexpr size_t kPiece = 256 * 1024;

Error copying(const std::string& path) { return os_error("copying", to_printable(path)); }

Result<> copy_by_hand(int from, int to, const std::string& path) {
  std::string buffer(kPiece, '\0');
  for (;;) {
    const ssize_t got = read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return copying(path);
    if (got == 0) return {};
    TRY_OK(write_all(to, std::string_view(buffer).substr(0, static_cast<size_t>(got))));
  }
}

Result<> copy_content(int from, int to, const std::string& path) {
  if (ioctl(to, FICLONE, from) == 0) return {};
  for (;;) {
    const ssize_t copied = copy_file_range(from, nullptr, to, nullptr, kPiece * 64, 0);
    if (copied == 0) return {};
    if (copied > 0 || errno == EINTR) continue;
    // Between file systems that cannot; nothing has been copied yet then.
    if (errno == EXDEV || errno == ENOSYS || errno == EINVAL || errno == EOPNOTSUPP)
      return copy_by_hand(from, to, path);
    return copying(path);
  }
}

class TreeCopy final {
 public:
  TreeCopy(int to, CopyLimits limits) : to_(to), limits_(limits) {}

  Result<WalkStep> take(const WalkedFile& file) {
    if (file.path.empty()) return WalkStep::go_on;
    if (++done_.files > limits_.files)
      return too_large("has more than " + std::to_string(limits_.files) + " files");
    if (std::chrono::steady_clock::now() > give_up_) {
      return too_large("cannot be copied within " + std::to_string(limits_.time.count()) +
                       " seconds");
    }
    const mode_t kind = file.info.st_mode & S_IFMT;
    if (kind == S_IFDIR) return take_directory(file);
    if (kind == S_IFLNK) return take_link(file);
    if (kind == S_IFREG) return take_file(file);
    ++done_.left_out;
    return WalkStep::go_on;
  }

  CopiedTree& done() { return done_; }

 private:
  using Identity = std::pair<dev_t, ino_t>;

  static Error too_large(const std::string& how) {
    return Error(Code::too_large, "the tree " + how)
        .with_hint(
            "give a smaller root file system, or take a driver that need not copy it: native");
  }

  Result<WalkStep> take_directory(const WalkedFile& file) {
    // We must be able to fill it.
    const mode_t mode = (file.info.st_mode & 01777) | 0700;
    if (mkdirat(to_, file.path.c_str(), mode) != 0 ||
        fchmodat(to_, file.path.c_str(), mode, 0) != 0)
      return copying(file.path);
    return WalkStep::go_on;
  }

  Result<WalkStep> take_link(const WalkedFile& file) {
    if (symlinkat(file.link_target().c_str(), to_, file.path.c_str()) != 0)
      return copying(file.path);
    return WalkStep::go_on;
  }

  Result<WalkStep> take_file(const WalkedFile& file) {
    const Identity identity{file.info.st_dev, file.info.st_ino};
    if (const auto first = names_.find(identity); first != names_.end()) {
      if (linkat(to_, first->second.c_str(), to_, file.path.c_str(), 0) != 0)
        return copying(file.path);
      return WalkStep::go_on;
    }
    done_.bytes += static_cast<uint64_t>(file.info.st_size);
    if (done_.bytes > limits_.bytes)
      return too_large("has more than " + std::to_string(limits_.bytes) + " bytes");
    const auto from = file.open(O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (!from) {
      ++done_.left_out;
      return WalkStep::go_on;
    }
    TRY(const auto to, open_at(to_, file.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    TRY_OK(copy_content(from->get(), to.get(), file.path));
    if (fchmod(to.get(), file.info.st_mode & 0777) != 0) return copying(file.path);
    if (file.info.st_nlink > 1) names_.emplace(identity, file.path);
    return WalkStep::go_on;
  }

  int to_;
  CopyLimits limits_;
  std::chrono::steady_clock::time_point give_up_ = std::chrono::steady_clock::now() + limits_.time;
  CopiedTree done_;
  std::map<Identity, std::string> names_;  // of files that have several
};

}  // namespace

Result<CopiedTree> copy_tree(int from, int to, CopyLimits limits) {
  TreeCopy copy(to, limits);
  // The start counts, too, and one more shows that there are too many.
  TRY(const auto walked, walk_tree(from, {.files = limits.files + 2},
                                   [&](const WalkedFile& file) { return copy.take(file); }));
  copy.done().left_out += walked.skipped;
  return copy.done();
}

}  // namespace atl::os
