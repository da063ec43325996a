// Settings: what one configuration file says, with the names and values of other tools made ours.
//
// Reading never stops at the first problem: everything that is wrong is found at once, each with
// its place. A file with errors is used for nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/finding.h"
#include "config/keys.h"
#include "config/variables.h"
#include "json/value.h"

namespace atl::config {

inline constexpr size_t kLargestFile = 256 * 1024;

struct Setting {
  std::string path;  // "sandbox.memory"; of a secondary sandbox "sandbox.secondary.memory"
  const Key* key = nullptr;
  json::Value value;    // canonical
  std::string spelled;  // as the file has it: "defaults.resources.memory"
  json::Value written;  // as the file has it, variables not replaced
  Unit unit = Unit::usual;
  int line = 0;
  int column = 0;
  std::vector<std::string> variables;  // of the environment, that it took values from
};

struct Settings {
  std::string file;  // for messages
  std::vector<Setting> all;
  std::vector<Finding> findings;

  const Setting* find(std::string_view path) const;
};

// Parses and normalises. Values that are wrong are left out, and told of.
Settings read_settings(std::string_view text, std::string_view file,
                       const Environment& environment);

// What only several settings together, or the drivers that this Atoll has, can tell. Adds to the
// findings.
void check_settings(Settings& settings, std::span<const std::string> built_drivers);

// Whether a value must not be shown: by its key, by the name of a variable in it or of the one that
// it came from.
bool is_secret(const Setting& setting);

}  // namespace atl::config
