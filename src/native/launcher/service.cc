#include "native/launcher/service.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "os/file.h"

namespace atl::native {
namespace {

constexpr int kFirstListener = 3;
constexpr int kAside = 10;

Error not_a_service(const char* why) {
  return Error(Code::invalid_argument, why)
      .with_hint("systemctl start atoll-launcher.socket; it starts this program as it should be");
}

Result<Identity> owner_of(int listener) {
  sockaddr_un address{};
  socklen_t length = sizeof address;
  if (getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return os_error("looking at the socket");
  address.sun_path[sizeof address.sun_path - 1] = '\0';
  if (address.sun_family != AF_UNIX || address.sun_path[0] != '/')
    return not_a_service("the socket has no place in the file system");
  struct stat info{};
  if (lstat(address.sun_path, &info) != 0) return os_error("looking at", address.sun_path);
  if (!S_ISSOCK(info.st_mode)) return not_a_service("somebody has replaced the socket");
  return Identity{info.st_uid, info.st_gid};
}

// Nobody else may be able to put something into it.
Result<Fd> open_run_directory(const char* path) {
  TRY(auto directory, os::open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  struct stat info{};
  if (fstat(directory.get(), &info) != 0) return os_error("looking at", path);
  if (info.st_uid != geteuid() || (info.st_mode & 022) != 0) {
    return Error(Code::permission_denied,
                 std::string(path) + " belongs to somebody else, or others may write to it");
  }
  return directory;
}

}  // namespace

Result<ServiceParts> take_service_parts() {
  const char* const pid = getenv("LISTEN_PID");
  const char* const count = getenv("LISTEN_FDS");
  const char* const directory = getenv("STATE_DIRECTORY");
  if (pid == nullptr || std::to_string(getpid()) != pid || count == nullptr ||
      std::strcmp(count, "1") != 0) {
    return not_a_service("no socket was handed over");
  }
  if (directory == nullptr || *directory != '/') return not_a_service("STATE_DIRECTORY is not set");
  ServiceParts parts;
  TRY(parts.identity, owner_of(kFirstListener));
  parts.listener = Fd(fcntl(kFirstListener, F_DUPFD_CLOEXEC, kAside));
  if (!parts.listener) return os_error("taking the socket");
  close(kFirstListener);
  const int flags = fcntl(parts.listener.get(), F_GETFL);
  if (flags < 0 || fcntl(parts.listener.get(), F_SETFL, flags | O_NONBLOCK) != 0)
    return os_error("taking the socket");
  TRY(parts.run_directory, open_run_directory(directory));
  parts.run_directory.move_up(kAside);
  return parts;
}

Error replace_service(const Fd& listener, char** argv) {
  if (dup2(listener.get(), kFirstListener) < 0) return os_error("keeping the socket");
  execv(argv[0], argv);
  return os_error("executing", argv[0]);
}

}  // namespace atl::native
