// Who else runs on the host: the victim in /proc; the launcher, which has every power, by its /proc
// files and by signals (signal 0: may we?); another sandbox by /proc/PID/root.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

// They run as root or as another sandbox's ids, so that it takes capabilities over the host, too.
constexpr Layers kRootsProcess = kOutsideProcess | Layer::capabilities;

}  // namespace

ATTACK(host_processes, .title = "see processes of the host", .dossier = 27,
       .stopped_by = Layer::pid_namespace) {
  const std::string path = "/proc/" + told("VICTIM_PID") + "/cmdline";
  const auto line = read_all(path);
  if (!line) return denied("read " + path);
  if (line->find("--victim") == std::string::npos) return denied(ESRCH, "that is another process");
  return reached("the victim's command line");
}

ATTACK(launcher_files, .title = "the host's files through the launcher's root", .user = User::root,
       .setting = Setting::daemon, .stopped_by = kRootsProcess) {
  if (told("LAUNCHER_PID").empty()) return not_applicable("no launcher");
  const std::string path = "/proc/" + told("LAUNCHER_PID") + "/root" + told("SECRET_ROOT");
  const auto secret = read_all(path);
  if (!secret) return denied("read " + path);
  if (secret != canary()) return denied(ESRCH, "that is another process");
  return reached("a file of root through the launcher's root");
}

ATTACK(launcher_memory, .title = "the launcher's memory", .user = User::root,
       .setting = Setting::daemon, .stopped_by = kRootsProcess) {
  if (told("LAUNCHER_PID").empty()) return not_applicable("no launcher");
  const auto name = read_all("/proc/" + told("LAUNCHER_PID") + "/comm");
  if (!name) return denied("read /proc/LAUNCHER/comm");
  if (!name->starts_with("atoll-launcher")) return denied(ESRCH, "that is another process");
  if (!can_open("/proc/" + told("LAUNCHER_PID") + "/mem", O_RDONLY)) return denied("open its mem");
  return reached("the launcher's memory");
}

ATTACK(launcher_signal, .title = "signal the launcher", .user = User::root,
       .setting = Setting::daemon,
       .stopped_by = Layer::pid_namespace | Layer::user_namespace | Layer::landlock) {
  const auto launcher = static_cast<pid_t>(told_number("LAUNCHER_PID", -1));
  if (launcher <= 1) return not_applicable("no launcher");
  if (kill(launcher, 0) != 0) return denied("kill");
  const auto name = read_all("/proc/" + told("LAUNCHER_PID") + "/comm");
  if (name && !name->starts_with("atoll-launcher")) return denied(ESRCH, "another process");
  return reached("the launcher may be signalled");
}

ATTACK(neighbour_files, .title = "another sandbox's files through its root", .user = User::root,
       .setting = Setting::daemon, .stopped_by = kRootsProcess) {
  if (told("NEIGHBOUR_PID").empty()) return not_applicable("no neighbour");
  const std::string path = "/proc/" + told("NEIGHBOUR_PID") + "/root" + told("NEIGHBOUR_FILE");
  const auto secret = read_all(path);
  if (!secret) return denied("read " + path);
  if (*secret != canary()) return denied(ESRCH, "that is another process");
  return reached("a file of another sandbox");
}
