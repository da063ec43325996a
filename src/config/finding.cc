#include "config/finding.h"

#include <algorithm>

#include "base/text.h"
#include "json/write.h"

namespace atl::config {
namespace {

void add_member(std::string& out, std::string_view name, std::string_view text) {
  if (out.back() != '{') out += ',';
  json::write_string(out, name);
  out += ':';
  json::write_string(out, text);
}

void add_number(std::string& out, std::string_view name, int number) {
  out += ',';
  json::write_string(out, name);
  out += ':' + std::to_string(number);
}

}  // namespace

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
  }
  return "";
}

std::string_view to_string(Problem problem) {
  switch (problem) {
    case Problem::malformed:
      return "malformed";
    case Problem::unknown_key:
      return "unknown_key";
    case Problem::bad_value:
      return "bad_value";
    case Problem::over_maximum:
      return "over_maximum";
    case Problem::variable:
      return "variable";
    case Problem::not_built:
      return "not_built";
    case Problem::host_control:
      return "host_control";
    case Problem::no_effect:
      return "no_effect";
    case Problem::other_spelling:
      return "other_spelling";
  }
  return "";
}

std::string to_text(const Finding& finding) {
  std::string text = to_printable(finding.file);
  if (finding.line > 0) {
    text += ":" + std::to_string(finding.line) + ":" + std::to_string(finding.column);
  }
  text += ": " + std::string(to_string(finding.severity)) + ": ";
  if (!finding.key.empty()) text += finding.key + ": ";
  text += finding.message + "\n";
  if (!finding.hint.empty()) text += "  hint: " + finding.hint + "\n";
  return text;
}

std::string to_json(const std::vector<Finding>& findings) {
  std::string out = "[";
  for (const Finding& finding : findings) {
    if (out.size() > 1) out += ',';
    out += '{';
    add_member(out, "severity", to_string(finding.severity));
    add_member(out, "problem", to_string(finding.problem));
    add_member(out, "file", finding.file);
    add_number(out, "line", finding.line);
    add_number(out, "column", finding.column);
    add_member(out, "key", finding.key);
    add_member(out, "message", finding.message);
    add_member(out, "hint", finding.hint);
    out += '}';
  }
  return out + "]";
}

bool has_errors(const std::vector<Finding>& findings) {
  return std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.severity == Severity::error; });
}

}  // namespace atl::config
