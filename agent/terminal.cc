#include "agent/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "agent/process_tree.h"
#include "os/process.h"

namespace atl::agent {
namespace {

constexpr gid_t kKeptGroup = static_cast<gid_t>(-1);

// Whatever lies where its name leads. gVisor has no such call, and there by its name.
Fd open_other_end(const Fd& terminals, const Fd& master) {
  constexpr int kFlags = O_RDWR | O_NOCTTY | O_CLOEXEC;
  Fd end(ioctl(master.get(), TIOCGPTPEER, kFlags));
  unsigned number = 0;
  if (end || terminals || (errno != ENOTTY && errno != EINVAL) ||
      ioctl(master.get(), TIOCGPTN, &number) != 0) {
    return end;
  }
  return Fd(open(("/dev/pts/" + std::to_string(number)).c_str(), kFlags | O_NOFOLLOW));
}

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
  terminal.command = open_other_end(terminals, terminal.master);
  if (!terminal.command) return os_error("opening a terminal's other end");
  if (owner != geteuid() && fchown(terminal.command.get(), owner, kKeptGroup) != 0)
    return os_error("giving a terminal to its user");
  TRY_OK(resize_terminal(terminal.master, size));
  return terminal;
}

std::string press_signal_keys(const Fd& master, pid_t session, std::string_view typed) {
  termios settings{};
  if (tcgetattr(master.get(), &settings) != 0 || (settings.c_lflag & ISIG) == 0)
    return std::string(typed);
  std::string left;
  for (const char key : typed) {
    const auto code = static_cast<cc_t>(key);
    const int number = code == settings.c_cc[VINTR]   ? SIGINT
                       : code == settings.c_cc[VQUIT] ? SIGQUIT
                                                      : 0;
    if (number == 0) left += key;
    for (const auto& process : number == 0 ? std::vector<os::ProcessStat>() : os::all_processes()) {
      if (process.session == session) signal_process(process, number);
    }
  }
  return left;
}

Result<> resize_terminal(const Fd& master, TerminalSize size) {
  const winsize told{size.rows, size.columns, 0, 0};
  if (ioctl(master.get(), TIOCSWINSZ, &told) != 0) return os_error("resizing a terminal");
  return {};
}

}  // namespace atl::agent
