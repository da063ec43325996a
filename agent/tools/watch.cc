// What happens to the files below a directory, as it happens (inotify).
//
// Each directory has a watch of its own, set on the descriptor that the walk has opened: a link
// that takes a directory's place is not followed. A new directory is watched first and read
// afterwards, so nothing in it is missed; what falls between is told twice.
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "agent/tools/tool.h"
#include "os/file.h"
#include "os/tree_walk.h"

namespace atl::agent {
namespace {

constexpr uint32_t kMask = IN_CREATE | IN_MODIFY | IN_ATTRIB | IN_DELETE | IN_MOVED_FROM |
                           IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
constexpr int kLookMs = 1000;
constexpr size_t kEventBytes = 64 * 1024;

using guest::Watched;
using guest::WatchedKind;

class Watcher final {
 public:
  Watcher(Fd notify, const ToolOptions& options, ToolOutput& output)
      : notify_(std::move(notify)),
        output_(output),
        is_deep_(options.has("recursive")),
        most_(options.number("watches", 8192)) {}

  Result<guest::End> run() {
    TRY_OK(add_tree(kToolStart, "", Telling::nothing));
    if (paths_.empty())
      return Error(Code::invalid_argument, "only directories can be watched")
          .with_hint("watch the directory that the file is in");
    TRY_OK(output_.tell(guest::Ready{}));
    TRY_OK(output_.flush());
    alignas(inotify_event) char buffer[kEventBytes];
    while (!is_over_) {
      // A directory that is held open says nothing of its own end, so it is looked at now and then.
      pollfd ready{notify_.get(), POLLIN, 0};
      if (poll(&ready, 1, kLookMs) == 0) {
        struct stat info{};
        if (fstat(kToolStart, &info) != 0 || info.st_nlink > 0) continue;
        TRY_OK(tell(WatchedKind::deleted, guest::EntryKind::directory, ""));
        break;
      }
      const ssize_t got = read(notify_.get(), buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return os_error("waiting for changes");
      TRY_OK(take(std::string_view(buffer, static_cast<size_t>(got))));
      TRY_OK(output_.flush());
    }
    return end_;
  }

 private:
  enum class Telling : uint8_t { nothing, everything };

  // A directory and, if asked, all below it.
  Result<> add_tree(int start, const std::string& above, Telling telling) {
    const auto visit = [&](const os::WalkedFile& file) -> Result<os::WalkStep> {
      const std::string path = os::join_path(above, file.path);
      if (telling == Telling::everything && !file.path.empty())
        TRY_OK(tell(WatchedKind::created, entry_kind_of(file.info.st_mode), path));
      if (!S_ISDIR(file.info.st_mode)) return os::WalkStep::leave_out;
      if (!file.path.empty() && !is_deep_) return os::WalkStep::leave_out;
      auto directory = file.open(O_RDONLY | O_DIRECTORY | O_NONBLOCK);
      if (!directory) return os::WalkStep::leave_out;
      return add(directory->get(), path);
    };
    TRY_OK(os::walk_tree(start, {}, visit));
    return {};
  }

  Result<os::WalkStep> add(int directory, const std::string& path) {
    const std::string through = "/proc/self/fd/" + std::to_string(directory);
    const bool is_full = paths_.size() >= most_;
    const int watch = is_full ? -1 : inotify_add_watch(notify_.get(), through.c_str(), kMask);
    if (watch < 0) {
      if (!is_full && errno != ENOSPC) return os::WalkStep::leave_out;
      // Nobody is left believing that this place is watched.
      TRY_OK(tell(WatchedKind::overflow, guest::EntryKind::directory, path));
      return os::WalkStep::leave_out;
    }
    paths_[watch] = path;
    return os::WalkStep::go_on;
  }

  Result<> tell(WatchedKind kind, guest::EntryKind file, const std::string& path,
                const std::string& from = "") {
    ++end_.told;
    return output_.tell(Watched{kind, file, path, from});
  }

  Result<> take(std::string_view bytes) {
    struct Left {
      uint32_t cookie = 0;
      guest::EntryKind kind = guest::EntryKind::file;
      std::string path;
    } left;  // what was moved away and has not turned up yet
    const auto settle = [&]() -> Result<> {
      if (left.cookie == 0) return {};
      left.cookie = 0;
      if (left.kind == guest::EntryKind::directory) drop(left.path);
      return tell(WatchedKind::deleted, left.kind, left.path);
    };
    while (bytes.size() >= sizeof(inotify_event)) {
      inotify_event event;
      __builtin_memcpy(&event, bytes.data(), sizeof event);
      const std::string_view field = bytes.substr(sizeof event, event.len);
      const std::string name(field.substr(0, field.find('\0')));
      bytes.remove_prefix(sizeof event + event.len);
      const auto kind =
          (event.mask & IN_ISDIR) != 0 ? guest::EntryKind::directory : guest::EntryKind::file;
      if ((event.mask & IN_Q_OVERFLOW) != 0) {
        TRY_OK(tell(WatchedKind::overflow, guest::EntryKind::directory, ""));
        continue;
      }
      const auto found = paths_.find(event.wd);
      if (found == paths_.end()) continue;
      const std::string directory = found->second;
      if ((event.mask & IN_IGNORED) != 0) {
        paths_.erase(found);
        is_over_ = paths_.empty();
        continue;
      }
      if (name.empty()) {
        // Of the directory itself: told by the one above, unless there is none that we watch.
        if (directory.empty() && (event.mask & (IN_DELETE_SELF | IN_MOVE_SELF)) != 0) {
          TRY_OK(tell(WatchedKind::deleted, guest::EntryKind::directory, ""));
          is_over_ = true;
        }
        continue;
      }
      const std::string path = os::join_path(directory, name);
      if (left.cookie != 0 && ((event.mask & IN_MOVED_TO) == 0 || event.cookie != left.cookie))
        TRY_OK(settle());
      if ((event.mask & IN_MOVED_FROM) != 0) {
        left = {event.cookie, kind, path};
      } else if ((event.mask & IN_MOVED_TO) != 0 && left.cookie != 0) {
        left.cookie = 0;
        TRY_OK(tell(WatchedKind::moved, kind, path, left.path));
        if (kind == guest::EntryKind::directory) rename(left.path, path);
      } else if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0) {
        TRY_OK(tell(WatchedKind::created, kind, path));
        if (kind == guest::EntryKind::directory && is_deep_) TRY_OK(add_new(path));
      } else if ((event.mask & IN_DELETE) != 0) {
        TRY_OK(tell(WatchedKind::deleted, kind, path));
      } else {
        TRY_OK(tell(WatchedKind::modified, kind, path));
      }
    }
    return settle();
  }

