#include "cli/format.h"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/text.h"

namespace atl::cli {
std::optional<WallTime> find_time(std::string_view text) {
  std::tm parts{};
  int millis = 0;
  const std::string copy(text.substr(0, 40));
  const int read =
      std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &millis);
  if (read < 6) return std::nullopt;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return WallTime(std::chrono::seconds(timegm(&parts))) + Millis(millis);
}

std::string format_ms(double ms) {
  if (ms < 1) return fmt::format("{:.2f} ms", ms);
  if (ms < 10) return fmt::format("{:.1f} ms", ms);
  if (ms < 1'000) return fmt::format("{:.0f} ms", ms);
  if (ms < 60'000) return fmt::format("{:.2f} s", ms / 1'000);
  const auto seconds = static_cast<int64_t>(ms / 1'000);
  return fmt::format("{}m {}s", seconds / 60, seconds % 60);
}

std::string format_bytes(uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1'000 && unit + 1 < std::size(kUnits)) {
    value /= 1'024;
    ++unit;
  }
  if (unit == 0 || value >= 10) return fmt::format("{:.0f} {}", value, kUnits[unit]);
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_span(Millis span) {
  const int64_t seconds = std::max<int64_t>(span.count(), 0) / 1'000;
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (seconds < 2 * 3'600) return fmt::format("{}m", seconds / 60);
  if (seconds < 2 * 86'400) return fmt::format("{}h", seconds / 3'600);
  return fmt::format("{}d", seconds / 86'400);
}

std::string format_since(std::string_view text, WallTime now) {
  const auto time = find_time(text);
  return time ? format_span(now - *time) : single_line(text);
}

std::string format_until(std::string_view text, WallTime now) {
  if (text.empty()) return "never";
  const auto time = find_time(text);
  if (!time) return single_line(text);
  return *time <= now ? "now" : "in " + format_span(*time - now);
}

std::string single_line(std::string_view text) {
  std::string line = to_printable(text);
  const auto byte_at = [&](size_t i) -> unsigned {
    return i < line.size() ? static_cast<unsigned char>(line[i]) : 0;
  };
  for (size_t i = 0; i < line.size(); ++i) {
    const unsigned byte = byte_at(i);
    if (byte < 0x20 || byte == 0x7f) line[i] = ' ';
    // C1 controls, which some terminals obey: U+0080 to U+009F, two bytes each.
    if (byte == 0xC2 && byte_at(i + 1) < 0xA0) line[i] = line[i + 1] = ' ';
    // Line ends of Unicode, and what turns the direction of writing around: the rest of the row
    // would read backwards. U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069.
    if (byte == 0xE2) {
      const unsigned second = byte_at(i + 1), third = byte_at(i + 2);
      const bool turns = (second == 0x80 &&
                          (third == 0x8E || third == 0x8F || (third >= 0xA8 && third <= 0xAE))) ||
                         (second == 0x81 && third >= 0xA6 && third <= 0xA9);
      if (turns) line.replace(i, 3, " ");
    }
  }
  return line;
}

}  // namespace atl::cli
