// A configuration file in Atoll's own words.
//
// Names and units of other tools become ours, sections are put in order, comments and ${VARIABLES}
// stay. What comes out says the same as what went in.
#pragma once

#include <string>
#include <string_view>

#include "config/settings.h"

namespace atl::config {

// `settings` were read from `text`, and have no errors but of drivers that are not built.
std::string migrate(const Settings& settings, std::string_view text);

// A scalar as YAML: plain where that is safe, quoted otherwise.
std::string to_yaml_scalar(const json::Value& value);

}  // namespace atl::config
