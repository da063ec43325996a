#include "os/socket.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace atl::os {
namespace {

// A path of at most 107 bytes for a name in a directory that may have a much longer one.
Result<sockaddr_un> address_of(int directory, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length =
      directory == AT_FDCWD
          ? std::snprintf(address.sun_path, sizeof address.sun_path, "%s", name.c_str())
          : std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s",
                          directory, name.c_str());
  if (length < 0 || static_cast<size_t>(length) >= sizeof address.sun_path) {
    return Error(Code::invalid_argument, "the socket's name is too long: " + name);
  }
  return address;
}

Result<Fd> open_socket(SocketKind kind) {
  Fd fd(socket(AF_UNIX, static_cast<int>(kind) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return os_error("making a socket");
  return fd;
}

}  // namespace

Result<std::pair<Fd, Fd>> socket_pair(SocketKind kind) {
  int ends[2];
  if (socketpair(AF_UNIX, static_cast<int>(kind) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return os_error("making a socket pair");
  }
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

Result<Fd> listen_at(int directory, const std::string& name, SocketKind kind, mode_t mode) {
  TRY(auto address, address_of(directory, name));
  TRY(auto fd, open_socket(kind));
  if (unlinkat(directory, name.c_str(), 0) != 0 && errno != ENOENT)
    return os_error("removing", name);
  // The mode comes from the umask at bind time, so that there is no moment at which others could
  // connect.
  const mode_t saved = umask(0777 & ~mode);
  const int bound = bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  umask(saved);
  if (bound != 0) return os_error("binding", name);
  if (listen(fd.get(), 64) != 0) return os_error("listening on", name);
  return fd;
}

Result<Fd> connect_at(int directory, const std::string& name, SocketKind kind) {
  TRY(auto address, address_of(directory, name));
  TRY(auto fd, open_socket(kind));
  while (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno != EINTR) return os_error("connecting to", name);
  }
  return fd;
}

Result<Fd> accept_from(const Fd& listener) {
  Fd fd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) return os_error("accepting a connection");
  return fd;
}

Result<PeerCredentials> peer_of(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    return os_error("asking who is at the other end");
  }
  return PeerCredentials{credentials.pid, credentials.uid, credentials.gid};
}

Result<size_t> send_some(int socket, std::string_view bytes, std::span<const int> descriptors) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))];
  if (!descriptors.empty()) {
    if (descriptors.size() > kMostDescriptors)
      return Error(Code::too_large, "too many descriptors in a message");
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  for (;;) {
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return static_cast<size_t>(sent);
    if (errno != EINTR) return os_error("sending");
  }
}

Result<Received> receive_some(int socket, std::span<char> buffer) {
  iovec part{buffer.data(), buffer.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  do {
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return os_error("receiving");

  Received received;
  received.bytes = static_cast<size_t>(got);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int number;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof number, sizeof number);
      received.descriptors.emplace_back(number);
    }
  }
  if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
    return Error(Code::invalid_argument, "a message is larger than allowed");
  }
  return received;
}

}  // namespace atl::os
