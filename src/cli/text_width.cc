#include "cli/text_width.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/text.h"

namespace atl::cli {
namespace {

struct Range {
  uint32_t first, last;
};

// Sorted. Marks of the scripts that are written most, and what joins or varies the letter before.
constexpr Range kNoWidth[] = {
    {0x0300, 0x036F},   {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},
    {0x0670, 0x0670},   {0x06D6, 0x06DC}, {0x093C, 0x093C}, {0x0941, 0x0948}, {0x094D, 0x094D},
    {0x0E31, 0x0E31},   {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},
    {0x200B, 0x200F},   {0x202A, 0x202E}, {0x2060, 0x2064}, {0x2066, 0x2069}, {0x20D0, 0x20FF},
    {0x302A, 0x302D},   {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF},
    {0xE0100, 0xE01EF},
};

constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x23F0, 0x23F0},
    {0x23F3, 0x23F3},   {0x25FD, 0x25FE},   {0x2614, 0x2615},   {0x2648, 0x2653},
    {0x267F, 0x267F},   {0x2693, 0x2693},   {0x26A1, 0x26A1},   {0x26AA, 0x26AB},
    {0x26BD, 0x26BE},   {0x26C4, 0x26C5},   {0x26CE, 0x26CE},   {0x26D4, 0x26D4},
    {0x26EA, 0x26EA},   {0x26F2, 0x26F3},   {0x26F5, 0x26F5},   {0x26FA, 0x26FA},
    {0x26FD, 0x26FD},   {0x2705, 0x2705},   {0x270A, 0x270B},   {0x2728, 0x2728},
    {0x274C, 0x274C},   {0x274E, 0x274E},   {0x2753, 0x2755},   {0x2757, 0x2757},
    {0x2795, 0x2797},   {0x27B0, 0x27B0},   {0x27BF, 0x27BF},   {0x2B1B, 0x2B1C},
    {0x2B50, 0x2B50},   {0x2B55, 0x2B55},   {0x2E80, 0x303E},   {0x3041, 0x3098},
    {0x309B, 0xA4CF},   {0xA960, 0xA97C},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
    {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
    {0x16FE0, 0x18CFF}, {0x1AFF0, 0x1B2FF}, {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF},
    {0x1F18E, 0x1F18E}, {0x1F191, 0x1F19A}, {0x1F200, 0x1F320}, {0x1F32D, 0x1F335},
    {0x1F337, 0x1F37C}, {0x1F37E, 0x1F393}, {0x1F3A0, 0x1F3CA}, {0x1F3CF, 0x1F3D3},
    {0x1F3E0, 0x1F3F0}, {0x1F3F4, 0x1F3F4}, {0x1F3F8, 0x1F43E}, {0x1F440, 0x1F440},
    {0x1F442, 0x1F4FC}, {0x1F4FF, 0x1F53D}, {0x1F54B, 0x1F54E}, {0x1F550, 0x1F567},
    {0x1F57A, 0x1F57A}, {0x1F595, 0x1F596}, {0x1F5A4, 0x1F5A4}, {0x1F5FB, 0x1F64F},
    {0x1F680, 0x1F6C5}, {0x1F6CC, 0x1F6CC}, {0x1F6D0, 0x1F6D2}, {0x1F6D5, 0x1F6D7},
    {0x1F6DC, 0x1F6DF}, {0x1F6EB, 0x1F6EC}, {0x1F6F4, 0x1F6FC}, {0x1F7E0, 0x1F7EB},
    {0x1F90C, 0x1F93A}, {0x1F93C, 0x1F945}, {0x1F947, 0x1F9FF}, {0x1FA70, 0x1FAFF},
    {0x20000, 0x3FFFD},
};

template <size_t kSize>
bool is_in(const Range (&ranges)[kSize], uint32_t letter) {
  const auto next =
      std::upper_bound(std::begin(ranges), std::end(ranges), letter,
                       [](uint32_t x, const Range& range) { return x < range.first; });
  return next != std::begin(ranges) && letter <= std::prev(next)->last;
}

uint32_t letter_of(std::string_view sequence) {
  const auto first = static_cast<uint8_t>(sequence[0]);
  if (sequence.size() == 1) return first;
  uint32_t letter = first & (0x7Fu >> sequence.size());
  for (const char c : sequence.substr(1)) letter = letter << 6 | (static_cast<uint8_t>(c) & 0x3F);
  return letter;
}

// The next letter, and how wide it is.
struct Step {
  size_t bytes;
  size_t columns;
};

Step step_of(std::string_view text) {
  const size_t bytes = std::max<size_t>(utf8_sequence(text), 1);
  const uint32_t letter = letter_of(text.substr(0, bytes));
  if (letter < 0x300) return {bytes, 1};
  if (is_in(kNoWidth, letter)) return {bytes, 0};
  return {bytes, is_in(kWide, letter) ? size_t{2} : size_t{1}};
}

}  // namespace

size_t width_of(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const Step step = step_of(text);
    columns += step.columns;
    text.remove_prefix(step.bytes);
  }
  return columns;
}

std::string shortened(std::string_view text, size_t columns) {
  if (width_of(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  size_t used = 0, end = 0;
  while (end < text.size()) {
    const Step step = step_of(text.substr(end));
    if (used + step.columns > columns - 1) break;
    used += step.columns;
    end += step.bytes;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string wrapped(std::string_view text, size_t columns, size_t indent) {
  std::string out;
  size_t used = 0;
  for (const std::string& word : split(text, ' ')) {
    const size_t width = width_of(word);
    if (used > 0 && indent + used + 1 + width > columns) {
      out += "\n" + std::string(indent, ' ');
      used = 0;
    } else if (used > 0) {
      out += ' ';
      ++used;
    }
    out += word;
    used += width;
  }
  return out;
}

}  // namespace atl::cli
