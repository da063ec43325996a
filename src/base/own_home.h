// A home of a sandbox's own: /home/NAME, where a profile wants it instead of /home/user.
#pragma once

#include <algorithm>
#include <string_view>

namespace atl {

constexpr std::string_view kUsualHome = "/home/user";

// Whether it is a name that a driver makes: one plain part below /home. It becomes a line of
// /etc/passwd and a place that is mounted, so nothing else may be in it.
constexpr bool is_own_home(std::string_view path) {
  constexpr std::string_view kAbove = "/home/";
  if (!path.starts_with(kAbove)) return false;
  const std::string_view name = path.substr(kAbove.size());
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= 32 && is_letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || c == '-' || c == '.'; });
}

}  // namespace atl
