// Effective: what holds after all files and variables, and where each value came from.
//
// Settings of a stronger source replace those of a weaker one, one by one; `env` and `labels` do so
// name by name. Isolation alone is different: where a project file that was found and a weaker
// source both name a floor, the higher one holds.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/search.h"

namespace atl::config {

struct Entry {
  std::string path;  // "sandbox.memory", "sandbox.env.PATH"
  const Key* key = nullptr;
  std::string name;  // of one variable or label; the path ends with it
  json::Value value;
  From from = From::usual;
  std::string where;  // "atoll.yaml:7", "ATOLL_MEMORY"
  bool is_secret = false;
  std::optional<Error> refused;  // it may not come from there
};

struct Effective {
  std::vector<Entry> entries;
  std::vector<Finding> findings;  // about variables of the environment

  const Entry* find(std::string_view path) const;
  Entry* find(std::string_view path);
  // Whether another entry says the same thing more strongly: a driver and a run mode both say
  // where, and a driver says it more closely.
  bool is_outdone(const Entry& entry) const;
};

// `layers` are strongest first, and have no errors.
Effective merge(std::span<const Layer> layers, const Environment& environment);

// A flag of the command line and its value, which is what an entry becomes.
struct FlagValue {
  std::string flag;
  std::string value;
};
std::vector<FlagValue> to_flags(const Entry& entry);

// For people: secrets are not shown.
std::string to_shown(const Entry& entry);

}  // namespace atl::config
