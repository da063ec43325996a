#include "cli/apply.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/ids.h"
#include "base/text.h"
#include "cli/format.h"
#include "os/file.h"

namespace atl::cli {
namespace {

constexpr size_t kDeepest = 64;

bool is_below(std::string_view path, std::string_view above) {
  if (above == "/") return path.starts_with('/');
  return path.starts_with(above) && path.size() > above.size() && path[above.size()] == '/';
}

// "a/b/c": relative, and every part a name.
bool is_plain(std::string_view relative) {
  if (relative.empty() || relative.find('\0') != std::string_view::npos) return false;
  return std::ranges::none_of(split(relative, '/'), [](const std::string& part) {
    return part.empty() || part == "." || part == "..";
  });
}

int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

// Where a change belongs on the host.
struct Place {
  const Changes::Copy* copy = nullptr;
  int directory = -1;    // of the copy, not owned
  std::string relative;  // below it

  std::string parent() const {
    const size_t slash = relative.rfind('/');
    return slash == std::string::npos ? "." : relative.substr(0, slash);
  }
  std::string name() const { return relative.substr(relative.rfind('/') + 1); }
  std::string shown() const { return single_line(copy->host_path + "/" + relative); }
};

class Applier final {
 public:
  Applier(ChangeSource& source, const Changes& changes) : source_(source), changes_(changes) {}

  Result<Applied> run(Conflicts conflicts, Doing doing) {
    TRY_OK(open_copies());
    TRY_OK(look());
    const bool stops = conflicts == Conflicts::stop && !applied_.conflicts.empty();
    if (stops || doing == Doing::rehearse) return std::move(applied_);
    for (size_t i = 0; i < applied_.done.changes.size(); ++i) {
      auto done = apply(applied_.done.changes[i], places_[i]);
      if (!done) return std::move(done).error().with("applying to " + places_[i].shown());
    }
    TRY_OK(set_directory_modes());
    return std::move(applied_);
  }

 private:
  Result<> open_copies() {
    for (const auto& copy : changes_.copies) {
      auto opened = os::open_at(AT_FDCWD, copy.host_path, O_RDONLY | O_DIRECTORY);
      if (!opened) return std::move(opened).error().with("the host directory");
      directories_.push_back(*std::move(opened));
    }
    return {};
  }

  Result<Place> place_of(const FileChange& change) const {
    Place place;
    for (size_t i = 0; i < changes_.copies.size(); ++i) {
      const auto& copy = changes_.copies[i];
      const bool closer = place.copy == nullptr || copy.path.size() > place.copy->path.size();
      if (!is_below(change.path, copy.path) || !closer) continue;
      place.copy = &copy;
      place.directory = directories_[i].get();
      place.relative = change.path.substr(copy.path == "/" ? 1 : copy.path.size() + 1);
    }
    if (place.copy != nullptr && is_plain(place.relative)) return place;
    return Error(Code::permission_denied,
                 "the sandbox names a file '" + to_printable(change.path) + "'");
  }

  // Decides about each change before anything is done.
  Result<> look() {
    applied_.done.copies = changes_.copies;
    applied_.done.created_at = changes_.created_at;
    for (const auto& change : changes_.changes) {
      TRY(auto place, place_of(change));
      if (change.kind == FileKind::other && change.change != ChangeKind::deleted) {
        applied_.left_out.push_back(place.shown() + ": devices, sockets and pipes stay inside");
        continue;
      }
      TRY(const bool conflict, has_conflict(change, place));
      if (conflict) applied_.conflicts.push_back(place.shown());
      applied_.done.changes.push_back(change);
      places_.push_back(std::move(place));
    }
    return {};
  }

  bool changed_since(const struct stat& info) const {
    const int64_t made = std::chrono::nanoseconds(changes_.created_at.time_since_epoch()).count();
    return nanoseconds(info.st_ctim) > made;
  }

