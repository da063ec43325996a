#include "cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "cli/format.h"
#include "os/file.h"

namespace atl::cli {
namespace {

constexpr auto kAtFirst = std::chrono::milliseconds(300);
constexpr auto kPace = std::chrono::milliseconds(200);
constexpr size_t kWidth = 24;

}  // namespace

std::string progress_line(uint64_t files, uint64_t bytes, uint64_t expected, double seconds) {
  const double rate = static_cast<double>(bytes) / std::max(seconds, 0.001);
  const std::string speed = format_bytes(static_cast<uint64_t>(rate)) + "/s";
  if (expected == 0) return fmt::format("{} files, {}, {}", files, format_bytes(bytes), speed);
  const double part = std::min(1.0, static_cast<double>(bytes) / static_cast<double>(expected));
  const auto filled = static_cast<size_t>(part * kWidth);
  std::string bar(filled, '=');
  if (filled < kWidth) bar += '>';
  bar.resize(kWidth, ' ');
  return fmt::format("[{}] {:.0f}% {} of {}, {}", bar, part * 100, format_bytes(bytes),
                     format_bytes(expected), speed);
}

Progress::Progress(const Context& context)
    : shown_(isatty(STDERR_FILENO) == 1 && !context.quiet() && !context.json()),
      next_(began_ + kAtFirst) {}

Progress::~Progress() {
  if (drawn_) static_cast<void>(os::write_all(STDERR_FILENO, "\r\033[K"));
}

void Progress::add_bytes(uint64_t count) {
  bytes_ += count;
  draw();
}

void Progress::draw() {
  const auto now = Clock::now();
  if (!shown_ || now < next_) return;
  next_ = now + kPace;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  const auto line = "\r\033[K" + progress_line(files_, bytes_, expected_, seconds);
  static_cast<void>(os::write_all(STDERR_FILENO, line));
}

}  // namespace atl::cli
