// Looking for keys and sections by their names, in the tables of keys.cc.
#include <algorithm>

#include "config/keys.h"
#include "config/kinds.h"

namespace atl::config {

const Section* find_section(std::string_view name) {
  const std::string snake = to_snake_case(name);
  const auto found = std::ranges::find_if(all_sections(), [&](const Section& section) {
    return section.name == snake || (!section.alias.empty() && section.alias == snake);
  });
  return found == all_sections().end() ? nullptr : &*found;
}

Match find_key(std::string_view section, std::string_view spelled) {
  const std::string snake = to_snake_case(spelled);
  const bool in_defaults = section == "defaults";
  const std::string_view owner = in_defaults ? "sandbox" : section;
  for (const Key& key : all_keys()) {
    if (key.section != owner) continue;
    if (key.name == snake) {
      const bool in_ms = in_defaults && key.name == "timeout";
      return {&key, in_ms ? Unit::milliseconds : key.unit};
    }
    for (const Spelling& spelling : key.spellings) {
      if (!spelling.name.empty() && spelling.name == snake) {
        return {&key, spelling.unit == Unit::usual ? key.unit : spelling.unit};
      }
    }
  }
  return {};
}

const Key* key_at(std::string_view path) {
  const auto found =
      std::ranges::find_if(all_keys(), [&](const Key& key) { return path_of(key) == path; });
  return found == all_keys().end() ? nullptr : &*found;
}

std::string path_of(const Key& key) {
  return key.section.empty() ? std::string(key.name)
                             : std::string(key.section) + "." + std::string(key.name);
}

std::vector<std::string> names_in(std::string_view section) {
  std::vector<std::string> names;
  if (section.empty()) {
    for (const Section& known : all_sections()) names.emplace_back(known.name);
  }
  const std::string_view owner = section == "defaults" ? "sandbox" : section;
  for (const Key& key : all_keys()) {
    if (key.section != owner) continue;
    names.emplace_back(key.name);
    for (const Spelling& spelling : key.spellings) {
      if (!spelling.name.empty()) names.emplace_back(spelling.name);
    }
  }
  return names;
}

}  // namespace atl::config
