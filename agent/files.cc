#include "agent/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/ids.h"
#include "base/text.h"
#include "guest/frame.h"
#include "os/file.h"

namespace atl::agent {
namespace {

constexpr size_t kLongestPath = 4096;
constexpr size_t kMostOpenFiles = 64;
constexpr size_t kLongestUpload = 64;
constexpr std::string_view kPartial = ".atoll-partial-";
// Nobody comes back to an upload after so long.
constexpr time_t kForgotten = 24 * 3600;
constexpr size_t kMostLookedAt = 10'000;
constexpr size_t kLongestListing = guest::kLargestBody - 64 * 1024;

// The kernel's word for "this path leads out of the directory" is EXDEV; ours says what happened.
Error explain(Error error, std::string_view path) {
  const std::string shown = to_printable(path.substr(0, 200));
  if (error.os_errno() == EXDEV) {
    return Error(Code::permission_denied, "'" + shown + "' leads out of the workspace", EXDEV);
  }
  return std::move(error).with("'" + shown + "'");
}

// Parts of uploads to this directory that nobody has written to for long. What cannot be looked at
// or removed stays, as it would without this.
void remove_forgotten(int directory) {
  auto again = os::open_at(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (!again) return;
  const std::unique_ptr<DIR, decltype(&closedir)> listing(fdopendir(again->get()), &closedir);
  if (listing == nullptr) return;
  static_cast<void>(again->release());
  const time_t now = time(nullptr);
  for (size_t seen = 0; seen < kMostLookedAt; ++seen) {
    const dirent* entry = readdir(listing.get());
    if (entry == nullptr) return;
    if (!std::string_view(entry->d_name).starts_with(kPartial)) continue;
    struct stat info{};
    const bool is_ours = fstatat(directory, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                         S_ISREG(info.st_mode) && info.st_nlink == 1;
    if (is_ours && now - info.st_mtime > kForgotten) unlinkat(directory, entry->d_name, 0);
  }
}

// What /proc says about "self" would be said about the agent.
Result<> refuse_proc(int fd, std::string_view path) {
  struct statfs info{};
  if (fstatfs(fd, &info) == 0 && info.f_type == PROC_SUPER_MAGIC) {
    return Error(Code::permission_denied,
                 "'" + to_printable(path.substr(0, 200)) + "' is a file of /proc")
        .with_hint("read it with a command in the sandbox, such as cat");
  }
  return {};
}

// With another effective user only what that one may do would be left.
void keep_capabilities() {
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  __user_cap_data_struct held[2]{};
  if (syscall(SYS_capget, &header, held) != 0) return;
  for (auto& half : held) half.effective = half.permitted;
  syscall(SYS_capset, &header, held);
}

// Files made in its lifetime belong to the sandbox's user.
class ActAs final {
 public:
  explicit ActAs(const FileOwner& owner) : acts_(owner.change), wholly_(owner.wholly) {
    if (acts_ && wholly_) {
      become(owner.uid, owner.gid);
    } else if (acts_) {
      setfsgid(owner.gid);
      setfsuid(owner.uid);
    }
  }
  ~ActAs() {
    if (acts_ && wholly_) {
      become(getuid(), getgid());
    } else if (acts_) {
      setfsuid(geteuid());
      setfsgid(getegid());
    }
  }
  ActAs(const ActAs&) = delete;
  ActAs& operator=(const ActAs&) = delete;

 private:
  static void become(uid_t uid, gid_t gid) {
    syscall(SYS_setresgid, -1, gid, -1);
    syscall(SYS_setresuid, -1, uid, -1);
    keep_capabilities();
  }

  bool acts_, wholly_;
};

struct Parent {
  Fd directory;
  std::string name;
  std::string path;
};

// The last part of a path, beneath the open directory that holds it. The part itself is not
// resolved.
Result<Parent> open_parent(const FileRoots& roots, const std::string& path) {
  TRY(auto located, roots.locate(path));
  std::string relative = located.relative;
  while (relative.size() > 1 && relative.back() == '/') relative.pop_back();
  const size_t slash = relative.rfind('/');
  const std::string name = slash == std::string::npos ? relative : relative.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") {
    return Error(Code::invalid_argument,
                 "'" + to_printable(path.substr(0, 200)) + "' names no file");
  }
  if (!located.root->writable) {
    return Error(Code::permission_denied, located.root->path + " is read-only in this sandbox");
  }
  const std::string directory = slash == std::string::npos ? "." : relative.substr(0, slash);
  auto fd = open_located(*located.root, directory, O_RDONLY | O_DIRECTORY);
  if (!fd) return explain(std::move(fd).error(), path);
  TRY_OK(refuse_proc(fd->get(), path));
  return Parent{std::move(*fd), name, path};
}

// Before anything is made on the way to it.
Result<> refuse_directory_name(const std::string& path) {
  if (!path.ends_with('/')) return {};
  return Error(Code::invalid_argument, "'" + to_printable(path.substr(0, 200)) + "' is a directory",
               EISDIR);
}

// Where it is a directory like any other, nothing but us keeps the workspace in its place.
Result<> refuse_workspace(const FileRoots& roots, const Parent& parent) {
  if (roots.start().empty()) return {};
  const auto workspace = open_located(roots.first(), roots.start(), O_PATH | O_DIRECTORY);
  struct stat own{}, named{};
  const bool is_it =
      workspace && fstat(workspace->get(), &own) == 0 &&
      fstatat(parent.directory.get(), parent.name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
      own.st_dev == named.st_dev && own.st_ino == named.st_ino;
  if (!is_it) return {};
  return Error(Code::permission_denied, "the workspace itself stays where it is");
}

Result<> make_parents(const FileRoots& roots, const std::string& path) {
  TRY(auto located, roots.locate(path));
  if (!located.root->writable) {
    return Error(Code::permission_denied, located.root->path + " is read-only in this sandbox");
  }
  const std::string& relative = located.relative;
  for (size_t at = relative.find('/', 1); at != std::string::npos;
       at = relative.find('/', at + 1)) {
    const std::string part = relative.substr(0, at);
    auto there = open_located(*located.root, part, O_PATH | O_DIRECTORY);
    if (there) continue;
    if (there.error().os_errno() != ENOENT) return explain(std::move(there).error(), path);
    const std::string above = located.root->is_whole ? "/" + part : located.root->path + "/" + part;
    TRY(auto parent, open_parent(roots, above));
    if (mkdirat(parent.directory.get(), parent.name.c_str(), 0755) != 0 && errno != EEXIST) {
      return explain(os_error("making a directory"), path);
    }
  }
  return {};
}

guest::EntryKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return guest::EntryKind::file;
  if (S_ISDIR(mode)) return guest::EntryKind::directory;
  if (S_ISLNK(mode)) return guest::EntryKind::symlink;
  return guest::EntryKind::other;
}

// Another number whenever the content may be another (FNV-1a).
uint64_t version_of(const struct stat& info) {
  uint64_t hash = 14695981039346656037ULL;
  for (const int64_t part :
       {static_cast<int64_t>(info.st_dev), static_cast<int64_t>(info.st_ino),
        static_cast<int64_t>(info.st_size), static_cast<int64_t>(info.st_mtim.tv_sec),
        static_cast<int64_t>(info.st_mtim.tv_nsec), static_cast<int64_t>(info.st_ctim.tv_sec),
        static_cast<int64_t>(info.st_ctim.tv_nsec)}) {
    for (int shift = 0; shift < 64; shift += 8)
      hash = (hash ^ (static_cast<uint64_t>(part) >> shift & 0xFF)) * 1099511628211ULL;
  }
  return hash;
}

guest::Entry make_entry(const struct stat& info, std::string name, std::string path) {
  guest::Entry entry;
  entry.name = std::move(name);
  entry.path = std::move(path);
  entry.kind = kind_of(info.st_mode);
  entry.size = static_cast<uint64_t>(info.st_size);
  entry.mode = info.st_mode & 07777;
  entry.uid = info.st_uid;
  entry.gid = info.st_gid;
  entry.modified_at_ms = info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1'000'000;
  entry.version = version_of(info);
  return entry;
}

std::string link_target_at(int directory, const std::string& name) {
  char target[kLongestPath];
  const ssize_t length = readlinkat(directory, name.c_str(), target, sizeof target);
  return length < 0 ? "" : std::string(target, static_cast<size_t>(length));
}

std::string last_part(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos || path.size() == 1 ? path
                                                                         : path.substr(slash + 1));
}

Error no_handle() { return Error(Code::invalid_argument, "no such open file"); }

}  // namespace

Result<Fd> open_located(const FileRoot& root, const std::string& relative, int flags) {
  if (root.is_whole) return os::open_in_root(root.directory, relative, flags);
  return os::open_beneath(root.directory, relative, flags);
}

Result<Fd> open_start(const FileRoots& roots, const std::string& path, FileUse use) {
  TRY(auto located, roots.locate(path));
  if (use == FileUse::change && !located.root->writable)
    return Error(Code::permission_denied, located.root->path + " is read-only in this sandbox");
  auto fd = open_located(*located.root, located.relative, O_PATH);
  if (!fd) return explain(std::move(fd).error(), path);
  return fd;
}

Result<Located> FileRoots::locate(std::string_view path) const {
  if (path.find('\0') != std::string_view::npos) {
    return Error(Code::invalid_argument, "a path cannot hold a NUL byte");
  }
  if (path.size() >= kLongestPath) {
    return Error(Code::invalid_argument, "the path is longer than 4,095 bytes", ENAMETOOLONG);
  }
  if (path.empty()) return Located{&roots_.front(), start_.empty() ? "." : start_};
  if (path.front() != '/') {
    return Located{&roots_.front(), (start_.empty() ? "" : start_ + "/") + std::string(path)};
  }

  const FileRoot* best = nullptr;
  for (const auto& root : roots_) {
    const bool under =
        root.is_whole || (path.starts_with(root.path) &&
                          (path.size() == root.path.size() || path[root.path.size()] == '/'));
    if (under && (best == nullptr || root.path.size() > best->path.size())) best = &root;
  }
  if (best == nullptr) {
    return Error(Code::permission_denied,
                 "'" + to_printable(path.substr(0, 200)) + "' lies outside of the workspace")
        .with_hint("paths are relative, or begin with " + roots_.front().path);
  }
  std::string_view rest = best->is_whole ? path : path.substr(best->path.size());
  while (!rest.empty() && rest.front() == '/') rest.remove_prefix(1);
  return Located{best, rest.empty() ? "." : std::string(rest)};
}

FileService::~FileService() {
  for (auto& [handle, file] : open_) abandon(file);
}

void FileService::abandon(OpenFile& file) const {
  if (file.upload.parent && !file.upload.keeps)
    unlinkat(file.upload.parent.get(), file.upload.temporary.c_str(), 0);
}

Result<guest::Entry> FileService::stat(const std::string& path) const {
  TRY(auto located, roots_.locate(path));
  // O_PATH | O_NOFOLLOW: a link is described, not followed; the way to it still cannot leave the
  // root.
  auto fd = open_located(*located.root, located.relative, O_PATH | O_NOFOLLOW);
  if (!fd) return explain(std::move(fd).error(), path);
  struct stat info{};
  if (fstat(fd->get(), &info) != 0) return explain(os_error("looking at it"), path);
  auto entry = make_entry(info, last_part(path), path);
  if (entry.kind == guest::EntryKind::symlink) entry.link_target = link_target_at(fd->get(), "");
  return entry;
}

Result<std::vector<guest::Entry>> FileService::list(const std::string& path, size_t most) const {
  TRY(auto located, roots_.locate(path));
  auto fd = open_located(*located.root, located.relative, O_RDONLY | O_DIRECTORY);
  if (!fd) return explain(std::move(fd).error(), path);
  const int directory = fd->get();
  std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(fd->release()), closedir);
  if (!stream) return explain(os_error("listing it"), path);

