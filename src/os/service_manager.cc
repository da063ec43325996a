#include "os/service_manager.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>

#include "base/fd.h"

namespace atl::os {

Result<> tell_service_manager(std::string_view state) {
  const char* const place = getenv("NOTIFY_SOCKET");
  if (place == nullptr || *place == '\0') return {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string_view path(place);
  if ((path[0] != '/' && path[0] != '@') || path.size() >= sizeof address.sun_path)
    return Error(Code::invalid_argument, "NOTIFY_SOCKET names no socket");
  path.copy(address.sun_path, path.size());
  if (path[0] == '@') address.sun_path[0] = '\0';  // one without a place in the file system
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());

  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return os_error("making a socket");
  const ssize_t sent = sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address), length);
  if (sent != static_cast<ssize_t>(state.size())) return os_error("telling the service manager");
  return {};
}

}  // namespace atl::os
