#include "agent/diff.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include "base/text.h"
#include "guest/frame.h"
#include "os/file.h"

namespace atl::agent {
namespace {

using guest::Change;
using guest::ChangeKind;
using guest::EntryKind;

constexpr size_t kDeepest = 64;
constexpr size_t kMostSeen = 200'000;
constexpr size_t kPageBytes = guest::kLargestBody - 64 * 1024;
constexpr size_t kLongestLink = 4096;

// Written into a foreign root by whoever made the sandbox, and no change of the guest's.
constexpr const char* kNotTheGuests[] = {
    "/dev", "/proc", "/etc/hostname", "/etc/hosts", "/etc/resolv.conf", "/opt/atoll"};

bool is_below(std::string_view path, std::string_view above) {
  if (above == "/") return true;
  return path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '/');
}

EntryKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return EntryKind::file;
  if (S_ISDIR(mode)) return EntryKind::directory;
  if (S_ISLNK(mode)) return EntryKind::symlink;
  return EntryKind::other;
}

bool is_whiteout(const struct stat& info) { return S_ISCHR(info.st_mode) && info.st_rdev == 0; }

int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

std::string link_at(int directory, const std::string& name) {
  char target[kLongestLink];
  const ssize_t length = readlinkat(directory, name.c_str(), target, sizeof target);
  return length < 0 ? "" : std::string(target, static_cast<size_t>(length));
}

std::optional<struct stat> find_at(int directory, const std::string& name) {
  struct stat info{};
  if (directory < 0 || fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return std::nullopt;
  }
  return info;
}

// Absolute and without ".", ".." and double slashes, as changes are told.
Result<std::string> plain(const std::string& path, const std::string& workspace) {
  if (path.empty()) return std::string("/");
  if (path.find('\0') != std::string::npos || path.size() >= 4096) {
    return Error(Code::invalid_argument, "a path is shorter than 4,096 bytes and has no NUL byte");
  }
  std::vector<std::string> kept;
  const std::string whole = path.front() == '/' ? path : workspace + "/" + path;
  for (auto& part : split(whole, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      kept.push_back(std::move(part));
    } else if (!kept.empty()) {
      kept.pop_back();
    }
  }
  std::string out;
  for (const auto& part : kept) out.append("/").append(part);
  return out.empty() ? "/" : out;
}

class Walk final {
 public:
  Walk(std::string wanted, uint64_t skip) : wanted_(std::move(wanted)), skip_(skip) {}

  // One level of a copy: `lower` and `merged` are -1 where the host had nothing.
  Result<> directory(int upper, int lower, int merged, const std::string& path, size_t depth) {
    if (depth > kDeepest) {
      return Error(Code::too_large, "directories nest more than 64 deep: " + to_printable(path));
    }
    TRY(auto names, names_in(upper));
    TRY_OK(add_hidden(names, lower, merged));
    std::ranges::sort(names);
    for (const auto& name : names) {
      const std::string below = (path == "/" ? "" : path) + "/" + name;
      const bool leads_there = is_below(below, wanted_) || is_below(wanted_, below);
      if (!leads_there || is_left_out(below)) continue;
      TRY_OK(entry(upper, lower, merged, name, below, depth));
      if (page_.more) return {};
    }
    return {};
  }

  void set_is_root(bool is_root) { is_root_ = is_root; }
  bool is_full() const { return page_.more; }
  guest::DiffPage take() { return std::move(page_); }

 private:
  Result<> entry(int upper, int lower, int merged, const std::string& name, const std::string& path,
                 size_t depth) {
    const auto now = find_at(upper, name);
    const auto before = find_at(lower, name);
    const bool is_gone = !now || is_whiteout(*now);
    if (is_gone && !before) return {};
    if (is_gone) return note(ChangeKind::deleted, *before, path, "");

    const EntryKind kind = kind_of(now->st_mode);
    const bool is_new = !before || kind_of(before->st_mode) != kind;
    if (before && is_new) TRY_OK(note(ChangeKind::deleted, *before, path, ""));
    const std::string link = kind == EntryKind::symlink ? link_at(upper, name) : "";
    if (is_new) {
      TRY_OK(note(ChangeKind::added, *now, path, link));
    } else if (differs(*now, *before, link, lower, name)) {
      TRY_OK(note(ChangeKind::modified, *now, path, link));
    }
    if (kind != EntryKind::directory || page_.more) return {};

    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    auto next = os::open_at(upper, name, kFlags);
    // Removed meanwhile: the next diff tells.
    if (!next) return {};
    Fd next_lower, next_merged;
    if (!is_new) {
      TRY(next_lower, os::open_at(lower, name, kFlags));
      auto seen = merged >= 0 ? os::open_at(merged, name, kFlags) : Fd();
      if (seen) next_merged = *std::move(seen);
    }
    return directory(next->get(), next_lower.get(), next_merged.get(), path, depth + 1);
  }

