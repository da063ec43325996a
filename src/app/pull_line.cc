#include "app/pull_line.h"

#include <unistd.h>

#include <chrono>
#include <string>

#include "cli/making_line.h"
#include "os/file.h"

namespace atl::app {
namespace {

constexpr auto kPace = std::chrono::milliseconds(100);
constexpr std::string_view kEmptyLine = "\r\x1b[K";

// One that cannot be drawn is none.
void say(const std::string& text) { (void)os::write_all(STDERR_FILENO, text); }

}  // namespace

ProgressListener pull_line() {
  using Clock = std::chrono::steady_clock;
  if (isatty(STDERR_FILENO) == 0) return {};
  return [began = Clock::now(), next = Clock::time_point()](const Progress& progress) mutable {
    if (progress.is_over) return say(std::string(kEmptyLine));
    const auto now = Clock::now();
    if (now < next) return;
    next = now + kPace;
    const double seconds = std::chrono::duration<double>(now - began).count();
    say(std::string(kEmptyLine) +
        cli::making_text(progress.stage, progress.done, progress.total, seconds));
  };
}

}  // namespace atl::app
