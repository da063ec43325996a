#include "cli/scrubber.h"

#include <algorithm>
#include <cctype>

#include "base/secret_name.h"

namespace atl::cli {
namespace {

constexpr size_t kShortestSecret = 6;
constexpr std::string_view kMark = "(left out)";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_name(char c) { return is_word(c) || c == '-' || c == '.'; }
// Where a value without quotes ends.
bool ends_value(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0 || c == ',' || c == ';' || c == '&' ||
         c == '"' || c == '\'';
}

void replace_all(std::string& text, std::string_view what) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), kMark);
    at += kMark.size();
  }
}

size_t end_of_value(std::string_view text, size_t begin) {
  size_t end = begin;
  while (end < text.size() && !ends_value(text[end])) ++end;
  return end;
}

// "Bearer abc", "Basic abc"
void scrub_authorization(std::string& text, std::string_view scheme) {
  for (size_t at = text.find(scheme); at != std::string::npos; at = text.find(scheme, at)) {
    const size_t begin = at + scheme.size();
    text.replace(begin, end_of_value(text, begin) - begin, kMark);
    at = begin + kMark.size();
  }
}

// "atk_" or "ast_", and what belongs to it; a token has dots and colons in it.
void scrub_keys(std::string& text, std::string_view prefix, std::string_view besides) {
  for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) {
    size_t end = at + prefix.size();
    while (end < text.size() && (is_word(text[end]) || besides.find(text[end]) != besides.npos)) {
      ++end;
    }
    text.replace(at, end - at, kMark);
    at += kMark.size();
  }
}

// "://user:password@host"
void scrub_urls(std::string& text) {
  for (size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at)) {
    at += 3;
    size_t end = at;
    while (end < text.size() && !ends_value(text[end]) && text[end] != '/') ++end;
    const size_t sign = text.substr(at, end - at).rfind('@');
    if (sign == std::string::npos) continue;
    text.replace(at, sign, kMark);
    at += kMark.size();
  }
}

// `name=value`, `name: value`, `"name":"value"`
void scrub_assignments(std::string& text) {
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '=' && text[at] != ':') {
      ++at;
      continue;
    }
    size_t name_end = at;
    if (name_end > 0 && (text[name_end - 1] == '"' || text[name_end - 1] == '\'')) --name_end;
    size_t name = name_end;
    while (name > 0 && is_name(text[name - 1])) --name;
    ++at;
    if (!names_a_secret(std::string_view(text).substr(name, name_end - name))) continue;
    size_t begin = at;
    while (begin < text.size() && text[begin] == ' ') ++begin;
    const bool quoted = begin < text.size() && (text[begin] == '"' || text[begin] == '\'');
    size_t end = begin;
    if (quoted) {
      const char quote = text[begin++];
      end = begin;
      while (end < text.size() && text[end] != quote) end += text[end] == '\\' ? 2 : 1;
      end = std::min(end, text.size());
    } else {
      end = end_of_value(text, begin);
    }
    if (end == begin) continue;
    text.replace(begin, end - begin, kMark);
    at = begin + kMark.size();
  }
}

}  // namespace

void Scrubber::add_secret(std::string value) {
  while (!value.empty() && std::isspace(static_cast<unsigned char>(value.back())) != 0)
    value.pop_back();
  if (value.size() >= kShortestSecret) secrets_.push_back(std::move(value));
  // A secret that holds another goes first.
  std::ranges::sort(secrets_, std::ranges::greater(), &std::string::size);
}

void Scrubber::add_environment(const char* const* environment) {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    const size_t sign = entry.find('=');
    if (sign != std::string_view::npos && names_a_secret(entry.substr(0, sign))) {
      add_secret(std::string(entry.substr(sign + 1)));
    }
  }
}

std::string Scrubber::scrub(std::string_view text) const {
  std::string clean(text);
  for (const auto& secret : secrets_) replace_all(clean, secret);
  scrub_keys(clean, "atk_", "");
  scrub_keys(clean, "ast_", ".:");
  scrub_authorization(clean, "Bearer ");
  scrub_authorization(clean, "Basic ");
  scrub_urls(clean);
  scrub_assignments(clean);
  return clean;
}

}  // namespace atl::cli
