#include "app/pull_line.h"

#include <unistd.h>

#include <chrono>
#include <string>

#include "cli/progress.h"
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
    std::string line = progress.stage == "pull" ? "fetching the image" : "loading the template";
    if (progress.total > 0)
      line += " " + cli::progress_line(0, progress.done, progress.total, seconds);
    say(std::string(kEmptyLine) + line);
  };
}

}  // namespace atl::app
