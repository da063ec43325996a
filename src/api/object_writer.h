// ObjectWriter: one JSON object, written member by member straight into the answer.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"
#include "json/encode.h"

namespace atl::api {

//   ObjectWriter object(out);
//   object.member("id", view.id);
//   object.close();
class ObjectWriter final {
 public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  // Starts a member and gives where its value goes.
  std::string& key(std::string_view name) {
    if (out_.back() != '{') out_ += ',';
    out_ += '"';
    out_ += name;  // a constant of ours: nothing to escape
    out_ += "\":";
    return out_;
  }

  template <typename T>
  void member(std::string_view name, const T& value) {
    json::encode_to(key(name), value);
  }
  void null(std::string_view name) { key(name) += "null"; }

  // Bytes that need not be text: "name" if they are UTF-8, otherwise "name_b64".
  void bytes(std::string_view name, std::string_view value) {
    if (is_utf8(value)) {
      member(name, value);
    } else {
      key(std::string(name) + "_b64");
      out_ += '"';
      out_ += to_base64(value);
      out_ += '"';
    }
  }

  void close() { out_ += '}'; }

 private:
  std::string& out_;
};

}  // namespace atl::api
