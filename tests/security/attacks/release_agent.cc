// The kernel runs a cgroup's release agent as root of the host (CVE-2022-0492). This makes a
// hierarchy of its own, without controllers, so that no cgroup of the host is touched; its agent is
// a canary.
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

ATTACK(release_agent, .title = "have the kernel run a program on the host", .dossier = 20,
       .cve = "CVE-2022-0492", .user = User::root,
       .stopped_by = kMountCall | Layer::cgroup_namespace) {
  const std::string helper = told("RELEASE_HELPER");
  if (helper.empty()) return not_applicable("the host offers no helper");
  const std::string top = scratch();
  const std::string options = "none,name=atoll-attack-" + told("TOKEN");
  if (mount("cgroup", top.c_str(), "cgroup", 0, options.c_str()) != 0) {
    return denied("mount a cgroup hierarchy");
  }
  Outcome outcome = reached("the release agent of a hierarchy");
  if (!write_all(top + "/release_agent", helper)) {
    outcome = denied("write release_agent");
  } else {
    const std::string group = top + "/x";
    mkdir(group.c_str(), 0755);
    write_all(group + "/notify_on_release", "1");
    const pid_t child = fork();
    if (child == 0) _exit(write_all(group + "/cgroup.procs", "0") ? 0 : 1);
    waitpid(child, nullptr, 0);
    // Empty now; the kernel runs the agent with the group's name. The host looks for its trace.
    rmdir(group.c_str());
  }
  umount2(top.c_str(), 0);
  return outcome;
}

ATTACK(
    uevent_helper, .title = "name the kernel's uevent helper", .dossier = 20, .user = User::root,
    .stopped_by = Layer::root | Layer::user_namespace | Layer::landlock,
    .missing = [] { return missing_file("/sys/kernel/uevent_helper"); }) {
  if (!can_open("/sys/kernel/uevent_helper", 1 /* O_WRONLY */)) return denied("open uevent_helper");
  return reached("/sys/kernel/uevent_helper can be written");
}
