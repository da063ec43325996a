#include "net/unix_path.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/ids.h"

namespace atl::net {
namespace {

constexpr int kBacklog = 4096;

Result<sockaddr_un> short_address(std::string_view path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path || path.empty() ||
      path.find('\0') != std::string_view::npos) {
    return Error(Code::invalid_argument, fmt::format("{}: no name for a socket", path));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// Whether somebody accepts connections on the socket file.
Result<bool> answers(int directory, const std::string& name) {
  UnixAddress target;
  target.anchor = Fd(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!target.anchor) return os_error("open", name);
  TRY(target.address, short_address(fmt::format("/proc/self/fd/{}", target.anchor.get())));
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return os_error("socket");
  const auto* address = reinterpret_cast<const sockaddr*>(&target.address);
  if (::connect(probe.get(), address, sizeof target.address) == 0) return true;
  if (errno == ECONNREFUSED) return false;
  return true;  // a full queue, a datagram socket, no permission: somebody's, so not ours to remove
}

Result<> make_room(int directory, const std::string& name, const std::string& path) {
  struct stat info{};
  if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return os_error("stat", path);
  }
  if (!S_ISSOCK(info.st_mode)) {
    return Error(Code::already_exists, fmt::format("{}: is there already, and no socket", path));
  }
  TRY(const bool busy, answers(directory, name));
  if (busy) {
    return Error(Code::already_exists, fmt::format("{}: somebody listens there already", path));
  }
  if (::unlinkat(directory, name.c_str(), 0) != 0 && errno != ENOENT) {
    return os_error("removing a stale socket", path);
  }
  return {};
}

}  // namespace

Result<UnixAddress> address_of_socket(const std::string& path) {
  UnixAddress result;
  if (path.size() < sizeof result.address.sun_path) {
    TRY(result.address, short_address(path));
    return result;
  }
  result.anchor = Fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!result.anchor) return os_error("open", path);
  TRY(result.address, short_address(fmt::format("/proc/self/fd/{}", result.anchor.get())));
  return result;
}

void UnixListener::remove() {
  struct stat ours{};
  struct stat there{};
  if (!directory || ::fstat(file.get(), &ours) != 0) return;
  if (::fstatat(directory.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      there.st_dev == ours.st_dev && there.st_ino == ours.st_ino) {
    ::unlinkat(directory.get(), name.c_str(), 0);
  }
  directory.close();
  file.close();
}

Result<UnixListener> listen_at(const std::string& path, mode_t mode) {
  const size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  UnixListener made;
  made.name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (made.name.empty() || path.find('\0') != std::string::npos) {
    return Error(Code::invalid_argument, fmt::format("{}: no name for a socket", path));
  }
  made.directory = Fd(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!made.directory) return os_error("open", parent);
  TRY_OK(make_room(made.directory.get(), made.name, path));

  // Bound under a passing name and moved when complete: nobody can connect before the mode is
  // right, and the name that binding sees is short however long the real one is.
  const std::string passing = "." + random_name(16);
  const std::string through = fmt::format("/proc/self/fd/{}/{}", made.directory.get(), passing);
  TRY(auto address, short_address(through));
  made.socket = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.socket) return os_error("socket");
  if (::bind(made.socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return os_error("bind", path);
  }
  made.file = Fd(::open(through.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!made.file || ::chmod(through.c_str(), mode) != 0 ||
      ::listen(made.socket.get(), kBacklog) != 0 ||
      ::renameat2(made.directory.get(), passing.c_str(), made.directory.get(), made.name.c_str(),
                  RENAME_NOREPLACE) != 0) {
    Error failed = os_error("listening on", path);
    ::unlinkat(made.directory.get(), passing.c_str(), 0);
    return failed;
  }
  return made;
}

}  // namespace atl::net