  Result<bool> has_conflict(const FileChange& change, const Place& place) const {
    const auto parent =
        os::open_without_links(place.directory, place.parent(), O_PATH | O_DIRECTORY);
    if (!parent) {
      // Made by an earlier change of this list, or gone together with what was to be changed in it.
      if (parent.error().os_errno() == ENOENT) return false;
      if (parent.error().os_errno() == ELOOP || parent.error().os_errno() == ENOTDIR) return true;
      return parent.error();
    }
    const std::string name = place.name();
    struct stat info{};
    if (fstatat(parent->get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return false;
      return os_error("looking at", place.shown());
    }
    const bool is_directory = S_ISDIR(info.st_mode);
    if (change.change == ChangeKind::deleted && is_directory) {
      TRY(const auto directory,
          os::open_at(parent->get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
      return changed_below(directory.get(), 0);
    }
    // What is in a directory has changes of its own.
    if (is_directory && change.kind == FileKind::directory) return false;
    return changed_since(info);
  }

  Result<bool> changed_below(int directory, size_t depth) const {
    struct stat info{};
    if (fstat(directory, &info) != 0) return os_error("looking at a directory");
    if (changed_since(info)) return true;
    if (depth > kDeepest) return Error(Code::too_large, "directories nest more than 64 deep");
    TRY(auto own, os::open_at(directory, ".", O_RDONLY | O_DIRECTORY));
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(own.get()), &closedir);
    if (stream == nullptr) return os_error("reading a directory");
    static_cast<void>(own.release());  // closedir closes it
    while (const dirent* found = readdir(stream.get())) {
      const std::string name = found->d_name;
      if (name == "." || name == "..") continue;
      if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (!S_ISDIR(info.st_mode)) {
        if (changed_since(info)) return true;
        continue;
      }
      TRY(const auto below, os::open_at(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
      TRY(const bool changed, changed_below(below.get(), depth + 1));
      if (changed) return true;
    }
    return false;
  }

  Result<> apply(const FileChange& change, const Place& place) {
    TRY(const auto parent,
        os::open_without_links(place.directory, place.parent(), O_RDONLY | O_DIRECTORY));
    const std::string name = place.name();
    if (change.change == ChangeKind::deleted) return os::remove_tree(parent.get(), name);
    switch (change.kind) {
      case FileKind::directory:
        return make_directory(parent.get(), name, change, place);
      case FileKind::file:
        return make_file(parent.get(), name, change);
      case FileKind::symlink:
        return make_link(parent.get(), name, change);
      case FileKind::other:
        break;
    }
    return {};
  }

  // With its own mode only at the end: it may not let its owner write.
  Result<> make_directory(int parent, const std::string& name, const FileChange& change,
                          const Place& place) {
    if (mkdirat(parent, name.c_str(), 0700) != 0) {
      if (errno != EEXIST) return os_error("making the directory");
    } else {
      give_away(parent, name);
    }
    directory_modes_.push_back({place.directory, place.relative, change.mode & 0777});
    return {};
  }

  Result<> set_directory_modes() {
    for (auto made = directory_modes_.rbegin(); made != directory_modes_.rend(); ++made) {
      TRY(const auto directory,
          os::open_without_links(made->copy, made->relative, O_RDONLY | O_DIRECTORY));
      if (fchmod(directory.get(), made->mode) != 0) {
        return os_error("setting the mode of", to_printable(made->relative));
      }
    }
    return {};
  }

  Result<> make_file(int parent, const std::string& name, const FileChange& change) {
    const std::string temporary = ".atoll-" + make_sandbox_id();
    TRY(const auto fd,
        os::open_at(parent, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    const auto fill = [&]() -> Result<> {
      TRY_OK(source_.read(change.path, fd.get()));
      give_away(parent, temporary, name);
      if (fchmod(fd.get(), change.mode & 0777) != 0) return os_error("setting the mode");
      // The same time as in the sandbox: a later diff sees that nothing is left to apply.
      const int64_t modified = change.modified_at.count();
      const timespec times[2] = {{0, UTIME_OMIT},
                                 {modified / 1'000'000'000, modified % 1'000'000'000}};
      static_cast<void>(futimens(fd.get(), times));
      return put_in_place(parent, temporary, name);
    };
    auto filled = fill();
    if (!filled) unlinkat(parent, temporary.c_str(), 0);
    return filled;
  }

  static Result<> make_link(int parent, const std::string& name, const FileChange& change) {
    const std::string temporary = ".atoll-" + make_sandbox_id();
    if (symlinkat(change.link_target.c_str(), parent, temporary.c_str()) != 0) {
      return os_error("making the link");
    }
    give_away(parent, temporary, name);
    auto placed = put_in_place(parent, temporary, name);
    if (!placed) unlinkat(parent, temporary.c_str(), 0);
    return placed;
  }

  static Result<> put_in_place(int parent, const std::string& temporary, const std::string& name) {
    if (renameat(parent, temporary.c_str(), parent, name.c_str()) == 0) return {};
    return os_error("putting it in place");
  }

  // Root leaves files to whoever has the old one, or the directory; for others the kernel decides.
  static void give_away(int parent, const std::string& made, const std::string& old = "") {
    if (geteuid() != 0) return;
    struct stat info{};
    const bool replaces =
        !old.empty() && fstatat(parent, old.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (!replaces && fstat(parent, &info) != 0) return;
    static_cast<void>(
        fchownat(parent, made.c_str(), info.st_uid, info.st_gid, AT_SYMLINK_NOFOLLOW));
  }

  struct DirectoryMode {
    int copy = -1;
    std::string relative;
    mode_t mode = 0;
  };

  ChangeSource& source_;
  const Changes& changes_;
  std::vector<Fd> directories_;
  std::vector<Place> places_;
  std::vector<DirectoryMode> directory_modes_;
  Applied applied_;
};

}  // namespace

Result<Applied> apply_changes(ChangeSource& source, const Changes& changes, Conflicts conflicts,
                              Doing doing) {
  return Applier(source, changes).run(conflicts, doing);
}

}  // namespace atl::cli
