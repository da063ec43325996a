#include "policy/requirement.h"

#include <algorithm>
#include <array>
#include <compare>

#include "json/path.h"

namespace atl::policy {
namespace {

constexpr size_t kLongestName = 64;
constexpr size_t kMostParts = 4;
constexpr size_t kMostDigits = 9;
constexpr std::string_view kDigits = "0123456789";

struct Sign {
  std::string_view text;
  Comparison meaning;
};
// Longer ones first: > is in >=.
constexpr std::array kSigns = {Sign{">=", Comparison::at_least}, Sign{"<=", Comparison::at_most},
                               Sign{"==", Comparison::equal}, Sign{">", Comparison::more},
                               Sign{"<", Comparison::less}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestName || name.front() == '-') return false;
  return std::ranges::all_of(name, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("._+-").find(c) != std::string_view::npos;
  });
}

// Digits and dots from the beginning of `text`; `length` is how much of it they are.
std::vector<int64_t> read_numbers(std::string_view text, size_t& length) {
  std::vector<int64_t> parts;
  length = 0;
  while (parts.size() < kMostParts) {
    const size_t digits = std::min(text.find_first_not_of(kDigits, length), text.size()) - length;
    if (digits == 0 || digits > kMostDigits) break;
    int64_t part = 0;
    for (const char c : text.substr(length, digits)) part = part * 10 + (c - '0');
    parts.push_back(part);
    length += digits;
    if (length + 1 >= text.size() || text[length] != '.' || !is_digit(text[length + 1])) break;
    ++length;
  }
  return parts;
}

}  // namespace

Result<Requirement> parse_requirement(std::string_view text) {
  const auto bad = [&] {
    return Error(Code::invalid_argument,
                 "expected a program, or one with its version such as python>=3.11; not " +
                     json::quote(text.substr(0, 80)));
  };
  Requirement requirement{.text = std::string(text)};
  std::string_view name = text;
  for (const Sign& sign : kSigns) {
    const size_t at = text.find(sign.text);
    if (at == std::string_view::npos) continue;
    name = text.substr(0, at);
    requirement.comparison = sign.meaning;
    const std::string_view version = trim(text.substr(at + sign.text.size()));
    size_t length = 0;
    requirement.version = read_numbers(version, length);
    if (requirement.version.empty() || length != version.size()) return bad();
    break;
  }
  requirement.program = trim(name);
  if (!is_name(requirement.program)) return bad();
  return requirement;
}

std::vector<std::string> names_of(const Requirement& requirement) {
  const std::string& program = requirement.program;
  if (program == "python" || program == "pip") return {program + "3", program};
  if (program == "node") return {program, "nodejs"};
  return {program};
}

std::vector<int64_t> find_version(std::string_view said) {
  std::vector<int64_t> first;
  for (size_t at = 0; at < said.size();) {
    if (!is_digit(said[at])) {
      ++at;
      continue;
    }
    size_t length = 0;
    auto parts = read_numbers(said.substr(at), length);
    if (parts.size() > 1) return parts;
    if (first.empty()) first = std::move(parts);
    at = std::min(said.find_first_not_of(kDigits, at), said.size());
  }
  return first;
}

bool is_met(const Requirement& requirement, const std::vector<int64_t>& version) {
  if (requirement.comparison == Comparison::any) return true;
  if (version.empty()) return false;
  std::array<int64_t, kMostParts> has{};
  std::array<int64_t, kMostParts> wants{};
  std::ranges::copy(version, has.begin());
  std::ranges::copy(requirement.version, wants.begin());
  // "== 3.11" is any 3.11; only what is said is compared.
  if (requirement.comparison == Comparison::equal)
    return std::equal(wants.begin(), wants.begin() + std::ssize(requirement.version), has.begin());
  const auto order = has <=> wants;
  switch (requirement.comparison) {
    case Comparison::at_least:
      return order >= 0;
    case Comparison::more:
      return order > 0;
    case Comparison::at_most:
      return order <= 0;
    case Comparison::less:
      return order < 0;
    case Comparison::any:
    case Comparison::equal:
      break;
  }
  return true;
}

std::string to_text(const std::vector<int64_t>& version) {
  std::string text;
  for (const int64_t part : version) text += (text.empty() ? "" : ".") + std::to_string(part);
  return text;
}

}  // namespace atl::policy
