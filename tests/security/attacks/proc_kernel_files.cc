// Files of /proc that steer or show the whole kernel. Opened for writing, never written:
// core_pattern and modprobe name programs that the kernel runs as root of the host.
#include <fcntl.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

// They are covered, and belong to root of the host: no capability helps. Landlock lets /proc be
// written, because processes write to entries of their own.
constexpr Layers kWrite = Layer::proc_masks | Layer::user_namespace;

Outcome open_for_writing(const char* path) {
  if (!can_open(path, O_WRONLY)) return denied(std::string("open ") + path);
  return reached(std::string(path) + " can be written");
}

Outcome read_some(const char* path) {
  const auto text = read_all(path);
  if (!text) return denied(std::string("read ") + path);
  if (text->empty()) return denied(ENODATA, std::string(path) + " is empty");
  return reached(std::string(path) + " can be read");
}

}  // namespace

ATTACK(
    core_pattern, .title = "write core_pattern", .dossier = 18, .user = User::root,
    .stopped_by = kWrite, .missing = [] { return missing_file("/proc/sys/kernel/core_pattern"); }) {
  return open_for_writing("/proc/sys/kernel/core_pattern");
}

ATTACK(
    modprobe_path, .title = "write the path of modprobe", .dossier = 18, .user = User::root,
    .stopped_by = kWrite, .missing = [] { return missing_file("/proc/sys/kernel/modprobe"); }) {
  return open_for_writing("/proc/sys/kernel/modprobe");
}

ATTACK(
    binfmt_misc, .title = "register an interpreter", .dossier = 18, .user = User::root,
    .stopped_by = kWrite,
    .missing = [] { return missing_file("/proc/sys/fs/binfmt_misc/register"); }) {
  return open_for_writing("/proc/sys/fs/binfmt_misc/register");
}

ATTACK(
    sysrq_trigger, .title = "pull the emergency brake", .dossier = 19, .user = User::root,
    .stopped_by = kWrite, .missing = [] { return missing_file("/proc/sysrq-trigger"); }) {
  return open_for_writing("/proc/sysrq-trigger");
}

ATTACK(
    kcore, .title = "read the kernel's memory", .dossier = 19, .user = User::root,
    .stopped_by = Layer::proc_masks | Layer::user_namespace | Layer::capabilities,
    .missing = [] { return missing_file("/proc/kcore"); }) {
  return read_some("/proc/kcore");
}

ATTACK(
    kallsyms, .title = "read the kernel's symbols", .dossier = 19, .stopped_by = Layer::proc_masks,
    .missing = [] { return missing_file("/proc/kallsyms"); }) {
  return read_some("/proc/kallsyms");
}

ATTACK(
    timer_list, .title = "read the kernel's timers", .dossier = 19, .user = User::root,
    .stopped_by = Layer::proc_masks | Layer::user_namespace,
    .missing = [] { return missing_file("/proc/timer_list"); }) {
  return read_some("/proc/timer_list");
}

// What a mask hides must stay hidden when the mask's source, /dev/null, is not what it seems
// (CVE-2025-31133) or when a write to /proc is led elsewhere (CVE-2025-52881).
ATTACK(proc_sys_write, .title = "write any sysctl", .cve = "CVE-2025-31133", .user = User::root,
       .stopped_by = kWrite) {
  return open_for_writing("/proc/sys/kernel/panic");
}

ATTACK(proc_attr_redirect, .title = "write under /proc through a link", .cve = "CVE-2025-52881",
       .user = User::root, .stopped_by = kWrite) {
  if (!can_open("/proc/thread-self/../../../sys/kernel/panic_on_oops", O_WRONLY)) {
    return denied("open /proc/thread-self/../../../sys/kernel/panic_on_oops");
  }
  return reached("a sysctl through thread-self");
}
