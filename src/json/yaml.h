// YAML files for people: read into the same tree as JSON, so that both share decoding, and errors
// name file and line.
//
//   TRY(auto config, json::decode_yaml<Config>(text, "atoll.yaml"));
//   // atoll.yaml:7: resources.memory_mb: expected an integer, got a string
//
// One document of YAML 1.2's core schema: `true` is a boolean, `yes` and `on` are text, 0755 is
// refused because readers disagree about it. Bounded like JSON; aliases are copied and what they
// expand to is bounded too. Duplicate keys, tags other than !!str, merge keys and control
// characters are refused. An empty file is an empty object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/decode.h"

namespace atl::json {

// A tree that knows the line of everything in it.
class Document final {
 public:
  // Runs beside the value: children stand in the order of the members or elements. Both count from
  // 1; those of a member are its key's.
  struct Line {
    int number = 1;
    int column = 1;
    std::vector<Line> children;
  };

  Document(std::string file_name, Value value, Line lines)
      : file_name_(std::move(file_name)), value_(std::move(value)), lines_(std::move(lines)) {}

  const Value& value() const { return value_; }
  const Line& lines() const { return lines_; }
  const std::string& file_name() const { return file_name_; }

  // The line of "resources.memory_mb" or "argv[2]"; of the nearest thing around it if that itself
  // is not there.
  int line_of(std::string_view path) const;

  // Prepends "file:line: ", for a problem with `path` that was found later than by decoding.
  Error locate(std::string_view path, Error error) const;

 private:
  std::string file_name_;
  Value value_;
  Line lines_;
};

// `file_name` is for messages only; nothing is opened. Never throws.
Result<Document> parse_yaml(std::string_view text, std::string_view file_name,
                            const Limits& limits = {});

template <typename T>
Result<T> decode_document(const Document& document) {
  Result<T> out{T{}};
  Decoder decoder;
  if (!detail::decode_into(decoder, document.value(), Path{}, *out)) {
    return document.locate(decoder.problem_path(), decoder.error());
  }
  return out;
}

// A part of it, at "profiles.python" or wherever `path` says.
template <typename T>
Result<T> decode_part(const Document& document, const Value& part, const Path& path) {
  Result<T> out{T{}};
  Decoder decoder;
  if (!detail::decode_into(decoder, part, path, *out)) {
    return document.locate(decoder.problem_path(), decoder.error());
  }
  return out;
}

template <typename T>
Result<T> decode_yaml(std::string_view text, std::string_view file_name,
                      const Limits& limits = {}) {
  TRY(const auto document, parse_yaml(text, file_name, limits));
  return decode_document<T>(document);
}

}  // namespace atl::json
