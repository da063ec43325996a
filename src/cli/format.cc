#include "cli/format.h"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/text.h"

namespace atl::cli {
namespace {

// Characters, not bytes: good enough for the scripts that names and commands are written in.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

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
  for (size_t i = 0; i < line.size(); ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    if (byte < 0x20 || byte == 0x7f) line[i] = ' ';
    // C1 controls, which some terminals obey: U+0080 to U+009F, two bytes each.
    if (byte == 0xC2 && i + 1 < line.size() && static_cast<unsigned char>(line[i + 1]) < 0xA0) {
      line[i] = line[i + 1] = ' ';
    }
  }
  return line;
}

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - width_of(row[i]) + 3, ' ');
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace atl::cli
