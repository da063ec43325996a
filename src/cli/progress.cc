#include "cli/progress.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/format.h"

namespace atl::cli {
namespace {

constexpr auto kAtFirst = std::chrono::milliseconds(300);
constexpr auto kPace = std::chrono::milliseconds(200);
constexpr size_t kWidth = 24;

}  // namespace

std::string progress_bar(double part) {
  part = std::clamp(part, 0.0, 1.0);
  const auto filled = static_cast<size_t>(part * kWidth);
  std::string bar(filled, '=');
  if (filled < kWidth) bar += '>';
  bar.resize(kWidth, ' ');
  // 100 % is for what has ended.
  return fmt::format("[{}] {}%", bar, static_cast<int>(part * 100));
}

std::string progress_line(uint64_t files, uint64_t bytes, uint64_t expected, double seconds) {
  const double rate = static_cast<double>(bytes) / std::max(seconds, 0.001);
  const std::string speed = format_bytes(static_cast<uint64_t>(rate)) + "/s";
  if (expected == 0) return fmt::format("{} files, {}, {}", files, format_bytes(bytes), speed);
  const double part = static_cast<double>(bytes) / static_cast<double>(expected);
  return fmt::format("{} {} of {}, {}", progress_bar(part), format_bytes(bytes),
                     format_bytes(expected), speed);
}

Progress::Progress(const Context& context) : line_(context), next_(began_ + kAtFirst) {}

void Progress::add_bytes(uint64_t count) {
  bytes_ += count;
  draw();
}

void Progress::draw() {
  const auto now = Clock::now();
  if (!line_.is_shown() || now < next_) return;
  next_ = now + kPace;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  line_.draw(progress_line(files_, bytes_, expected_, seconds));
}

}  // namespace atl::cli
