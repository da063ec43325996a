// Requirement: a program that must be in a sandbox, "git" or "python>=3.11".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace atl::policy {

enum class Comparison : uint8_t { any, at_least, more, equal, at_most, less };

struct Requirement {
  std::string text;     // as it was written
  std::string program;  // 1 to 64 of [A-Za-z0-9._+-]
  Comparison comparison = Comparison::any;
  std::vector<int64_t> version;  // {3, 11}; empty with Comparison::any

  bool operator==(const Requirement&) const = default;
};

// "PROGRAM", or "PROGRAM>=1.2" with one of >= > == <= <; Code::invalid_argument for what is none.
Result<Requirement> parse_requirement(std::string_view text);

// The names that it goes by, the best one first: what people call python is python3 in many places.
std::vector<std::string> names_of(const Requirement& requirement);

// The first number with a dot in what `PROGRAM --version` says, or else the first number; empty
// when there is none. The text is not trusted: at most 4 parts of at most 9 digits each are read.
std::vector<int64_t> find_version(std::string_view said);

bool is_met(const Requirement& requirement, const std::vector<int64_t>& version);

// {3, 11, 2} → "3.11.2"
std::string to_text(const std::vector<int64_t>& version);

}  // namespace atl::policy