  Result<> add_new(const std::string& path) {
    // Not through any link: somebody may have put one there since.
    auto directory = os::open_without_links(kToolStart, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    if (!directory) return {};
    return add_tree(directory->get(), path, Telling::everything);
  }

  // It has left the tree, with its watches.
  void drop(const std::string& above) {
    for (const auto& [watch, path] : paths_) {
      if (path == above || path.starts_with(above + "/")) inotify_rm_watch(notify_.get(), watch);
    }
  }

  void rename(const std::string& from, const std::string& to) {
    const std::string below = from + "/";
    for (auto& [watch, path] : paths_) {
      if (path == from || path.starts_with(below)) path.replace(0, from.size(), to);
    }
  }

  Fd notify_;
  ToolOutput& output_;
  bool is_deep_;
  size_t most_;
  bool is_over_ = false;
  std::map<int, std::string> paths_;
  guest::End end_;
};

}  // namespace

Result<guest::End> watch_files(const ToolOptions& options, ToolOutput& output) {
  Fd notify(inotify_init1(IN_CLOEXEC));
  if (!notify && (errno == EPERM || errno == ENOSYS)) {
    return Error(Code::unsupported, "the policy of this sandbox does not let files be watched")
        .with_hint("the drivers native, rootless and local do");
  }
  if (!notify) {
    return os_error("watching files")
        .with_hint("too many watchers: end some, or raise fs.inotify.max_user_instances");
  }
  Watcher watcher(std::move(notify), options, output);
  return watcher.run();
}

}  // namespace atl::agent
