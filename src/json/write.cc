#include "json/write.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/text.h"
#include "json/value.h"

namespace atl::json {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr uint64_t kOnes = 0x0101010101010101ULL;
constexpr uint64_t kHighs = 0x8080808080808080ULL;

// True when all eight bytes go out as they are: printable ASCII but for the quote and the
// backslash.
bool is_plain(uint64_t block) {
  const auto has_zero = [](uint64_t x) { return (x - kOnes) & ~x & kHighs; };
  const uint64_t below_space = (block - kOnes * 0x20) & ~block & kHighs;
  return ((block & kHighs) | below_space | has_zero(block ^ kOnes * '"') |
          has_zero(block ^ kOnes * '\\') | has_zero(block ^ kOnes * 0x7F)) == 0;
}

// Bytes of well-formed UTF-8 that need no look. 0xC2 does: it begins the C1 control characters.
constexpr auto kAsIs = [] {
  std::array<bool, 256> table{};
  for (size_t i = 0; i < table.size(); ++i) {
    table[i] = i >= 0x20 && i != '"' && i != '\\' && i != 0x7F && i != 0xC2;
  }
  return table;
}();

void write_escape(std::string& out, unsigned code) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  switch (code) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += kDigits[code >> 4];
      out += kDigits[code & 15];
  }
}

size_t sequence_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xE0) return 2;
  return first < 0xF0 ? 3 : 4;
}

template <typename Number>
void write_number(std::string& out, Number value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, static_cast<size_t>(end - digits));
}

}  // namespace

std::string to_well_formed(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto sequence = text.substr(0, sequence_length(static_cast<unsigned char>(text[0])));
    const bool good = is_utf8(sequence);
    out += good ? sequence : kReplacement;
    text.remove_prefix(good ? sequence.size() : 1);
  }
  return out;
}

namespace {

// The inside of a string. UTF-8 is checked once, when the first byte beyond ASCII turns up.
void write_escaped(std::string& out, std::string_view text) {
  bool checked = false;
  size_t written = 0;
  for (size_t at = 0; at < text.size();) {
    if (text.size() - at >= sizeof(uint64_t)) {
      uint64_t block;
      std::memcpy(&block, text.data() + at, sizeof block);
      if (is_plain(block)) {
        at += sizeof block;
        continue;
      }
    }
    const size_t stop = std::min(at + sizeof(uint64_t), text.size());
    while (at < stop) {
      const auto byte = static_cast<unsigned char>(text[at]);
      if (byte >= 0x80 && !checked) {
        if (!is_utf8(text.substr(at))) {
          out.append(text, written, at - written);
          return write_escaped(out, to_well_formed(text.substr(at)));
        }
        checked = true;
      }
      if (kAsIs[byte]) {
        ++at;
        continue;
      }
      const bool wide = byte == 0xC2;
      const auto code = wide ? static_cast<unsigned char>(text[at + 1]) : byte;
      if (!wide || code < 0xA0) {
        out.append(text, written, at - written);
        write_escape(out, code);
        written = at + (wide ? 2 : 1);
      }
      at += wide ? 2 : 1;
    }
  }
  out.append(text, written);
}

}  // namespace

void write_string(std::string& out, std::string_view text) {
  out += '"';
  write_escaped(out, text);
  out += '"';
}

void write_integer(std::string& out, int64_t value) { write_number(out, value); }

void write_integer(std::string& out, uint64_t value) { write_number(out, value); }

void write_double(std::string& out, double value) {
  if (std::isfinite(value)) {
    write_number(out, value + 0.0);  // turns -0, which would come back as the integer 0, into 0
  } else {
    out += "null";
  }
}

void write_value(std::string& out, const Value& value) {
  const auto text_of = [](const auto& text) { return std::string_view(text.data(), text.size()); };
  const auto close = [&out](char bracket) {
    if (out.back() == ',') {
      out.back() = bracket;
    } else {
      out += bracket;
    }
  };
  switch (value.kind()) {
    case boost::json::kind::null:
      out += "null";
      break;
    case boost::json::kind::bool_:
      out += value.get_bool() ? "true" : "false";
      break;
    case boost::json::kind::int64:
      write_number(out, value.get_int64());
      break;
    case boost::json::kind::uint64:
      write_number(out, value.get_uint64());
      break;
    case boost::json::kind::double_:
      write_double(out, value.get_double());
      break;
    case boost::json::kind::string:
      write_string(out, text_of(value.get_string()));
      break;
    case boost::json::kind::array:
      out += '[';
      for (const Value& element : value.get_array()) {
        write_value(out, element);
        out += ',';
      }
      close(']');
      break;
    case boost::json::kind::object:
      out += '{';
      for (const auto& member : value.get_object()) {
        write_string(out, text_of(member.key()));
        out += ':';
        write_value(out, member.value());
        out += ',';
      }
      close('}');
      break;
  }
}

}  // namespace atl::json
