// Where in a document the decoder stands: a chain on the stack that costs nothing until an error
// prints it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace atl::json {

struct Path {
  static constexpr size_t kKey = static_cast<size_t>(-1);

  Path child(std::string_view name) const { return {this, name, kKey}; }
  Path child(size_t at) const { return {this, {}, at}; }

  const Path* parent = nullptr;  // null: the document itself
  std::string_view key;
  size_t index = kKey;  // kKey: this is a member, otherwise an element
};

// "resources.memory_mb", "argv[2]", `labels["a b"]`; "" for the document. Keys come from users, so
// odd ones are quoted, escaped and cut.
std::string to_string(const Path& path);

// One step as to_string() writes it, with its dot if something stands before it.
std::string step_to_string(std::string_view key, std::string_view before);
std::string step_to_string(size_t index);

// Text from outside, quoted, escaped and cut to what fits a message.
std::string quote(std::string_view text);

}  // namespace atl::json
