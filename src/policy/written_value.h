// Values as people write them into a profile: "30m" or 1800, "256m" or 256. Errors begin with the
// field.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace atl::policy {

Error wrong(std::string_view field, std::string_view problem);

std::optional<double> number_of(const json::Value& value);
std::optional<std::string_view> text_of(const json::Value& value);

// A number counts seconds; text has its unit. More than zero.
Result<int64_t> to_ms(std::string_view field, const json::Value& value);
Result<int64_t> to_seconds(std::string_view field, const json::Value& value);  // rounded up

// A number counts MiB; text has its unit.
Result<int64_t> to_mib(std::string_view field, const json::Value& value);

}  // namespace atl::policy
