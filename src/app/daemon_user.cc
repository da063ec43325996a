#include "app/daemon_user.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace atl::app {
namespace {

constexpr const char* kUsualUser = "atoll";

}  // namespace

Result<DaemonUser> find_daemon_user(const std::string& name) {
  DaemonUser self{.uid = geteuid(), .gid = getegid()};
  if (const passwd* entry = getpwuid(self.uid)) self.name = entry->pw_name;

  const std::string wanted = name.empty() && self.uid == 0 ? kUsualUser : name;
  if (wanted.empty() || wanted == self.name) return self;
  errno = 0;
  const passwd* entry = getpwnam(wanted.c_str());
  if (entry == nullptr) {
    if (name.empty()) return self;
    return Error(Code::not_found, "--user: there is no user '" + to_printable(name) + "'")
        .with_hint("make one: useradd --system --no-create-home " + std::string(kUsualUser));
  }
  if (self.uid != 0 && entry->pw_uid != self.uid) {
    return Error(Code::permission_denied, "--user: only root can become " + to_printable(name));
  }
  return DaemonUser{.name = wanted,
                    .uid = entry->pw_uid,
                    .gid = entry->pw_gid,
                    .drops = entry->pw_uid != self.uid};
}

Result<> become(const DaemonUser& user) {
  if (!user.drops) return {};
  if (initgroups(user.name.c_str(), user.gid) != 0)
    return os_error("taking the groups of", user.name);
  if (setresgid(user.gid, user.gid, user.gid) != 0)
    return os_error("taking the group of", user.name);
  if (setresuid(user.uid, user.uid, user.uid) != 0) return os_error("becoming", user.name);
  // The way back must be closed, or everything that follows runs with root in reach.
  if (user.uid != 0 && setuid(0) == 0) return Error(Code::internal, "could become root again");
  return {};
}

}  // namespace atl::app
