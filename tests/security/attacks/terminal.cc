// Types into the terminal of whoever runs the sandbox (TIOCSTI), so that their shell runs it later;
// and writes to a terminal of the host by its device.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

std::string missing_tiocsti() {
  const auto legacy = read_all("/proc/sys/dev/tty/legacy_tiocsti");
  return legacy && (*legacy)[0] == '0' ? "legacy_tiocsti is off on this host" : "";
}

}  // namespace

// It is not our controlling terminal, so that the kernel asks for CAP_SYS_ADMIN over the host, too.
ATTACK(terminal_input, .title = "type into the caller's terminal", .dossier = 40,
       .cve = "CVE-2017-5226", .user = User::root, .setting = Setting::terminal,
       .stopped_by = kPrivilegedCall, .missing = missing_tiocsti) {
  if (isatty(0) == 0) return not_applicable("stdin is no terminal");
  for (const char letter : std::string("x\n")) {
    if (ioctl(0, TIOCSTI, &letter) != 0) return denied("ioctl(TIOCSTI)");
  }
  return reached("typed into the terminal");
}

ATTACK(host_terminal, .title = "open a terminal of the host", .dossier = 40,
       .stopped_by = Layer::root) {
  const std::string path = told("PTY");
  if (path.empty()) return not_applicable("the host offers no terminal");
  const int terminal = open(path.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0) return denied("open " + path);
  const std::string text = canary();
  if (write(terminal, text.data(), text.size()) < 0) return denied("write " + path);
  return reached("wrote to " + path);
}
