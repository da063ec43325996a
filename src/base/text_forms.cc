// The part of text.h that the privileged programs have no use for.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace atl {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// A non-negative decimal number and what follows it.
Result<std::pair<int64_t, std::string_view>> leading_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc::result_out_of_range) {
    return Error(Code::invalid_argument, "'" + to_printable(text) + "' is too large a number");
  }
  if (problem != std::errc() || value < 0) {
    return Error(Code::invalid_argument,
                 "'" + to_printable(text) + "' does not begin with a number");
  }
  return std::pair(value, text.substr(static_cast<size_t>(end - text.data())));
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    // Eight plain bytes at a time: most output is ASCII.
    while (text.size() >= 8) {
      uint64_t block;
      __builtin_memcpy(&block, text.data(), 8);
      if (block & 0x8080808080808080ULL) break;
      text.remove_prefix(8);
    }
    if (text.empty()) break;
    const size_t length = utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t have = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < have ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) out += k <= have ? kBase64[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

Result<std::string> from_base64(std::string_view text) {
  const Error malformed(Code::invalid_argument, "malformed base64");
  if (text.size() % 4 != 0) return malformed;
  static const auto values = [] {
    std::array<int8_t, 256> table;
    table.fill(-1);
    for (size_t i = 0; i < kBase64.size(); ++i) {
      table[static_cast<uint8_t>(kBase64[i])] = static_cast<int8_t>(i);
    }
    return table;
  }();
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    uint32_t group = 0;
    for (size_t k = 0; k < 4; ++k) {
      const bool padded = i + k >= text.size() - padding;
      const int8_t value = padded ? int8_t{0} : values[static_cast<uint8_t>(text[i + k])];
      if (value < 0) return malformed;
      group = group << 6 | static_cast<uint32_t>(value);
    }
    for (size_t k = 0; k < 3; ++k) out += static_cast<char>(group >> (16 - 8 * k) & 255);
  }
  out.resize(out.size() - padding);
  return out;
}

Result<int64_t> parse_size(std::string_view text) {
  TRY(auto number, leading_number(text));
  auto [value, suffix] = number;
  int shift = 0;
  if (!suffix.empty()) {
    constexpr std::string_view kUnits = "bkmgt";
    const size_t unit = kUnits.find(static_cast<char>(suffix[0] | 0x20));
    const std::string_view rest = suffix.substr(1);
    if (unit == std::string_view::npos ||
        !(rest.empty() || rest == "b" || rest == "B" || rest == "iB")) {
      return Error(Code::invalid_argument,
                   "'" + to_printable(text) + "' is no size; write 512m or 2g");
    }
    shift = static_cast<int>(unit) * 10;
  }
  if (value > (INT64_MAX >> shift)) {
    return Error(Code::invalid_argument, "'" + to_printable(text) + "' is too large a size");
  }
  return value << shift;
}

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  TRY(auto number, leading_number(text));
  const auto [value, unit] = number;
  int64_t factor = 0;
  if (unit == "ms") factor = 1;
  if (unit.empty() || unit == "s") factor = 1'000;
  if (unit == "m" || unit == "min") factor = 60'000;
  if (unit == "h") factor = 3'600'000;
  if (unit == "d") factor = 86'400'000;
  if (factor == 0) {
    return Error(Code::invalid_argument,
                 "'" + to_printable(text) + "' is no duration; write 90s, 5m or 2h");
  }
  constexpr int64_t kCentury = int64_t{36'500} * 86'400'000;
  if (value > kCentury / factor) {
    return Error(Code::invalid_argument,
                 "'" + to_printable(text) + "' is too long; a century (36500d) is the longest");
  }
  return std::chrono::milliseconds(value * factor);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const auto distance = [&](std::string_view other) {
    std::vector<size_t> row(other.size() + 1);
    for (size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j < row.size(); ++j) {
        const size_t above = row[j];
        row[j] = std::min(
            {row[j] + 1, row[j - 1] + 1, diagonal + (word[i - 1] == other[j - 1] ? 0 : 1)});
        diagonal = above;
      }
    }
    return row.back();
  };
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  if (word.size() > 64) return best;
  for (const auto& candidate : known) {
    if (const size_t d = distance(candidate); d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

}  // namespace atl
