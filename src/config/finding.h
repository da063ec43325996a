// Finding: something to say about a place in a configuration file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace atl::config {

enum class Severity : uint8_t { error, warning, note };

// What tools branch on.
enum class Problem : uint8_t {
  malformed,       // no YAML, or over a limit
  unknown_key,     // no such setting
  bad_value,       // of the wrong type, out of range, or contradicting another
  over_maximum,    // more than the chosen driver offers
  variable,        // a ${VARIABLE} that is not set, or a wrong form of one
  not_built,       // a driver, a network mode that this Atoll does not have
  host_control,    // gives the sandbox power over the host
  no_effect,       // understood, and nothing comes of it
  other_spelling,  // understood, with a name or a meaning of another tool
};

struct Finding {
  Severity severity = Severity::error;
  Problem problem = Problem::bad_value;
  std::string file;
  int line = 0;  // 0 = the file as a whole
  int column = 0;
  std::string key;  // as it is spelled there
  std::string message;
  std::string hint;
};

std::string_view to_string(Severity severity);
std::string_view to_string(Problem problem);

// "atoll.yaml:7:3: error: sandbox.memory: why", and the hint below it.
std::string to_text(const Finding& finding);
std::string to_json(const std::vector<Finding>& findings);

bool has_errors(const std::vector<Finding>& findings);

}  // namespace atl::config
