// A trace as a tree that people read: what happened within what, when, and for how long.
#pragma once

#include <string>

#include "json/value.h"

namespace atl::cli {

// `trace` is an answer of GET /v1/traces/{trace}.
std::string draw_trace(const json::Value& trace);

}  // namespace atl::cli
