// What names tell: the host's, and the place of the sandbox among the host's cgroups.
#include <sys/utsname.h>
#include <unistd.h>

#include <sstream>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

ATTACK(host_name, .title = "learn the host's name", .stopped_by = Layer::uts_namespace) {
  utsname names{};
  uname(&names);
  if (names.nodename != told("HOSTNAME")) return denied(0, "it is another name");
  return reached("the host's name");
}

// The name is set to what it is.
ATTACK(set_host_name, .title = "set the host's name", .user = User::root,
       .stopped_by = kPrivilegedCall, .rootless = Layer::seccomp | Layer::capabilities) {
  utsname names{};
  uname(&names);
  if (sethostname(names.nodename, std::string(names.nodename).size()) != 0) {
    return denied("sethostname");
  }
  return reached("sethostname is allowed");
}

// With a namespace of its own the sandbox's group is the root of every path.
ATTACK(cgroup_path, .title = "learn its place among the host's cgroups",
       .stopped_by = Layer::cgroup_namespace, .rootless = kNoControl) {
  const auto table = read_all("/proc/self/cgroup");
  if (!table) return denied("read /proc/self/cgroup");
  if (table->find("/sbx") == std::string::npos) return denied(0, "no path names the sandbox");
  return reached("the path of the sandbox's cgroup");
}
