// Unix socket addresses for paths of any length. Only src/net includes this.
//
// A socket address holds 107 bytes. A longer path is reached through a descriptor of its directory
// (to bind) or of the socket file itself (to connect), named as /proc/self/fd/N.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "base/fd.h"

namespace atl::net {

struct UnixAddress {
  sockaddr_un address{};
  Fd anchor;  // keep it until the call that uses the address is over
};

// For connect(): fails with Code::not_found when there is no such file.
Result<UnixAddress> address_of_socket(const std::string& path);

// A listening socket that appears at `path` complete (see HttpServer::listen_unix), and what is
// needed to take it away again.
struct UnixListener {
  Fd socket;
  Fd directory;
  std::string name;
  Fd file;  // the socket's file: while it is held, no other file gets its inode number

  // Removes the file if it is still the one that we made.
  void remove();
};

Result<UnixListener> listen_at(const std::string& path, mode_t mode);

}  // namespace atl::net
