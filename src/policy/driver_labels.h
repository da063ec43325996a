// DriverLabels: what an operator says of a driver and nobody can find out: where its host is, which
// hardware it has. Requests and profiles ask for them by name and value.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace atl::policy {

using DriverLabels = std::map<std::string, std::string>;

inline constexpr size_t kMostDriverLabels = 16;

// Names are 1 to 63 letters, digits and ._-/, values up to 63 of the same, or nothing.
Result<> check_driver_labels(const DriverLabels& labels);

// A list, each name once: "zone=eu,gpu=a100"; a name alone has the value "". Code::invalid_argument
// for anything else.
Result<DriverLabels> parse_driver_labels(std::string_view text);

// "zone=eu", and "gpu" for a value of nothing.
std::string label_text(const std::string& name, const std::string& value);

}  // namespace atl::policy
