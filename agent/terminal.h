// A terminal of a command: the agent keeps the master's end, the command gets the other.
//
// The other end is taken from the master itself, never by a name in /dev/pts, which the sandbox's
// root may mount over. What can be typed into a terminal from outside (TIOCSTI) is seccomp's to
// refuse.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace atl::agent {

struct TerminalSize {
  uint16_t rows = 0, columns = 0;
};

struct Terminal {
  Fd master;   // does not block
  Fd command;  // the command's stdin, stdout and stderr
};

// From the /dev/pts that is given, or the one of our own root. `owner` may open it again by its
// name, as programs do that ask for a password.
Result<Terminal> open_terminal(const Fd& terminals, TerminalSize size, uid_t owner);

// Tells the command, too (SIGWINCH).
// For a kernel whose terminals make no signals of keys (gVisor's): makes them, if the terminal's
// settings say so, for everybody in the session, and gives back what else was typed. Who is in the
// foreground such a kernel tells nobody outside of the session.
std::string press_signal_keys(const Fd& master, pid_t session, std::string_view typed);

Result<> resize_terminal(const Fd& master, TerminalSize size);

}  // namespace atl::agent
