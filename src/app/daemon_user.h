// As whom the daemon runs: started as root it keeps root only for the launcher, and becomes
// somebody else itself.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace atl::app {

struct DaemonUser {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  bool drops = false;  // this process has to become that user
};

// Not root: ourselves, and another `name` is refused. Root: `name`; without one `atoll` if there is
// such a user, else root.
Result<DaemonUser> find_daemon_user(const std::string& name);

// For good: groups, gid and uid, checked afterwards.
Result<> become(const DaemonUser& user);

}  // namespace atl::app
