// Takes mounts away: the root itself, to see what is below it, and whatever covers a file of /proc.
#include <sys/mount.h>

#include <sstream>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

ATTACK(umount_root, .title = "unmount the root", .dossier = 31, .user = User::root,
       .stopped_by = kMountCall, .rootless = kNoControl) {
  if (!has_own_mounts()) return not_applicable("these are the host's own mounts");
  if (umount2("/", MNT_DETACH) != 0) return denied("umount2 /");
  return reached("the root is gone");
}

ATTACK(umount_masks, .title = "unmount what covers files of /proc", .cve = "CVE-2025-31133",
       .user = User::root, .stopped_by = kMountCall,
       .rootless = Layer::seccomp | Layer::capabilities | Layer::landlock) {
  if (!has_own_mounts()) return not_applicable("these are the host's own mounts");
  const auto table = read_all("/proc/self/mountinfo");
  if (!table) return denied("read mountinfo");
  std::istringstream lines(*table);
  std::string line;
  Outcome outcome = denied(ENOENT, "nothing is mounted below /proc or /dev");
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string skipped;
    std::string target;
    fields >> skipped >> skipped >> skipped >> skipped >> target;
    if (!target.starts_with("/proc/") && !target.starts_with("/dev/")) continue;
    if (umount2(target.c_str(), MNT_DETACH) == 0) return reached(target + " is uncovered");
    outcome = denied("umount2 " + target);
  }
  // Where nothing covers, /proc itself hides: try that.
  if (outcome.error == ENOENT) {
    if (umount2("/proc", MNT_DETACH) == 0) return reached("/proc is gone");
    outcome = denied("umount2 /proc");
  }
  return outcome;
}
