// Unix sockets with descriptors travelling along.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace atl::os {

constexpr size_t kMostDescriptors = 32;  // in one message

enum class SocketKind : int { stream = SOCK_STREAM, packets = SOCK_SEQPACKET };

// Both ends non-blocking and close-on-exec.
Result<std::pair<Fd, Fd>> socket_pair(SocketKind kind);

// A listening socket bound to `name` in `directory`, however long that directory's path is. An
// existing name is removed first; only one process at a time may own the directory.
Result<Fd> listen_at(int directory, const std::string& name, SocketKind kind, mode_t mode);
Result<Fd> connect_at(int directory, const std::string& name, SocketKind kind);
// Code::resource_exhausted when nobody waits any more (EAGAIN).
Result<Fd> accept_from(const Fd& listener);

struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};
Result<PeerCredentials> peer_of(int socket);

// Sends what fits at once; never raises SIGPIPE. The descriptors go with the first byte.
Result<size_t> send_some(int socket, std::string_view bytes, std::span<const int> descriptors = {});

struct Received {
  size_t bytes = 0;  // 0 = the other side has closed
  std::vector<Fd> descriptors;
};
// Code::resource_exhausted (EAGAIN) when there is nothing. A packet larger than the buffer is an
// error, not a part.
Result<Received> receive_some(int socket, std::span<char> buffer);

}  // namespace atl::os
