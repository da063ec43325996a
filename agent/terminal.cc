#include "agent/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace atl::agent {
namespace {

constexpr gid_t kKeptGroup = static_cast<gid_t>(-1);

}  // namespace

Result<Terminal> open_terminal(const Fd& terminals, TerminalSize size, uid_t owner) {
  constexpr int kFlags = O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
  Terminal terminal;
  terminal.master =
      Fd(terminals ? openat(terminals.get(), "ptmx", kFlags) : open("/dev/ptmx", kFlags));
  if (!terminal.master) {
    return os_error("opening a terminal")
        .with_hint("a sandbox has at most 64 of them, and its root file system needs /dev/ptmx");
  }
  const int unlocked = 0;
  if (ioctl(terminal.master.get(), TIOCSPTLCK, &unlocked) != 0)
    return os_error("unlocking a terminal");
  terminal.command = Fd(ioctl(terminal.master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.command) return os_error("opening a terminal's other end");
  if (owner != geteuid() && fchown(terminal.command.get(), owner, kKeptGroup) != 0)
    return os_error("giving a terminal to its user");
  TRY_OK(resize_terminal(terminal.master, size));
  return terminal;
}

Result<> resize_terminal(const Fd& master, TerminalSize size) {
  const winsize told{size.rows, size.columns, 0, 0};
  if (ioctl(master.get(), TIOCSWINSZ, &told) != 0) return os_error("resizing a terminal");
  return {};
}

}  // namespace atl::agent
