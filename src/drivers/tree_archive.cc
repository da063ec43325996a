#include "drivers/tree_archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "base/tar.h"
#include "base/workers.h"
#include "os/file.h"

namespace atl::drivers {
namespace {

constexpr size_t kPiece = 512 << 10;
constexpr size_t kDeepest = 256;

}  // namespace

Result<> TreeArchive::begin(Fd directory, std::string path) {
  if (levels_.size() >= kDeepest)
    return Error(Code::too_large, "the tree is deeper than 256 directories");
  auto names = os::names_in(directory.get());
  std::ranges::sort(names);
  levels_.push_back({std::move(directory), std::move(path), std::move(names)});
  return {};
}

Result<std::string> TreeArchive::next() {
  std::string out;
  if (!has_begun_) {
    has_begun_ = true;
    TRY_OK(begin(std::move(root_), ""));
  }
  while (out.size() < kPiece && !is_over_) {
    if (file_) {
      TRY_OK(take_file(out));
    } else if (levels_.empty()) {
      out += tar_end();
      is_over_ = true;
    } else {
      TRY_OK(take(out));
    }
  }
  return out;
}

Result<> TreeArchive::take(std::string& out) {
  Level& level = levels_.back();
  if (level.at == level.names.size()) {
    levels_.pop_back();
    return {};
  }
  const std::string name = level.names[level.at++];
  struct stat found{};
  if (fstatat(level.directory.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0)
    return os_error("looking at", level.path + name);
  TarEntry entry;
  entry.path = level.path + name;
  entry.mode = found.st_mode & 07777;
  entry.modified_at = found.st_mtim.tv_sec;
  if (S_ISDIR(found.st_mode)) {
    entry.kind = TarKind::directory;
    TRY(auto below, os::open_at(level.directory.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    out += tar_header(entry);
    return begin(std::move(below), entry.path + "/");
  }
  if (S_ISLNK(found.st_mode)) {
    std::string target(PATH_MAX, '\0');
    const ssize_t size =
        readlinkat(level.directory.get(), name.c_str(), target.data(), target.size());
    if (size < 0) return os_error("reading the link", entry.path);
    target.resize(static_cast<size_t>(size));
    entry.kind = TarKind::symlink;
    entry.link_target = std::move(target);
    out += tar_header(entry);
    return {};
  }
  if (!S_ISREG(found.st_mode)) return {};
  if (found.st_nlink > 1) {
    const auto [first, is_new] =
        linked_.try_emplace({static_cast<uint64_t>(found.st_dev), found.st_ino}, entry.path);
    if (!is_new) {
      entry.kind = TarKind::hard_link;
      entry.link_target = first->second;
      out += tar_header(entry);
      return {};
    }
  }
  TRY(file_, os::open_at(level.directory.get(), name, O_RDONLY | O_NOFOLLOW));
  entry.size = left_ = static_cast<uint64_t>(found.st_size);
  padding_ = tar_padding(entry.size).size();
  out += tar_header(entry);
  return {};
}

Result<> TreeArchive::take_file(std::string& out) {
  const size_t before = out.size();
  const size_t wanted = std::min<uint64_t>(left_, kPiece);
  out.resize(before + wanted);
  const ssize_t got = wanted == 0 ? 0 : read(file_.get(), out.data() + before, wanted);
  if (got < 0) return os_error("reading a file of the tree");
  if (got == 0 && wanted > 0) return Error(Code::conflict, "a file of the tree has shrunk");
  out.resize(before + static_cast<size_t>(got));
  left_ -= static_cast<uint64_t>(got);
  if (left_ > 0) return {};
  out.append(padding_, '\0');
  file_ = Fd();
  return {};
}

std::function<Task<std::string>()> archive_tree(asio::any_io_executor executor, Fd root) {
  const auto workers = std::make_shared<Workers>(std::move(executor), 1);
  const auto archive = std::make_shared<TreeArchive>(std::move(root));
  return [workers, archive] {
    return workers->run<std::string>([archive] { return archive->next(); });
  };
}

}  // namespace atl::drivers
