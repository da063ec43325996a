#include "policy/dependencies.h"

#include <algorithm>

#include "base/text.h"
#include "policy/written_value.h"

namespace atl::policy {
namespace {

// NAME[=VERSION]. One that ends with a minus would be removed.
bool is_system_package(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.:~=-";
  return is_package(text) && !text.ends_with('-') &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

Result<std::vector<std::string>> to_packages(const std::string& field, const json::Value& value,
                                             bool (*is_fine)(std::string_view)) {
  const json::Array* list = value.if_array();
  if (list == nullptr) return wrong(field, "expected a list of packages");
  if (list->size() > kMostPackages) return wrong(field, "it has more than 200 entries");
  std::vector<std::string> packages;
  for (const json::Value& one : *list) {
    const auto text = text_of(one);
    if (!text || !is_fine(*text)) {
      return wrong(field, "each is a package, on a line of 1 to 500 bytes, and no option");
    }
    packages.emplace_back(*text);
  }
  return packages;
}

}  // namespace

bool is_package(std::string_view text) {
  return !text.empty() && text.size() <= kLongestPackage && text[0] != '-' && is_utf8(text) &&
         std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

Result<Dependencies> read_dependencies(const json::Value& value) {
  const json::Object* object = value.if_object();
  constexpr std::string_view kExpected = "expected lists of packages for pip, npm or apt";
  if (object == nullptr) return wrong("dependencies", kExpected);
  Dependencies read;
  for (const auto& member : *object) {
    const std::string name(member.key());
    std::vector<std::string>* const list = name == "pip"   ? &read.pip
                                           : name == "npm" ? &read.npm
                                           : name == "apt" ? &read.apt
                                                           : nullptr;
    if (list == nullptr) return wrong("dependencies", kExpected);
    TRY(*list, to_packages("dependencies." + name, member.value(),
                           name == "apt" ? is_system_package : is_package));
  }
  return read;
}

}  // namespace atl::policy
