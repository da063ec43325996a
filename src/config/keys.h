// The table of settings: what may stand in atoll.yaml, how else it may be spelled, and which flag
// and variable mean the same.
//
// docs/configuration.md is written from this table.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace atl::config {

enum class Type : uint8_t {
  text,
  path,        // relative ones are relative to the file
  secret,      // text that is never shown
  flag,        // true or false
  count,       // a whole number
  size,        // 256m, 1g
  processors,  // 0.5, 2
  time,        // 500ms, 30s, 15m, 2h
  texts,       // a list, or one text
  variables,   // NAME: value
  volumes,     // a list of SRC[:DST][:MODE]
  isolation,   // a level
  network,     // none
  here,        // auto, cow, ro, rw
  driver,      // a kind of sandbox
  run_mode,
  strategy,  // how the router orders drivers
  profiles,  // a path, or a map of them that the policy layer reads
};

// What a number without a unit counts.
enum class Unit : uint8_t { usual, mebibytes, gibibytes, seconds, milliseconds, shares };

struct Spelling {
  std::string_view name;
  Unit unit = Unit::usual;
};

// Which commands a setting is for.
enum class Use : uint8_t {
  nobody,   // it is understood, and a driver to come will use it
  sandbox,  // run, map, create
  command,  // run, map, exec
  serve,
  everyone,  // whoever looks for a daemon
};

// What a project file may set that was found, not named.
enum class Project : uint8_t { may, may_narrow, may_not };

struct Key {
  std::string_view section;  // "" = the top; "sandbox", "serve", …
  std::string_view name;
  Type type = Type::text;
  Unit unit = Unit::usual;
  std::string_view flag = {};      // without dashes
  std::string_view variable = {};  // ATOLL_…
  Use use = Use::nobody;
  Project project = Project::may;
  double least = 0;             // of a count, MiB, processors or seconds
  double most = 0;              // 0 = no limit of its own
  std::string_view usual = {};  // what holds without it
  std::string_view help = {};
  std::array<Spelling, 5> spellings = {};  // others; in snake_case, and camelCase is taken for it
};

struct Section {
  std::string_view name;
  std::string_view alias;  // "" = none
  std::string_view help;
};

std::span<const Key> all_keys();
std::span<const Section> all_sections();

const Section* find_section(std::string_view name);

// A key by any of its spellings, and the unit that the spelling means. `defaults` is the section
// `sandbox` in which a timeout counts milliseconds.
struct Match {
  const Key* key = nullptr;
  Unit unit = Unit::usual;
};
Match find_key(std::string_view section, std::string_view spelled);
// By its path: "sandbox.memory"; null if there is none.
const Key* key_at(std::string_view path);

// "sandbox.memory"
std::string path_of(const Key& key);
// Every name that fits into a section, for suggestions.
std::vector<std::string> names_in(std::string_view section);

}  // namespace atl::config
