#include "telemetry/log.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/clock.h"
#include "telemetry/log_format.h"

namespace atl::telemetry {
namespace {

constexpr std::array<std::string_view, 5> kNames{"debug", "info", "warn", "error", "off"};

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

Format format_for(int fd) {
  if (isatty(fd) == 0) return Format::json;
  const bool plain = !variable("NO_COLOR").empty() || variable("TERM") == "dumb";
  return plain ? Format::text : Format::coloured_text;
}

struct Settings {
  std::atomic<Level> level{find_level(variable("ATOLL_LOG")).value_or(Level::info)};
  std::atomic<int> fd{STDERR_FILENO};
  std::atomic<Format> format{format_for(STDERR_FILENO)};
};

Settings& settings() {
  static Settings all;
  return all;
}

// One write per line, so that lines of several threads and processes never mix. A line that a full
// pipe or disk refuses is lost: waiting for a log reader must not stop the daemon.
void write_line(int fd, std::string_view line) {
  ssize_t written;
  do {
    written = write(fd, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
}

}  // namespace

std::string_view to_string(Level level) { return kNames[static_cast<size_t>(level)]; }

std::optional<Level> find_level(std::string_view name) {
  if (name == "warning") return Level::warn;
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Level>(i);
  }
  return std::nullopt;
}

void set_level(Level level) { settings().level.store(level, std::memory_order_relaxed); }

bool is_logged(Level level) {
  return level != Level::off && level >= settings().level.load(std::memory_order_relaxed);
}

void set_output(int fd, Format format) {
  settings().fd.store(fd, std::memory_order_relaxed);
  settings().format.store(format, std::memory_order_relaxed);
}

void log(Level level, std::string_view message, Fields fields) {
  if (!is_logged(level)) return;
  const int saved_errno = errno;  // callers log between a failed call and reading errno
  const Record record{.time = system_clock().wall(),
                      .level = level,
                      .message = message,
                      .fields = {fields.begin(), fields.size()}};
  write_line(settings().fd.load(std::memory_order_relaxed),
             format_line(record, settings().format.load(std::memory_order_relaxed)));
  errno = saved_errno;
}

}  // namespace atl::telemetry
