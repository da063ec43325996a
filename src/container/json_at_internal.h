// What an engine says, looked up without trust: what is missing or of another kind is nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "json/value.h"

namespace atl::container {

inline const json::Value* find(const json::Value* value, std::string_view name) {
  const json::Object* object = value != nullptr ? value->if_object() : nullptr;
  return object != nullptr ? object->if_contains(name) : nullptr;
}

inline std::string text_at(const json::Value* value, std::string_view name) {
  const json::Value* found = find(value, name);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
}

inline bool flag_at(const json::Value* value, std::string_view name) {
  const json::Value* found = find(value, name);
  return found != nullptr && found->is_bool() && found->as_bool();
}

inline int64_t number_at(const json::Value* value, std::string_view name) {
  const json::Value* found = find(value, name);
  return found != nullptr && found->is_int64() ? found->as_int64() : 0;
}

inline bool has_word(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

}  // namespace atl::container