  std::string prefix = path.empty() ? "" : path;
  if (!prefix.empty() && prefix.back() != '/') prefix += '/';
  std::vector<guest::Entry> entries;
  size_t bytes = 0;
  most = std::min(most, guest::kMostListed);
  while (const dirent* found = readdir(stream.get())) {
    const std::string name = found->d_name;
    if (name == "." || name == "..") continue;
    struct stat info{};
    if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      continue;  // gone meanwhile
    auto entry = make_entry(info, name, prefix + name);
    if (entry.kind == guest::EntryKind::symlink)
      entry.link_target = link_target_at(directory, name);
    bytes += 64 + entry.name.size() + entry.path.size() + entry.link_target.size();
    entries.push_back(std::move(entry));
    if (entries.size() > most || bytes > kLongestListing) {
      return Error(Code::too_large,
                   "'" + to_printable(path) + "' holds too many files to list at once")
          .with_hint("list its subdirectories, or run find in the sandbox");
    }
  }
  std::ranges::sort(entries, {}, &guest::Entry::name);
  return entries;
}

Result<> FileService::mkdir(const guest::Path& request) const {
  const ActAs user(roots_.owner());
  if (request.deep) TRY_OK(make_parents(roots_, request.path));
  TRY(auto parent, open_parent(roots_, request.path));
  if (mkdirat(parent.directory.get(), parent.name.c_str(), 0755) == 0) return {};
  struct stat info{};
  const int failure = errno;
  const bool is_there =
      failure == EEXIST && request.deep &&
      fstatat(parent.directory.get(), parent.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISDIR(info.st_mode);
  if (is_there) return {};
  return explain(os_error_from(failure, "making a directory"), request.path);
}

Result<> FileService::move(const guest::Move& request) const {
  const ActAs user(roots_.owner());
  TRY(auto from, open_parent(roots_, request.from));
  TRY(auto to, open_parent(roots_, request.to));
  TRY_OK(refuse_workspace(roots_, from));
  if (renameat(from.directory.get(), from.name.c_str(), to.directory.get(), to.name.c_str()) != 0) {
    return os_error("moving", to_printable(request.from));
  }
  return {};
}

Result<> FileService::remove(const guest::Path& request) const {
  TRY(auto parent, open_parent(roots_, request.path));
  TRY_OK(refuse_workspace(roots_, parent));
  struct stat info{};
  if (fstatat(parent.directory.get(), parent.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return explain(os_error("removing it"), request.path);
  }
  if (request.deep) {
    if (auto removed = os::remove_tree(parent.directory.get(), parent.name); !removed) {
      return explain(std::move(removed).error(), request.path);
    }
    return {};
  }
  if (unlinkat(parent.directory.get(), parent.name.c_str(),
               S_ISDIR(info.st_mode) ? AT_REMOVEDIR : 0) != 0) {
    auto error = explain(os_error("removing it"), request.path);
    if (error.os_errno() == ENOTEMPTY) {
      return Error(Code::conflict, error.message(), ENOTEMPTY)
          .with_hint("ask for recursive removal");
    }
    return error;
  }
  return {};
}

Result<guest::OpenedFile> FileService::open_read(const std::string& path) {
  if (open_.size() >= kMostOpenFiles) return Error(Code::resource_exhausted, "too many open files");
  TRY(auto located, roots_.locate(path));
  // Non-blocking, so that a FIFO put in the file's place cannot hold the agent.
  auto fd = open_located(*located.root, located.relative, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd) return explain(std::move(fd).error(), path);
  struct stat info{};
  if (fstat(fd->get(), &info) != 0) return explain(os_error("looking at it"), path);
  TRY_OK(refuse_proc(fd->get(), path));
  if (S_ISDIR(info.st_mode))
    return Error(Code::invalid_argument, "'" + to_printable(path) + "' is a directory", EISDIR);
  if (!S_ISREG(info.st_mode)) {
    return Error(Code::invalid_argument, "'" + to_printable(path) + "' is not a regular file");
  }
  const uint32_t handle = next_handle_++;
  open_.emplace(handle, OpenFile{std::move(*fd), path, {}});
  return guest::OpenedFile{handle, static_cast<uint64_t>(info.st_size), version_of(info)};
}

Result<> FileService::read(const guest::ReadFile& request, std::string& out) const {
  const auto found = open_.find(request.handle);
  if (found == open_.end() || found->second.upload.parent) return no_handle();
  if (request.offset > INT64_MAX) return Error(Code::invalid_argument, "the offset is too large");
  const size_t most = std::min<size_t>(request.most, guest::kDataPiece);
  const size_t before = out.size();
  out.resize(before + most);
  ssize_t got;
  do {
    got = pread(found->second.fd.get(), out.data() + before, most,
                static_cast<off_t>(request.offset));
  } while (got < 0 && errno == EINTR);
  out.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0) return explain(os_error("reading it"), found->second.path);
  return {};
}

Result<guest::OpenedFile> FileService::open_write(const guest::Path& request) {
  const ActAs user(roots_.owner());
  if (open_.size() >= kMostOpenFiles) return Error(Code::resource_exhausted, "too many open files");
  TRY_OK(refuse_directory_name(request.path));
  if (request.deep) TRY_OK(make_parents(roots_, request.path));
  TRY(auto parent, open_parent(roots_, request.path));
  struct stat info{};
  if (fstatat(parent.directory.get(), parent.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISDIR(info.st_mode)) {
    return Error(Code::invalid_argument, "'" + to_printable(request.path) + "' is a directory",
                 EISDIR);
  }
  Upload upload{std::move(parent.directory), ".atoll-upload-" + random_name(12), parent.name,
                request.path};
  auto fd = os::open_at(upload.parent.get(), upload.temporary,
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!fd) return explain(std::move(fd).error(), request.path);
  // The umask has no say in what the client asked for.
  if (fchmod(fd->get(), request.mode == 0 ? 0644 : request.mode & 0777) != 0)
    return os_error("setting the mode");
  const uint32_t handle = next_handle_++;
  open_.emplace(handle, OpenFile{std::move(*fd), request.path, std::move(upload)});
  return guest::OpenedFile{handle, 0, 0};
}

Result<guest::OpenedFile> FileService::resume_write(const guest::ResumeWrite& request) {
  const ActAs user(roots_.owner());
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (request.upload.empty() || request.upload.size() > kLongestUpload ||
      !std::ranges::all_of(request.upload, is_plain)) {
    return Error(Code::invalid_argument, "an upload has a name of lower-case letters and digits");
  }
  if (open_.size() >= kMostOpenFiles) return Error(Code::resource_exhausted, "too many open files");
  TRY_OK(refuse_directory_name(request.file.path));
  if (request.file.deep && !request.look) TRY_OK(make_parents(roots_, request.file.path));
  auto parent = open_parent(roots_, request.file.path);
  if (!parent && request.look && parent.error().os_errno() == ENOENT) return guest::OpenedFile{};
  if (!parent) return std::move(parent).error();
  struct stat info{};
  if (fstatat(parent->directory.get(), parent->name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISDIR(info.st_mode)) {
    return Error(Code::invalid_argument, "'" + to_printable(request.file.path) + "' is a directory",
                 EISDIR);
  }
  Upload upload{std::move(parent->directory),
                std::string(kPartial) + request.upload,
                parent->name,
                request.file.path,
                true,
                request.file.mode};
  if (!request.look && request.offset == 0) remove_forgotten(upload.parent.get());
  const int flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | (request.look ? 0 : O_CREAT);
  auto fd = os::open_at(upload.parent.get(), upload.temporary, flags, 0600);
  if (!fd && request.look && fd.error().os_errno() == ENOENT) return guest::OpenedFile{};
  if (!fd) return explain(std::move(fd).error(), request.file.path);
  // A command may have put anything there: only a file that has no other name is ours to change.
  if (fstat(fd->get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink != 1)
    return Error(Code::conflict, "something else bears the name of this upload")
        .with_hint("choose another name for it");
  const auto size = static_cast<uint64_t>(info.st_size);
  if (request.look) return guest::OpenedFile{0, size, 0};
  if (request.offset > size)
    return Error(Code::conflict, "only " + std::to_string(size) + " bytes of this upload are there")
        .with_hint("go on from there: offset=" + std::to_string(size));
  if (ftruncate(fd->get(), static_cast<off_t>(request.offset)) != 0 ||
      lseek(fd->get(), 0, SEEK_END) < 0) {
    return explain(os_error("going on with it"), request.file.path);
  }
  const uint32_t handle = next_handle_++;
  open_.emplace(handle, OpenFile{std::move(*fd), request.file.path, std::move(upload)});
  return guest::OpenedFile{handle, request.offset, 0};
}

Result<> FileService::write(const guest::WriteFile& request) const {
  const auto found = open_.find(request.handle);
  if (found == open_.end() || !found->second.upload.parent) return no_handle();
  if (auto written = os::write_all(found->second.fd.get(), request.bytes); !written) {
    return explain(std::move(written).error(), found->second.path);
  }
  return {};
}

Result<guest::Entry> FileService::commit(uint32_t handle) {
  const ActAs user(roots_.owner());
  const auto found = open_.find(handle);
  if (found == open_.end() || !found->second.upload.parent) return no_handle();
  auto& upload = found->second.upload;
  if (upload.keeps && fchmod(found->second.fd.get(), upload.mode & 0777) != 0)
    return os_error("setting the mode");
  if (renameat(upload.parent.get(), upload.temporary.c_str(), upload.parent.get(),
               upload.name.c_str()) != 0) {
    auto error = explain(os_error("putting it in place"), upload.path);
    close(handle);
    return error;
  }
  struct stat info{};
  if (fstat(found->second.fd.get(), &info) != 0) return os_error("looking at the written file");
  auto entry = make_entry(info, upload.name, upload.path);
  upload.parent.close();
  open_.erase(found);
  return entry;
}

void FileService::close(uint32_t handle) {
  const auto found = open_.find(handle);
  if (found == open_.end()) return;
  abandon(found->second);
  open_.erase(found);
}

}  // namespace atl::agent
