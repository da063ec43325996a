// What `language` names: the interpreter of a piece of code, and how it gets what the code needs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/preparation.h"

namespace atl::api::v1 {

inline constexpr size_t kMostRequirements = 200;

struct Language {
  std::string_view name;
  std::string_view others;   // names for the same, separated by blanks
  std::string_view program;  // that runs the file
  std::string_view file;     // what the code is called in the workspace
};

std::span<const Language> all_languages();

// Code::invalid_argument with what is known when there is no such language.
Result<const Language*> find_language(std::string_view name);

// The command that gets the packages into the workspace, and the variables that the code needs to
// find them there; Code::unsupported where nothing is known about packages.
struct Packages {
  SetupCommand setup;
  std::map<std::string, std::string> env;
};
Result<Packages> get_packages(const Language& language, std::vector<std::string> requirements);

}  // namespace atl::api::v1
