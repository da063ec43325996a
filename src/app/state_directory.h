// The state directory: everything that a daemon keeps, and the lock that makes it the only one.
//
//   DIR/lock         held by the daemon for as long as it lives; its pid and start time are inside
//   DIR/atoll.db     the store
//   DIR/admin.key    the first key (0600)
//   DIR/atoll.sock   the daemon's Unix socket (0600)
//   DIR/templates/   root file systems for sandboxes, see template/templates.h
//   DIR/extensions/  drivers that the operator has added, see drivers/extension/grants.h
//   DIR/run/         the launcher's
//   DIR/engines/     what containers of docker and podman are shown, and archives of snapshots;
//   made
//                    when there are any
//
// DIR is 0700; when root makes it 0711, because sandboxes that run as somebody else must reach run/
// through it. Where other users of the host may use the socket, DIR is 0711 and the socket 0666.
#pragma once

#include <string>
#include <string_view>

#include "app/daemon_user.h"
#include "base/fd.h"
#include "base/result.h"

namespace atl::app {

struct AdminKey {
  std::string text;
  bool is_new = false;  // made just now: nobody has seen it yet
};

class StateDirectory final {
 public:
  // Whether other users of the host may pass through it on their way to the socket.
  enum class Others : uint8_t { stay_out, may_pass };

  // Makes what is missing and gives it to `user`. Code::conflict when another daemon holds the
  // lock, Code::permission_denied when somebody else could change what is inside.
  static Result<StateDirectory> open(const std::string& path, const DaemonUser& user,
                                     Others others = Others::stay_out);

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

  // What admin.key holds; made, with a new key, if there is none.
  Result<AdminKey> admin_key() const;
  // The next start makes a new one.
  Result<> forget_admin_key() const;

 private:
  StateDirectory(std::string path, Fd directory, Fd lock)
      : path_(std::move(path)), directory_(std::move(directory)), lock_(std::move(lock)) {}

  std::string path_;
  Fd directory_;
  Fd lock_;
};

}  // namespace atl::app
