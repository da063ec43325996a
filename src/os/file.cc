#include "os/file.h"

#include <dirent.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/ids.h"

namespace atl::os {
namespace {

constexpr int kDeepestTree = 1024;  // each level holds a descriptor

struct CloseDir {
  void operator()(DIR* directory) const { closedir(directory); }
};
using Dir = std::unique_ptr<DIR, CloseDir>;

Result<> remove_contents(Fd directory, dev_t device, int depth);

Result<> remove_entry(int parent, const std::string& name, dev_t device, int depth) {
  if (unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return os_error("removing", name);
  if (depth > kDeepestTree)
    return Error(Code::too_large, "a directory tree is nested too deeply to remove");

  auto directory = open_at(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (!directory && directory.error().os_errno() == EACCES) {
    // The guest may have taken its own permissions away; the owner can give them back.
    static_cast<void>(fchmodat(parent, name.c_str(), 0700, 0));
    directory = open_at(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  }
  if (!directory) return std::move(directory).error();
  TRY_OK(remove_contents(std::move(*directory), device, depth + 1));
  if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
    return os_error("removing directory", name);
  }
  return {};
}

Result<> remove_contents(Fd directory, dev_t device, int depth) {
  struct stat info{};
  if (fstat(directory.get(), &info) != 0) return os_error("looking at a directory");
  if (info.st_dev != device) return Error(Code::conflict, "another file system is mounted inside");
  if ((info.st_mode & 0700) != 0700) static_cast<void>(fchmod(directory.get(), 0700));

  const int fd = directory.get();
  Dir stream(fdopendir(directory.release()));
  if (!stream) return os_error("reading a directory");
  while (const dirent* entry = readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    TRY_OK(remove_entry(fd, name, device, depth));
  }
  return {};
}

}  // namespace

Result<Fd> open_at(int directory, const std::string& path, int flags, mode_t mode) {
  Fd fd(openat(directory, path.c_str(), flags | O_CLOEXEC, mode));
  if (!fd) return os_error("opening", path);
  return fd;
}

Result<std::string> read_file(int directory, const std::string& path, size_t limit) {
  TRY(auto fd, open_at(directory, path, O_RDONLY));
  auto bytes = read_open_file(fd.get(), limit);
  if (!bytes) return std::move(bytes).error().with(path);
  return bytes;
}

Result<std::string> read_open_file(int fd, size_t limit) {
  std::string bytes;
  char buffer[16384];  // more than most have, and than a file of the kernel's gives at once
  for (;;) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error("reading");
    if (got == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(got));
    if (bytes.size() > limit) return Error(Code::too_large, "the file is larger than expected");
  }
}

Result<> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return os_error("writing");
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return {};
}

Result<> write_value(int directory, const std::string& path, std::string_view value) {
  TRY(auto fd, open_at(directory, path, O_WRONLY));
  if (write(fd.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size()))
    return os_error("writing " + std::string(value) + " to", path);
  return {};
}

Result<> replace_file(int directory, const std::string& name, std::string_view bytes, mode_t mode) {
  const std::string temporary = "." + name + "." + random_name(8);
  TRY(auto fd, open_at(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
  auto written = write_all(fd.get(), bytes);
  if (written && renameat(directory, temporary.c_str(), directory, name.c_str()) != 0) {
    written = os_error("replacing", name);
  }
  if (!written) unlinkat(directory, temporary.c_str(), 0);
  return written;
}

Result<> remove_tree(int directory, const std::string& name) {
  struct stat info{};
  if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return os_error("looking at", name);
  }
  return remove_entry(directory, name, info.st_dev, 0);
}

std::vector<std::string> names_in(int directory, const std::string& path) {
  std::vector<std::string> names;
  auto copy = open_at(directory, path, O_RDONLY | O_DIRECTORY);
  Dir stream(copy ? fdopendir(copy->release()) : nullptr);
  while (const dirent* entry = stream ? readdir(stream.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

Result<> make_directory(int directory, const std::string& name, mode_t mode) {
  if (mkdirat(directory, name.c_str(), mode) != 0) return os_error("making directory", name);
  return {};
}

Result<std::string> path_of(int fd) {
  char link[32];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  char path[4096];
  const ssize_t length = readlink(link, path, sizeof path);
  if (length < 0) return os_error("asking for a descriptor's path");
  if (static_cast<size_t>(length) == sizeof path)
    return Error(Code::too_large, "a path is too long");
  return std::string(path, static_cast<size_t>(length));
}

}  // namespace atl::os
