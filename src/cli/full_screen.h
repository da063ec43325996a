// The whole terminal for a while: its second screen, keys as they are typed, and signals that are
// news instead of an end in the middle of a line. Whatever ends it, afterwards the terminal shows
// what it showed before, and Ctrl-Z works as everywhere.
#pragma once

#include <signal.h>

#include <memory>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "cli/raw_terminal.h"

namespace atl::cli {

class FullScreen final {
 public:
  // Stdout is a terminal that can be drawn on; stdin may be something else.
  static Result<std::unique_ptr<FullScreen>> open();
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  // In place of what was there. Lines end with \n and fit the terminal.
  Result<> show(std::string_view text);

  enum class News : uint8_t {
    none,    // it is time to look again
    redraw,  // the terminal has another size, or is ours again
    leave,   // q or Ctrl-C was typed, or a signal says so
  };
  Result<News> wait(Millis patience);

 private:
  FullScreen() = default;
  Result<> enter();
  void leave();
  Result<> suspend();
  Result<News> read_signal();
  Result<News> read_keys();

  sigset_t before_{};
  Fd signals_;
  std::unique_ptr<RawTerminal> keys_;  // null while stdin is no terminal
  bool is_entered_ = false;
};

}  // namespace atl::cli
