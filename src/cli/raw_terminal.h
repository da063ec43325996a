// Our own terminal, lent to a command in a sandbox: every key goes to the command, and its
// terminal is as large as ours.
#pragma once

#include <termios.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "driver/exec.h"

namespace atl::cli {

// What our terminal measures; 24 rows of 80 columns where there is none.
TerminalSize terminal_size();

// While it lives, keys come as they are typed and mean nothing here; afterwards the terminal is as
// it was.
class RawTerminal final {
 public:
  // Code::conflict if stdin is no terminal.
  static Result<std::unique_ptr<RawTerminal>> enter();
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // Between the two it is as it was, for whoever has it while we are stopped.
  void give_back();
  void take_again();

 private:
  RawTerminal(const termios& before, const termios& raw) : before_(before), raw_(raw) {}

  termios before_;
  termios raw_;
};

// Stops us, as Ctrl-Z does, until somebody says go on. Nothing happens if nobody could: without a
// shell that looks after us.
void stop_for_a_while();

// Ctrl-P Ctrl-Q, by which a user leaves a command that runs on.
class LeaveKeys final {
 public:
  // What is the command's of these keys, all of it before a Ctrl-P Ctrl-Q: a Ctrl-P alone waits for
  // the key after it.
  std::string pass(std::string_view keys);
  bool are_complete() const { return complete_; }

 private:
  bool began_ = false;
  bool complete_ = false;
};

}  // namespace atl::cli
