// Our types as the API's JSON, and back.
#pragma once

#include <atoll/types.h>

#include <string>

#include "base/result.h"
#include "json/value.h"

namespace atoll_client {

enum class Stdin { given, open };

// Code::invalid_argument for text that is not UTF-8, and for more than 4 MiB of input.
atl::Result<atl::json::Object> to_wire(const Command& command, Stdin input);
atl::Result<atl::json::Object> to_wire(const Settings& settings);
// The body of a run of code.
atl::Result<atl::json::Object> to_wire(const Code& code, const Settings& settings);
std::string to_text(const atl::json::Object& body);

SandboxInfo to_sandbox(const atl::json::Value& value);
// A member in milliseconds.
std::chrono::microseconds time_at(const atl::json::Value& value, std::string_view path);
// Of an exit; the output is the caller's.
Outcome to_outcome(const atl::json::Value& exit);

}  // namespace atoll_client
