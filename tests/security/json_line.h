// One JSON object on one line, written without a library: the program is static and has to stay
// small.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace atl::attack {

// Bytes that are not printable ASCII become '?': what comes from a host is only shown.
inline std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += byte;
    } else {
      out += byte >= 0x20 && byte < 0x7f ? byte : '?';
    }
  }
  return out + "\"";
}

class JsonLine final {
 public:
  void add_raw(std::string_view name, std::string_view json) {
    if (text_.size() > 1) text_ += ",";
    text_ += quoted(name) + ":";
    text_ += json;
  }
  void add(std::string_view name, std::string_view value) { add_raw(name, quoted(value)); }
  void add(std::string_view name, long value) { add_raw(name, std::to_string(value)); }
  std::string text() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

}  // namespace atl::attack
