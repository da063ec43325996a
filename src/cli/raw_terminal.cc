#include "cli/raw_terminal.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace atl::cli {

TerminalSize terminal_size() {
  winsize told{};
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (ioctl(fd, TIOCGWINSZ, &told) == 0 && told.ws_row > 0 && told.ws_col > 0)
      return {told.ws_row, told.ws_col};
  }
  return {};
}

Result<std::unique_ptr<RawTerminal>> RawTerminal::enter() {
  termios before{};
  if (tcgetattr(STDIN_FILENO, &before) != 0) {
    return Error(Code::conflict, "stdin is not a terminal")
        .with_hint("leave out -t to pipe something in: atoll exec -i BOX -- …");
  }
  termios raw = before;
  cfmakeraw(&raw);
  if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) != 0) return os_error("preparing the terminal");
  return std::unique_ptr<RawTerminal>(new RawTerminal(before, raw));
}

std::string LeaveKeys::pass(std::string_view keys) {
  constexpr char kCtrlP = 0x10, kCtrlQ = 0x11;
  std::string passed;
  for (const char key : keys) {
    if (began_ && key == kCtrlQ) {
      complete_ = true;
      break;
    }
    if (began_) passed += kCtrlP;
    began_ = key == kCtrlP;
    if (!began_) passed += key;
  }
  return passed;
}

RawTerminal::~RawTerminal() { give_back(); }

void RawTerminal::give_back() { tcsetattr(STDIN_FILENO, TCSADRAIN, &before_); }
void RawTerminal::take_again() { tcsetattr(STDIN_FILENO, TCSADRAIN, &raw_); }

void stop_for_a_while() {
  struct sigaction usual{}, ours{};
  usual.sa_handler = SIG_DFL;
  if (sigaction(SIGTSTP, &usual, &ours) != 0) return;
  raise(SIGTSTP);
  sigaction(SIGTSTP, &ours, nullptr);
}

}  // namespace atl::cli
