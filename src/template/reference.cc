#include "template/reference.h"

#include <algorithm>

#include "base/text.h"

namespace atl {
namespace {

constexpr size_t kLongest = 63;

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_joint(char c) { return c == '.' || c == '_' || c == '-'; }

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongest && is_lower_or_digit(text[0]) &&
         std::ranges::all_of(text, [](char c) { return is_lower_or_digit(c) || is_joint(c); });
}

bool is_tag(std::string_view text) {
  return !text.empty() && text.size() <= kLongest && text[0] != '.' && text[0] != '-' &&
         std::ranges::all_of(
             text, [](char c) { return is_lower_or_digit(c) || is_upper(c) || is_joint(c); });
}

}  // namespace

Result<TemplateReference> parse_template_reference(std::string_view text) {
  const size_t colon = text.find(':');
  TemplateReference reference;
  reference.name = text.substr(0, colon);
  if (colon != std::string_view::npos) reference.tag = text.substr(colon + 1);
  if (is_name(reference.name) && is_tag(reference.tag)) return reference;
  return Error(Code::invalid_argument,
               "'" + to_printable(text.substr(0, 200)) + "' is no name of a template")
      .with_hint(
          "NAME[:TAG], each of at most 63 letters, digits, '.', '_' and '-'; a NAME has no "
          "capitals: python:3.12");
}

}  // namespace atl
