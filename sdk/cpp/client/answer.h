// Reading answers of a daemon that may be newer or older than we are: what is missing is empty,
// what is new is ignored.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace atl::client {

// The member at a path of names ("usage.cpu_ms" is two), or null.
const json::Value& at(const json::Value& value, std::string_view path);

// "" unless it is a string.
std::string text_at(const json::Value& value, std::string_view path);
double number_at(const json::Value& value, std::string_view path);
// The same for what can only be a count; 0 for what is none.
uint64_t count_at(const json::Value& value, std::string_view path);
bool flag_at(const json::Value& value, std::string_view path);
// Empty unless it is an array.
const json::Array& list_at(const json::Value& value, std::string_view path);
// The bytes of a member: "name", or "name_b64" for what is not UTF-8.
Result<std::string> bytes_at(const json::Value& value, const std::string& name);

Result<json::Value> parse_answer(std::string_view text);

}  // namespace atl::client
