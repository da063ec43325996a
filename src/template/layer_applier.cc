#include "template/layer_applier.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "os/file.h"
#include "os/tree_walk.h"

namespace atl {
namespace {

constexpr std::string_view kHides = ".wh.";
constexpr std::string_view kHidesAll = ".wh..wh..opq";
constexpr std::string_view kOfAufs = ".wh..wh.";  // its own notes, which hide nothing
constexpr size_t kDeepest = 255;

std::string shown(const std::string& path) { return "'" + to_printable(path.substr(0, 200)) + "'"; }

Error explain(Error error, const std::string& path) {
  if (error.code() == Code::out_of_space) {
    return std::move(error)
        .with(shown(path))
        .with_hint(
            "free some space where the daemon's state directory is; what came so far is removed");
  }
  const int number = error.os_errno();
  if (number == ELOOP || number == ENOTDIR || number == ENAMETOOLONG || number == EXDEV) {
    return Error(Code::invalid_argument,
                 "the archive is refused: " + shown(path) + " lies below what is no directory")
        .with_hint("an entry's directories come before it, and none of them is a file");
  }
  return std::move(error).with(shown(path));
}

std::string parent_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

Result<> LayerApplier::count(const TarEntry& entry) {
  if (++counts_.entries > limits_.entries) {
    return Error(Code::too_large, "the template has more than " + std::to_string(limits_.entries) +
                                      " files and directories");
  }
  if (entry.size > limits_.bytes - counts_.bytes) {
    return Error(Code::too_large,
                 "the template has more than " + std::to_string(limits_.bytes) + " bytes");
  }
  counts_.bytes += entry.size;
  return {};
}

Result<> LayerApplier::begin(const TarEntry& entry) {
  TRY_OK(count(entry));
  entry_ = entry;
  file_.close();
  if (entry.path.empty()) return {};
  name_ = name_of(entry.path);
  auto made = make(entry);
  if (!made) return explain(std::move(made).error(), entry.path);
  return {};
}

Result<> LayerApplier::make(const TarEntry& entry) {
  const std::string parent = parent_of(entry.path);
  if (whiteouts_ == Whiteouts::hide) {
    if (name_.starts_with(kHides)) return hide(parent, name_);
    made_.insert(entry.path);
  }
  TRY_OK(open_parent(parent));
  switch (entry.kind) {
    case TarKind::directory:
      return make_directory();
    case TarKind::file:
      return make_file();
    case TarKind::hard_link:
      return make_hard_link();
    case TarKind::symlink:
      TRY_OK(clear_place());
      if (symlinkat(entry.link_target.c_str(), parent_.get(), name_.c_str()) != 0)
        return os_error("making a link");
      return {};
  }
  return {};
}

Result<> LayerApplier::open_parent(const std::string& path) {
  if (parent_ && path == parent_path_) return {};
  auto parent = os::open_in_root(tree_, path.empty() ? "." : path, O_PATH | O_DIRECTORY);
  if (!parent && parent.error().os_errno() == ENOENT) {
    TRY_OK(make_parents(path));
    parent = os::open_in_root(tree_, path, O_PATH | O_DIRECTORY);
  }
  if (!parent) return std::move(parent).error();
  parent_ = std::move(*parent);
  parent_path_ = path;
  return {};
}

// Directories that the archive did not think worth an entry.
Result<> LayerApplier::make_parents(const std::string& path) {
  for (size_t at = path.find('/');; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    const std::string above_path = parent_of(part);
    TRY(const auto above,
        os::open_in_root(tree_, above_path.empty() ? "." : above_path, O_PATH | O_DIRECTORY));
    if (mkdirat(above.get(), name_of(part).c_str(), 0755) != 0 && errno != EEXIST)
      return os_error("making a directory");
    if (at == std::string::npos) return {};
  }
}

Result<> LayerApplier::clear_place() {
  struct stat info{};
  if (fstatat(parent_.get(), name_.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return os_error("looking at what is there");
  }
  return os::remove_tree(parent_.get(), name_);
}

Result<> LayerApplier::make_directory() {
  struct stat info{};
  const bool is_there = fstatat(parent_.get(), name_.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                        S_ISDIR(info.st_mode);
  if (!is_there) {
    TRY_OK(clear_place());
    TRY_OK(os::make_directory(parent_.get(), name_, 0700));
  }
  const mode_t sticky = (entry_.mode & S_IWOTH) != 0 ? S_ISVTX : 0;
  if (fchmodat(parent_.get(), name_.c_str(), entry_.mode | 0700 | sticky, 0) != 0)
    return os_error("setting the mode");
  return {};
}

Result<> LayerApplier::make_file() {
  TRY_OK(clear_place());
  TRY(file_, os::open_at(parent_.get(), name_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  return {};
}

Result<> LayerApplier::make_hard_link() {
  if (entry_.link_target == entry_.path) {
    return Error(Code::invalid_argument, "the archive is refused: a file is a hard link to itself");
  }
  const std::string parent = parent_of(entry_.link_target);
  const std::string name = name_of(entry_.link_target);
  TRY(const auto from,
      os::open_in_root(tree_, parent.empty() ? "." : parent, O_PATH | O_DIRECTORY));
  struct stat info{}, here{};
  if (fstatat(from.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return os_error("making a hard link to", shown(entry_.link_target));
  if (S_ISDIR(info.st_mode)) {
    return Error(Code::invalid_argument,
                 "the archive is refused: it has a hard link to a directory");
  }
  // Another name of the same file, perhaps by way of a link: it is there already.
  if (fstatat(parent_.get(), name_.c_str(), &here, AT_SYMLINK_NOFOLLOW) == 0 &&
      here.st_dev == info.st_dev && here.st_ino == info.st_ino) {
    return {};
  }
  TRY_OK(clear_place());
  if (linkat(from.get(), name.c_str(), parent_.get(), name_.c_str(), 0) != 0)
    return os_error("making a hard link to", shown(entry_.link_target));
  return {};
}

bool LayerApplier::is_of_this_layer(const std::string& path) const {
  return made_.contains(path) || has_below(path);
}

bool LayerApplier::has_below(const std::string& path) const {
  const auto next = made_.lower_bound(path + "/");
  return next != made_.end() && next->starts_with(path + "/");
}

Result<> LayerApplier::hide(const std::string& parent, const std::string& name) {
  auto directory = os::open_in_root(tree_, parent.empty() ? "." : parent, O_PATH | O_DIRECTORY);
  // Nothing is there that could be hidden.
  if (!directory && directory.error().os_errno() == ENOENT) return {};
  if (!directory) return std::move(directory).error();
  // What is removed may have been on the way to the directory that is open.
  parent_.close();
  if (name == kHidesAll) return hide_below(directory->get(), parent, 0);
  if (name.starts_with(kOfAufs)) return {};
  const std::string hidden = name.substr(kHides.size());
  if (hidden.empty() || hidden == "." || hidden == "..")
    return Error(Code::invalid_argument, "the archive is refused: it hides what has no name");
  if (is_of_this_layer(os::join_path(parent, hidden))) return {};
  return os::remove_tree(directory->get(), hidden);
}

// Of a directory that this layer has all to itself, what the layers below had put there.
Result<> LayerApplier::hide_below(int directory, const std::string& path, size_t depth) {
  if (depth > kDeepest) return Error(Code::too_large, "the template's directories lie too deep");
  for (const auto& name : os::names_in(directory)) {
    const std::string below = os::join_path(path, name);
    if (!is_of_this_layer(below)) {
      TRY_OK(os::remove_tree(directory, name));
      continue;
    }
    const auto inner = os::open_at(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    if (inner) TRY_OK(hide_below(inner->get(), below, depth + 1));
  }
  return {};
}

Result<> LayerApplier::bytes(std::string_view bytes) {
  if (!file_) return {};  // of a file that only says what is hidden
  auto written = os::write_all(file_.get(), bytes);
  if (!written) return explain(std::move(written).error(), entry_.path);
  return {};
}

Result<> LayerApplier::end() {
  if (!file_) return {};
  const timespec times[2] = {{0, UTIME_OMIT}, {entry_.modified_at, 0}};
  if (fchmod(file_.get(), entry_.mode | S_IRUSR) != 0) return os_error("setting the mode");
  if (futimens(file_.get(), times) != 0) return os_error("setting the time");
  file_.close();
  return {};
}

}  // namespace atl
