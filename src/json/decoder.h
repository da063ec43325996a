// The part of decoding that needs no templates: reading one value of each kind, and saying what was
// wrong with it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "json/path.h"
#include "json/value.h"

namespace atl::json {

// Every read gives false (or null) after recording the problem; the first problem is the one that
// is reported, and whoever sees false stops.
class Decoder final {
 public:
  bool read(const Value& value, const Path& path, bool& out);
  bool read(const Value& value, const Path& path, double& out);
  bool read(const Value& value, const Path& path, std::string& out);
  // A fraction is no integer, but 5.0 is 5.
  bool read_signed(const Value& value, const Path& path, int64_t least, int64_t most, int64_t& out);
  bool read_unsigned(const Value& value, const Path& path, uint64_t most, uint64_t& out);
  // Which of `names` the string is.
  bool read_name(const Value& value, const Path& path, std::span<const std::string_view> names,
                 size_t& out);

  const Array* array(const Value& value, const Path& path);
  const Object* object(const Value& value, const Path& path);
  // As object(), and every key is one of `known`.
  const Object* object(const Value& value, const Path& path,
                       std::span<const std::string_view> known);

  bool missing(const Path& path) { return fail(path, "missing"); }

  // Only after a read gave false.
  const std::string& problem_path() const { return problem_path_; }
  const std::string& problem() const { return problem_; }
  Error error() const;

 private:
  bool fail(const Path& path, std::string problem);
  bool unexpected(const Path& path, std::string_view wanted, const Value& got);

  std::string problem_path_;
  std::string problem_;
  std::string hint_;
};

namespace detail {

// Parses into an arena that lives just for the call, and lets `read` fill `out` from the tree.
Result<> decode_text(std::string_view text, const Limits& limits, void* out,
                     bool (*read)(Decoder&, const Value&, void* out));

}  // namespace detail
}  // namespace atl::json
