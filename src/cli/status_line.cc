#include "cli/status_line.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "cli/screen.h"
#include "cli/text_width.h"
#include "os/file.h"

namespace atl::cli {
namespace {

constexpr size_t kUsualColumns = 80;

// Ctrl-C ends the program where it stands, with the line still on the terminal. Only what a signal
// handler may do; afterwards the signal does what it always does.
void take_away(int number) {
  constexpr std::string_view kOver = "\r\033[K";
  const ssize_t ignored = ::write(STDERR_FILENO, kOver.data(), kOver.size());
  static_cast<void>(ignored);
  raise(number);
}

constexpr int kDeadly[] = {SIGINT, SIGTERM, SIGHUP};

// Whoever has a handler of his own clears the line himself.
void watch_signals() {
  for (const int number : kDeadly) {
    struct sigaction now{};
    if (sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    struct sigaction ours{};
    ours.sa_handler = take_away;
    ours.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(number, &ours, nullptr);
  }
}

void leave_signals() {
  for (const int number : kDeadly) {
    struct sigaction now{};
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler == take_away)
      signal(number, SIG_DFL);
  }
}

size_t columns_now() {
  return std::max<size_t>(columns_of(STDERR_FILENO).value_or(kUsualColumns), 2);
}

}  // namespace

StatusLine::StatusLine(const Context& context)
    : shown_(can_redraw(STDERR_FILENO) && !context.quiet() && !context.json()) {}

StatusLine::~StatusLine() { clear(); }

// Back to where the line begins, be it rows further up by now, and away with everything from there.
std::string StatusLine::over() const {
  const size_t rows_above = drawn_columns_ == 0 ? 0 : (drawn_columns_ - 1) / columns_now();
  if (rows_above == 0) return "\r\033[K";
  return fmt::format("\r\033[{}A\033[J", rows_above);
}

void StatusLine::draw(std::string_view text) {
  if (!shown_) return;
  // The last column stays free: some terminals wrap as soon as it is filled.
  const std::string line = shortened(text, columns_now() - 1);
  const std::string bytes = over() + line;
  if (drawn_columns_ == 0) watch_signals();
  drawn_columns_ = width_of(line);
  static_cast<void>(os::write_all(STDERR_FILENO, bytes));
}

void StatusLine::clear() {
  if (drawn_columns_ == 0) return;
  static_cast<void>(os::write_all(STDERR_FILENO, over()));
  drawn_columns_ = 0;
  leave_signals();
}

}  // namespace atl::cli
