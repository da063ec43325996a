// A tree as YAML for people: blocks, long texts as paragraphs, everything else as JSON has it.
#pragma once

#include <string>

#include "json/value.h"

namespace atl::api::openapi {

std::string to_yaml(const json::Value& value);

}  // namespace atl::api::openapi
