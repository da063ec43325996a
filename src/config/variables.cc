#include "config/variables.h"

#include <algorithm>

#include "base/text.h"

namespace atl::config {
namespace {

constexpr size_t kLongestName = 256;

bool is_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && name.size() <= kLongestName && is_letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

Error malformed(std::string_view what) {
  return Error(Code::invalid_argument, std::string(what))
      .with_hint("the forms are ${NAME} and ${NAME:-default}; $${ is the text ${");
}

Result<> add(Expanded& expanded, std::string_view text) {
  if (expanded.text.size() + text.size() > kLongestText) {
    return Error(Code::too_large, "the text, with its variables, is longer than 64 KiB");
  }
  expanded.text += text;
  return {};
}

// What stands between the braces.
Result<> add_variable(Expanded& expanded, std::string_view inside, const Environment& environment) {
  const size_t colon = inside.find(':');
  const std::string_view name = inside.substr(0, colon);
  if (!is_name(name)) return malformed("there is no variable's name between the braces");
  const auto value = environment(name);
  if (colon == std::string_view::npos) {
    if (!value) {
      return Error(Code::not_found, "the variable " + std::string(name) + " is not set")
          .with_hint("set it, or give a default: ${" + std::string(name) + ":-default}");
    }
  } else if (!inside.substr(colon).starts_with(":-")) {
    return malformed("after " + std::string(name) + " comes ':' without '-'");
  } else if (!value || value->empty()) {
    return add(expanded, inside.substr(colon + 2));
  }
  TRY_OK(add(expanded, *value));
  expanded.variables.emplace_back(name);
  return {};
}

}  // namespace

bool has_variables(std::string_view text) { return text.find("${") != std::string_view::npos; }

Result<Expanded> expand(std::string_view text, const Environment& environment) {
  Expanded expanded;
  while (!text.empty()) {
    const size_t open = text.find("${");
    if (open != std::string_view::npos && open > 0 && text[open - 1] == '$') {
      TRY_OK(add(expanded, text.substr(0, open - 1)));
      TRY_OK(add(expanded, "${"));
      text.remove_prefix(open + 2);
      continue;
    }
    TRY_OK(add(expanded, text.substr(0, open)));
    if (open == std::string_view::npos) break;
    const size_t close = text.find('}', open);
    if (close == std::string_view::npos) return malformed("a brace after $ is not closed");
    TRY_OK(add_variable(expanded, text.substr(open + 2, close - open - 2), environment));
    text.remove_prefix(close + 1);
  }
  return expanded;
}

}  // namespace atl::config
