#include "telemetry/log_format.h"

#include "json/write.h"

namespace atl::telemetry {
namespace {

// Of one value or message. With what escaping makes of them, a line stays below its limit unless it
// has many fields.
constexpr size_t kMostValueBytes = 2048;
constexpr std::string_view kCut = "…";

std::string_view colour_of(Level level) {
  switch (level) {
    case Level::debug:
      return "\x1b[2m";
    case Level::info:
      return "\x1b[32m";
    case Level::warn:
      return "\x1b[33m";
    default:
      return "\x1b[31m";
  }
}

std::string_view padded_name(Level level) {
  switch (level) {
    case Level::debug:
      return "DEBUG";
    case Level::info:
      return "INFO ";
    case Level::warn:
      return "WARN ";
    default:
      return "ERROR";
  }
}

std::string clipped(std::string_view text) {
  if (text.size() <= kMostValueBytes) return std::string(text);
  size_t end = kMostValueBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + std::string(kCut);
}

// The length of a character at the front that changes how what follows is shown without being a
// control character: text direction and line breaks. Such would let a value look like another line.
size_t reshaping_prefix(std::string_view text) {
  for (const std::string_view known :
       {"\u061C", "\u200E", "\u200F", "\u2028", "\u2029", "\u202A", "\u202B", "\u202C", "\u202D",
        "\u202E", "\u2066", "\u2067", "\u2068", "\u2069"}) {
    if (text.starts_with(known)) return known.size();
  }
  return 0;
}

enum class Quotes : uint8_t { escaped, as_they_are };

// Text for a terminal: JSON's escapes without its quotes, and nothing that reshapes the line.
std::string safe_text(std::string_view text, Quotes quotes) {
  std::string escaped;
  json::write_string(escaped, clipped(text));
  std::string_view rest(escaped);
  rest = rest.substr(1, rest.size() - 2);
  std::string safe;
  safe.reserve(rest.size());
  while (!rest.empty()) {
    size_t used = rest[0] == '\\' ? 2 : 1;
    if (quotes == Quotes::as_they_are && rest.starts_with("\\\"")) {
      safe += '"';
    } else if (const size_t length = reshaping_prefix(rest)) {
      safe += "\uFFFD";
      used = length;
    } else {
      safe += rest.substr(0, used);
    }
    rest.remove_prefix(used);
  }
  return safe;
}

bool needs_quotes(std::string_view text) {
  return text.empty() || text.find_first_of(" =\"\\") != std::string_view::npos;
}

void write_text_value(std::string& out, const Field::Value& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    const std::string safe = safe_text(*text, Quotes::escaped);
    const bool quoted = needs_quotes(safe);
    if (quoted) out += '"';
    out += safe;
    if (quoted) out += '"';
  } else if (const auto* flag = std::get_if<bool>(&value)) {
    out += *flag ? "true" : "false";
  } else if (const auto* whole = std::get_if<int64_t>(&value)) {
    json::write_integer(out, *whole);
  } else if (const auto* natural = std::get_if<uint64_t>(&value)) {
    json::write_integer(out, *natural);
  } else {
    json::write_double(out, std::get<double>(value));
  }
}

void write_json_value(std::string& out, const Field::Value& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    json::write_string(out, clipped(*text));
  } else {
    write_text_value(out, value);
  }
}

std::string text_line(const Record& record, Format format) {
  const bool coloured = format == Format::coloured_text;
  const auto paint = [coloured](std::string_view escape) { return coloured ? escape : ""; };
  constexpr std::string_view kDim = "\x1b[2m";
  constexpr std::string_view kPlain = "\x1b[0m";
  constexpr size_t kDateLength = 11;  // of "2026-11-15T"; a person at a terminal knows the day

  std::string line(paint(kDim));
  const std::string time = to_rfc3339(record.time);
  line.append(time, kDateLength, time.size() - kDateLength - 1);
  line += paint(kPlain);
  line += ' ';
  line += paint(colour_of(record.level));
  line += padded_name(record.level);
  line += paint(kPlain);
  line += ' ';
  line += safe_text(record.message, Quotes::as_they_are);
  for (const Field& field : record.fields) {
    std::string entry(" ");
    entry += paint(kDim);
    entry += field.key;
    entry += '=';
    entry += paint(kPlain);
    write_text_value(entry, field.value);
    if (line.size() + entry.size() > kMostLineBytes - 8) {
      line += " …";
      break;
    }
    line += entry;
  }
  line += '\n';
  return line;
}

std::string json_line(const Record& record) {
  std::string line = "{\"ts\":\"" + to_rfc3339(record.time) + "\",\"level\":\"";
  line += to_string(record.level);
  line += "\",\"msg\":";
  json::write_string(line, clipped(record.message));
  for (const Field& field : record.fields) {
    const bool taken = field.key == "ts" || field.key == "level" || field.key == "msg";
    std::string entry(",");
    json::write_string(entry, std::string(field.key) + (taken ? "_" : ""));
    entry += ':';
    write_json_value(entry, field.value);
    if (line.size() + entry.size() > kMostLineBytes - 32) {
      line += ",\"truncated\":true";
      break;
    }
    line += entry;
  }
  line += "}\n";
  return line;
}

}  // namespace

std::string format_line(const Record& record, Format format) {
  return format == Format::json ? json_line(record) : text_line(record, format);
}

}  // namespace atl::telemetry
