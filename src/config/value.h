// Values as people write them, made one: 2048, "2g" and "2048m" are the same memory.
//
// What comes out is what the command line's flags take (sizes and times are text with a unit) and
// what `atoll config show` prints.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "config/keys.h"
#include "json/value.h"

namespace atl::config {

// Code::invalid_argument with what is wrong; Code::unsupported for what this Atoll does not have
// yet. No message shows the value of a secret or of a variable.
Result<json::Value> to_canonical(const Key& key, Unit unit, const json::Value& written);

// The same from a variable of the environment.
Result<json::Value> to_canonical(const Key& key, std::string_view text);

// A canonical value as the text of a flag.
std::string to_flag_text(const json::Value& value);

// In MiB, processors, or seconds; for comparing with a maximum. 0 for values of other types.
double magnitude(const Key& key, const json::Value& canonical);

// "SRC[:DST][:MODE]" in parts; the mode is rw if there is none.
struct Volume {
  std::string source;
  std::string target;  // "" = the same path
  std::string mode;
};
Result<Volume> to_volume(std::string_view text);
// Whether a path is a socket by which the host's containers are ruled: whoever has it has the host.
bool is_host_control(std::string_view path);

}  // namespace atl::config
