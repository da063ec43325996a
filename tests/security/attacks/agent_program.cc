// Overwrites the program that runs us from outside, the agent, through /proc/PID/exe, so that the
// next sandbox runs ours (CVE-2019-5736). Nothing is written: a text that is busy counts as
// reached, because whoever gets so far only has to wait for the program's end.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

Outcome reopen_for_writing(const std::string& path) {
  if (can_open(path, O_WRONLY) || errno == ETXTBSY) return reached(path + " can be written");
  return denied("open " + path + " for writing");
}

}  // namespace

// The agent is not dumpable, and its file belongs to a user who is nobody here. Landlock is no
// help: the agent is in the same domain, and a busy text is told before Landlock is asked.
ATTACK(agent_program, .title = "overwrite the agent's program", .dossier = 24,
       .cve = "CVE-2019-5736", .user = User::root,
       .stopped_by = Layer::capabilities | Layer::user_namespace) {
  return reopen_for_writing("/proc/" + std::to_string(getppid()) + "/exe");
}

// The host meanwhile runs a script whose interpreter is /proc/self/exe: whoever executes it becomes
// a copy of the agent for a moment, dumpable and of our own uid; only the file's owner is
// another's.
ATTACK(script_interpreter, .title = "catch the agent as a script's interpreter", .dossier = 24,
       .cve = "CVE-2019-5736", .user = User::root, .setting = Setting::script,
       .stopped_by = Layer::user_namespace) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(5);
  const std::string agent = std::to_string(getppid());
  Outcome last = denied(ESRCH, "nobody to catch");
  while (Clock::now() < end) {
    DIR* processes = opendir("/proc");
    if (processes == nullptr) return denied("opendir /proc");
    while (const dirent* entry = readdir(processes)) {
      const std::string pid = entry->d_name;
      if (atoi(entry->d_name) <= 0 || pid == agent || pid == std::to_string(getpid())) continue;
      const auto name = read_all("/proc/" + pid + "/comm");
      if (!name || !(name->starts_with("atoll-agent") || *name == "agent\n")) continue;
      const auto status = read_all("/proc/" + pid + "/status");
      // The launcher's and other agents are attacked elsewhere: this is about children of ours.
      if (!status || status->find("PPid:\t" + agent + "\n") == std::string::npos) continue;
      last = reopen_for_writing("/proc/" + pid + "/exe");
      if (last.kind == Outcome::Kind::reached) break;
    }
    closedir(processes);
    if (last.kind == Outcome::Kind::reached) break;
  }
  return last;
}

// What lies in a read-only directory of the host is a target for whoever runs it there next.
ATTACK(volume_program, .title = "overwrite a program in a read-only volume", .dossier = 24,
       .user = User::root, .stopped_by = Layer::root | Layer::user_namespace | Layer::landlock) {
  const std::string path = told("SHARED") + "/atoll-agent-script";
  if (!can_open(path, O_WRONLY)) return denied("open " + path + " for writing");
  return reached(path + " can be written");
}