  // A copy keeps the time of what it was copied from, so an equal time and size is an equal file.
  static bool differs(const struct stat& now, const struct stat& before, const std::string& link,
                      int lower, const std::string& name) {
    switch (kind_of(now.st_mode)) {
      case EntryKind::symlink:
        return link != link_at(lower, name);
      case EntryKind::directory:
        return (now.st_mode & 07777) != (before.st_mode & 07777);
      case EntryKind::file:
        return now.st_size != before.st_size || (now.st_mode & 07777) != (before.st_mode & 07777) ||
               nanoseconds(now.st_mtim) != nanoseconds(before.st_mtim);
      case EntryKind::other:
        break;
    }
    return now.st_rdev != before.st_rdev;
  }

  Result<> note(ChangeKind change, const struct stat& info, const std::string& path,
                const std::string& link) {
    if (!is_below(path, wanted_)) return {};
    if (++found_ > guest::kMostChanges) {
      return Error(Code::too_large, "the sandbox changed more than 10,000 files")
          .with_hint("name a directory to see less of them");
    }
    if (found_ <= skip_) return {};
    bytes_ += path.size() + link.size() + 48;
    if (bytes_ > kPageBytes) {
      page_.more = true;
      return {};
    }
    Change noted;
    noted.change = change;
    noted.kind = kind_of(info.st_mode);
    noted.path = path;
    noted.size = noted.kind == EntryKind::file ? static_cast<uint64_t>(info.st_size) : 0;
    noted.mode = info.st_mode & 07777;
    noted.modified_at_ns = nanoseconds(info.st_mtim);
    noted.link_target = link;
    page_.changes.push_back(std::move(noted));
    return {};
  }

  bool is_left_out(const std::string& path) const {
    return is_root_ &&
           std::ranges::any_of(kNotTheGuests, [&](const char* own) { return path == own; });
  }

  // What the host has, the sandbox does not see, and `upper` does not name.
  Result<> add_hidden(std::vector<std::string>& names, int lower, int merged) {
    if (lower < 0 || merged < 0) return {};
    TRY(auto there, names_in(lower));
    std::ranges::sort(names);
    std::vector<std::string> hidden;
    for (auto& name : there) {
      if (std::ranges::binary_search(names, name)) continue;
      struct stat info{};
      if (fstatat(merged, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) {
        hidden.push_back(std::move(name));
      }
    }
    for (auto& name : hidden) names.push_back(std::move(name));
    return {};
  }

  Result<std::vector<std::string>> names_in(int directory) {
    TRY(auto own, os::open_at(directory, ".", O_RDONLY | O_DIRECTORY));
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(own.get()), &closedir);
    if (stream == nullptr) return os_error("reading a directory");
    static_cast<void>(own.release());  // closedir closes it
    std::vector<std::string> names;
    while (const dirent* found = readdir(stream.get())) {
      const std::string_view name = found->d_name;
      if (name == "." || name == "..") continue;
      if (++seen_ > kMostSeen) {
        return Error(Code::too_large, "there are more than 200,000 files to compare")
            .with_hint("name a directory to compare less of them");
      }
      names.emplace_back(name);
    }
    return names;
  }

  const std::string wanted_;
  const uint64_t skip_;
  bool is_root_ = false;
  size_t seen_ = 0;
  uint64_t found_ = 0;
  size_t bytes_ = 0;
  guest::DiffPage page_;
};

}  // namespace

Result<guest::DiffPage> diff(const std::vector<CopiedDirectory>& copies, const FileRoots& roots,
                             const std::string& workspace, const guest::Diff& request) {
  if (copies.empty()) {
    return Error(Code::unsupported, "no directory of this sandbox is a copy of the host's")
        .with_hint("show one copy-on-write: --here=cow, -v SRC:DST:cow or --rootfs DIR");
  }
  TRY(const auto wanted, plain(request.path, workspace));
  std::vector<const CopiedDirectory*> sorted;
  for (const auto& copy : copies) {
    if (is_below(copy.path, wanted) || is_below(wanted, copy.path)) sorted.push_back(&copy);
  }
  if (sorted.empty()) {
    return Error(Code::not_found, "'" + to_printable(wanted) + "' is no copy of the host's");
  }
  std::ranges::sort(sorted, {}, [](const CopiedDirectory* copy) { return copy->path; });
  Walk walk(wanted, request.skip);
  for (const auto* copy : sorted) {
    TRY(const auto upper, os::open_at(copy->upper.get(), ".", O_RDONLY | O_DIRECTORY));
    TRY(const auto lower, os::open_at(copy->lower.get(), ".", O_RDONLY | O_DIRECTORY));
    Fd merged;
    TRY(const auto located, roots.locate(copy->path));
    auto seen = open_located(*located.root, located.relative, O_RDONLY | O_DIRECTORY);
    if (seen) merged = *std::move(seen);
    walk.set_is_root(copy->path == "/");
    TRY_OK(walk.directory(upper.get(), lower.get(), merged.get(), copy->path, 0));
    if (walk.is_full()) break;
  }
  return walk.take();
}

}  // namespace atl::agent
