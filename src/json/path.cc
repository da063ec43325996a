#include "json/path.h"

#include <algorithm>

#include "json/write.h"

namespace atl::json {
namespace {

constexpr size_t kMostShown = 64;

bool is_plain(std::string_view key) {
  return !key.empty() && key.size() <= kMostShown && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

}  // namespace

std::string quote(std::string_view text) {
  const bool cut = text.size() > kMostShown;
  if (cut) {
    size_t end = kMostShown;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text = text.substr(0, end);
  }
  std::string quoted;
  write_string(quoted, text);
  if (cut) quoted.insert(quoted.size() - 1, "…");
  return quoted;
}

std::string step_to_string(std::string_view key, std::string_view before) {
  if (!is_plain(key)) return "[" + quote(key) + "]";
  return (before.empty() ? "" : ".") + std::string(key);
}

std::string step_to_string(size_t index) { return "[" + std::to_string(index) + "]"; }

std::string to_string(const Path& path) {
  if (path.parent == nullptr) return {};
  std::string text = to_string(*path.parent);
  text += path.index == Path::kKey ? step_to_string(path.key, text) : step_to_string(path.index);
  return text;
}

}  // namespace atl::json
