#include "os/tar_unpack.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/ids.h"
#include "base/text.h"
#include "os/file.h"

namespace atl::os {
namespace {

Error explain(Error error, const std::string& path) {
  const std::string shown = "'" + to_printable(path.substr(0, 200)) + "'";
  if (error.os_errno() == ELOOP || error.os_errno() == EXDEV) {
    return Error(Code::permission_denied, shown + " lies behind a link", ELOOP)
        .with_hint("an archive is never unpacked through a link: remove it, or name its target");
  }
  return std::move(error).with(shown);
}

}  // namespace

void TarUnpacker::abandon() {
  if (temporary_[0] != '\0') unlinkat(parent_.get(), temporary_, 0);
  temporary_[0] = '\0';
}

Result<> TarUnpacker::begin(const TarEntry& entry) {
  if (++entries_ > limits_.entries)
    return Error(Code::too_large,
                 "the archive has more than " + std::to_string(limits_.entries) + " entries");
  if (entry.size > limits_.bytes - bytes_)
    return Error(Code::too_large,
                 "the archive holds more than " + std::to_string(limits_.bytes) + " bytes");
  bytes_ += entry.size;
  entry_ = entry;
  if (entry.path.empty()) return {};
  const size_t slash = entry.path.rfind('/');
  name_ = slash == std::string::npos ? entry.path : entry.path.substr(slash + 1);
  TRY_OK(open_parent(slash == std::string::npos ? "" : entry.path.substr(0, slash)));
  const std::string temporary = ".atoll-unpack-" + random_name(12);
  Result<> made;
  switch (entry.kind) {
    case TarKind::directory:
      made = make_directory();
      break;
    case TarKind::file:
      std::memcpy(temporary_, temporary.c_str(), temporary.size() + 1);
      made = make_file();
      break;
    case TarKind::symlink:
      std::memcpy(temporary_, temporary.c_str(), temporary.size() + 1);
      made = make_symlink();
      break;
    case TarKind::hard_link:
      std::memcpy(temporary_, temporary.c_str(), temporary.size() + 1);
      made = make_hard_link();
      break;
  }
  if (!made) return explain(std::move(made).error(), entry.path);
  return {};
}

Result<> TarUnpacker::open_parent(const std::string& path) {
  if (parent_ && path == parent_path_) return {};
  auto parent = open_without_links(directory_, path.empty() ? "." : path, O_PATH | O_DIRECTORY);
  if (!parent && parent.error().os_errno() == ENOENT) {
    for (size_t at = path.find('/');; at = path.find('/', at + 1)) {
      const std::string part = path.substr(0, at);
      const size_t slash = part.rfind('/');
      const bool is_top = slash == std::string::npos;
      auto above = open_without_links(directory_, is_top ? "." : part.substr(0, slash),
                                      O_PATH | O_DIRECTORY);
      if (!above) return explain(std::move(above).error(), path);
      const std::string name = is_top ? part : part.substr(slash + 1);
      if (mkdirat(above->get(), name.c_str(), 0755) != 0 && errno != EEXIST)
        return explain(os_error("making a directory"), path);
      if (at == std::string::npos) break;
    }
    parent = open_without_links(directory_, path, O_PATH | O_DIRECTORY);
  }
  if (!parent) return explain(std::move(parent).error(), path);
  parent_ = std::move(*parent);
  parent_path_ = path;
  return {};
}

Result<> TarUnpacker::make_directory() {
  const bool is_new = mkdirat(parent_.get(), name_.c_str(), 0700) == 0;
  if (!is_new && errno != EEXIST) return os_error("making a directory");
  auto made = open_without_links(parent_.get(), name_, O_RDONLY | O_DIRECTORY);
  if (!made) return std::move(made).error();
  if (limits_.owners && fchown(made->get(), entry_.owner, entry_.group) != 0)
    return os_error("giving it to its owner");
  // Its owner can always go on unpacking into it.
  if (fchmod(made->get(), entry_.mode | 0700) != 0 && is_new) return os_error("setting the mode");
  return {};
}

Result<> TarUnpacker::make_file() {
  auto file = open_at(parent_.get(), temporary_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!file) {
    temporary_[0] = '\0';
    return std::move(file).error();
  }
  file_ = std::move(*file);
  return {};
}

Result<> TarUnpacker::make_symlink() {
  if (symlinkat(entry_.link_target.c_str(), parent_.get(), temporary_) != 0) {
    temporary_[0] = '\0';
    return os_error("making a link");
  }
  if (limits_.owners &&
      fchownat(parent_.get(), temporary_, entry_.owner, entry_.group, AT_SYMLINK_NOFOLLOW) != 0)
    return os_error("giving it to its owner");
  return {};
}

Result<> TarUnpacker::make_hard_link() {
  char temporary[sizeof temporary_];
  std::memcpy(temporary, temporary_, sizeof temporary);
  temporary_[0] = '\0';
  if (!limits_.hard_links)
    return Error(Code::invalid_argument, "the archive has a hard link where none is taken");
  const size_t slash = entry_.link_target.rfind('/');
  const bool is_top = slash == std::string::npos;
  TRY(const auto from,
      open_without_links(directory_, is_top ? "." : entry_.link_target.substr(0, slash),
                         O_PATH | O_DIRECTORY));
  const std::string name = is_top ? entry_.link_target : entry_.link_target.substr(slash + 1);
  if (linkat(from.get(), name.c_str(), parent_.get(), temporary, 0) != 0)
    return os_error("making a hard link to", to_printable(entry_.link_target));
  std::memcpy(temporary_, temporary, sizeof temporary_);
  struct stat info{};
  if (fstatat(parent_.get(), temporary_, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(info.st_mode)) {
    abandon();
    return Error(Code::invalid_argument, "it is a hard link to what is no file");
  }
  return {};
}

Result<> TarUnpacker::bytes(std::string_view bytes) {
  if (auto written = write_all(file_.get(), bytes); !written)
    return explain(std::move(written).error(), entry_.path);
  return {};
}

Result<> TarUnpacker::end() {
  if (entry_.kind == TarKind::file) {
    const timespec times[2] = {{0, UTIME_OMIT}, {entry_.modified_at, 0}};
    if (limits_.owners && fchown(file_.get(), entry_.owner, entry_.group) != 0)
      return os_error("giving it to its owner");
    if (fchmod(file_.get(), entry_.mode) != 0) return os_error("setting the mode");
    futimens(file_.get(), times);
    file_.close();
  }
  if (temporary_[0] != '\0') TRY_OK(put_in_place());
  return on_entry_ ? on_entry_(entry_) : Result<>();
}

Result<> TarUnpacker::put_in_place() {
  if (renameat(parent_.get(), temporary_, parent_.get(), name_.c_str()) != 0) {
    auto error = explain(os_error("putting it in place"), entry_.path);
    abandon();
    return error;
  }
  // Two names of one file are not renamed onto each other: then ours is left.
  if (entry_.kind == TarKind::hard_link) unlinkat(parent_.get(), temporary_, 0);
  temporary_[0] = '\0';
  return {};
}

}  // namespace atl::os
