#include "json/decoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <boost/json/monotonic_resource.hpp>

#include "base/text.h"
#include "json/parse_into.h"
#include "json/write.h"

namespace atl::json {
namespace {

// Above this a double no longer tells neighbouring integers apart.
constexpr double kMostExact = 9007199254740992.0;

std::string_view kind_of(const Value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "a boolean";
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
      return "an integer";
    case boost::json::kind::double_:
      return "a fraction";
    case boost::json::kind::string:
      return "a string";
    case boost::json::kind::array:
      return "an array";
    case boost::json::kind::object:
      return "an object";
  }
  return "something else";
}

std::string_view view(boost::json::string_view text) { return {text.data(), text.size()}; }

std::string join(std::span<const std::string_view> words) {
  std::string text;
  for (const auto word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> known) {
  const std::string near = did_you_mean(word, {known.begin(), known.end()});
  return near.empty() ? "" : " (did you mean " + near + "?)";
}

std::string out_of_range(auto least, auto most, const std::string& got) {
  using Number = decltype(most);
  const bool negative = got.starts_with('-');
  // Nobody chose the limits of a type, so they tell nobody anything.
  if (negative && std::cmp_equal(least, std::numeric_limits<Number>::min()) && least != 0) {
    return got + " is too small a number";
  }
  if (!negative && std::cmp_equal(most, std::numeric_limits<Number>::max())) {
    return got + " is too large a number";
  }
  return "must be from " + std::to_string(least) + " to " + std::to_string(most) + ", got " + got;
}

std::string shown(double value) {
  std::string text;
  write_double(text, value);
  return text;
}

bool is_whole(double value) { return std::isfinite(value) && std::trunc(value) == value; }

}  // namespace

bool Decoder::fail(const Path& path, std::string problem) {
  problem_path_ = to_string(path);
  problem_ = std::move(problem);
  return false;
}

bool Decoder::unexpected(const Path& path, std::string_view wanted, const Value& got) {
  return fail(path, "expected " + std::string(wanted) + ", got " + std::string(kind_of(got)));
}

Error Decoder::error() const {
  Error error(Code::invalid_argument, problem_);
  if (!problem_path_.empty()) error = std::move(error).with(problem_path_);
  if (!hint_.empty()) error = std::move(error).with_hint(hint_);
  return error;
}

bool Decoder::read(const Value& value, const Path& path, bool& out) {
  const bool* found = value.if_bool();
  if (found == nullptr) return unexpected(path, "true or false", value);
  out = *found;
  return true;
}

bool Decoder::read(const Value& value, const Path& path, double& out) {
  if (value.is_int64()) {
    out = static_cast<double>(value.get_int64());
  } else if (value.is_uint64()) {
    out = static_cast<double>(value.get_uint64());
  } else if (value.is_double()) {
    out = value.get_double();
  } else {
    return unexpected(path, "a number", value);
  }
  return std::isfinite(out) || fail(path, "expected a finite number");
}

bool Decoder::read(const Value& value, const Path& path, std::string& out) {
  const auto* found = value.if_string();
  if (found == nullptr) return unexpected(path, "a string", value);
  out.assign(found->data(), found->size());
  return true;
}

bool Decoder::read_signed(const Value& value, const Path& path, int64_t least, int64_t most,
                          int64_t& out) {
  if (value.is_int64()) {
    out = value.get_int64();
    if (out >= least && out <= most) return true;
    return fail(path, out_of_range(least, most, std::to_string(out)));
  }
  if (value.is_uint64()) {
    const uint64_t got = value.get_uint64();
    out = static_cast<int64_t>(got);
    if (got <= static_cast<uint64_t>(std::max<int64_t>(most, 0)) && out >= least) return true;
    return fail(path, out_of_range(least, most, std::to_string(got)));
  }
  if (value.is_double() && is_whole(value.get_double())) {
    const double got = value.get_double();
    if (std::abs(got) <= kMostExact)
      return read_signed(static_cast<int64_t>(got), path, least, most, out);
    return fail(path, out_of_range(least, most, shown(got)));
  }
  return unexpected(path, "an integer", value);
}

bool Decoder::read_unsigned(const Value& value, const Path& path, uint64_t most, uint64_t& out) {
  if (value.is_int64()) {
    const int64_t got = value.get_int64();
    out = static_cast<uint64_t>(got);
    if (got >= 0 && out <= most) return true;
    return fail(path, out_of_range(0, most, std::to_string(got)));
  }
  if (value.is_uint64()) {
    out = value.get_uint64();
    return out <= most || fail(path, out_of_range(0, most, std::to_string(out)));
  }
  if (value.is_double() && is_whole(value.get_double())) {
    const double got = value.get_double();
    if (std::abs(got) <= kMostExact)
      return read_unsigned(static_cast<int64_t>(got), path, most, out);
    return fail(path, out_of_range(0, most, shown(got)));
  }
  return unexpected(path, "an integer", value);
}

bool Decoder::read_name(const Value& value, const Path& path,
                        std::span<const std::string_view> names, size_t& out) {
  const auto* found = value.if_string();
  if (found == nullptr) return unexpected(path, "one of " + join(names), value);
  const std::string_view word(found->data(), found->size());
  const auto at = std::ranges::find(names, word);
  out = static_cast<size_t>(at - names.begin());
  return at != names.end() || fail(path, "expected one of " + join(names) + ", got " + quote(word) +
                                             suggestion(word, names));
}

const Array* Decoder::array(const Value& value, const Path& path) {
  const Array* found = value.if_array();
  if (found == nullptr) unexpected(path, "an array", value);
  return found;
}

const Object* Decoder::object(const Value& value, const Path& path) {
  const Object* found = value.if_object();
  if (found == nullptr) unexpected(path, "an object", value);
  return found;
}

const Object* Decoder::object(const Value& value, const Path& path,
                              std::span<const std::string_view> known) {
  const Object* found = object(value, path);
  if (found == nullptr) return nullptr;
  for (const auto& member : *found) {
    const std::string_view key = view(member.key());
    if (std::ranges::find(known, key) != known.end()) continue;
    hint_ = known.empty() ? "no field is known here" : "known fields: " + join(known);
    fail(path.child(key), "unknown field" + suggestion(key, known));
    return nullptr;
  }
  return found;
}

namespace detail {

Result<> decode_text(std::string_view text, const Limits& limits, void* out,
                     bool (*read)(Decoder&, const Value&, void* out)) {
  std::array<unsigned char, 4096> first_block;
  boost::json::monotonic_resource arena(first_block.data(), first_block.size());
  Value tree(&arena);
  TRY_OK(parse_into(tree, text, limits));
  Decoder decoder;
  if (!read(decoder, tree, out)) return decoder.error();
  return {};
}

}  // namespace detail
}  // namespace atl::json
