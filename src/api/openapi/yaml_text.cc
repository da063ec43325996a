#include "api/openapi/yaml_text.h"

#include <algorithm>

#include "json/write.h"

namespace atl::api::openapi {
namespace {

std::string_view view(boost::json::string_view text) { return {text.data(), text.size()}; }

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '/' || c == '{' || c == '}' || c == '.' || c == ':';
}

// What no reader of YAML takes for anything but this text.
bool is_plain(std::string_view text) {
  if (text.empty() || text.ends_with(':')) return false;
  const char first = text.front();
  const bool begins_well =
      (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '/';
  const bool is_other = text == "true" || text == "false" || text == "null";
  return begins_well && !is_other && std::ranges::all_of(text, is_word);
}

void write_scalar(std::string& out, const json::Value& value) {
  if (value.is_string() && is_plain(view(value.as_string()))) {
    out += view(value.as_string());
  } else {
    json::write_value(out, value);  // JSON is YAML
  }
}

void write_key(std::string& out, std::string_view key) {
  if (is_plain(key)) {
    out += key;
  } else {
    json::write_string(out, key);
  }
  out += ':';
}

// Short lists and objects of plain things stand in one line, if they fit.
bool is_short(const json::Value& value) {
  std::string text;
  json::write_value(text, value);
  return text.size() <= 80;
}

void write_below(std::string& out, const json::Value& value, size_t depth);

void write_paragraph(std::string& out, std::string_view text, size_t depth) {
  out += text.ends_with('\n') ? " |\n" : " |-\n";
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) out.append(2 * depth, ' ') += text.substr(at, end - at);
    out += '\n';
    at = end + 1;
  }
}

void write_after_key(std::string& out, const json::Value& value, size_t depth) {
  const bool is_tree = value.is_object() || value.is_array();
  if (value.is_string() && view(value.as_string()).find('\n') != std::string_view::npos) {
    write_paragraph(out, view(value.as_string()), depth);
  } else if (!is_tree || is_short(value)) {
    out += ' ';
    write_scalar(out, value);
    out += '\n';
  } else {
    out += '\n';
    write_below(out, value, depth);
  }
}

void write_below(std::string& out, const json::Value& value, size_t depth) {
  if (const auto* object = value.if_object()) {
    for (const auto& member : *object) {
      out.append(2 * depth, ' ');
      write_key(out, view(member.key()));
      // Paths and methods are headings, however little is below them.
      if (depth < 3 && member.value().is_object()) {
        out += '\n';
        write_below(out, member.value(), depth + 1);
      } else {
        write_after_key(out, member.value(), depth + 1);
      }
    }
    return;
  }
  for (const auto& element : value.as_array()) {
    if (element.is_object() && !is_short(element)) {
      std::string lines;
      write_below(lines, element, depth + 1);
      lines[2 * depth] = '-';  // in the indentation of the first
      out += lines;
      continue;
    }
    out.append(2 * depth, ' ');
    out += '-';
    write_after_key(out, element, depth + 1);
  }
}

}  // namespace

std::string to_yaml(const json::Value& value) {
  std::string out;
  write_below(out, value, 0);
  return out;
}

}  // namespace atl::api::openapi
