// The schemas of the document that describes the API: each from the described struct or enum that
// requests are decoded into, with a table beside it that says what the type alone does not.
//
//   constexpr Field kKeyFields[] = {
//       {"role", "What it may do."},
//       {"ttl_s", "Absent: until it is revoked.", {.least = 1, .most = kLongestLife}},
//   };
//   schemas.add<WireKey, kKeyFields>();
//
// The table has one row for each member, in any order: a member without a row and a row without a
// member do not compile. A struct names itself with kSchema, see json/schema.h.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/access.h"
#include "core/engine.h"
#include "json/schema.h"

namespace atl::api::openapi {

// Of a number; the length of a text, a list or a map.
struct Bounds {
  std::optional<int64_t> least = std::nullopt;
  std::optional<int64_t> most = std::nullopt;
};

struct Field {
  std::string_view name;
  std::string_view text = "";  // for people; "" where the name says it all
  Bounds bounds = {};
  std::string_view more = "";  // a JSON object of further keywords: default, pattern, examples, …
};

// Keywords that several fields share.
inline constexpr std::string_view kBase64 = R"({"contentEncoding":"base64"})";
inline constexpr std::string_view kBase64Values =
    R"({"additionalProperties":{"type":"string","contentEncoding":"base64"}})";
inline constexpr std::string_view kMode =
    R"({"pattern":"^0*[0-7]{1,3}$","maxLength":5,"default":"0644"})";
inline constexpr std::string_view kNamePattern =
    R"({"pattern":"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"})";
inline constexpr std::string_view kInsteadOfPath = "Instead of `path`, for one that is not UTF-8.";
inline constexpr std::string_view kOnePath =
    R"({"oneOf":[{"required":["path"]},{"required":["path_b64"]}]})";

template <typename T>
constexpr bool describes(std::span<const Field> fields) {
  const auto& members = json::detail::Names<json::detail::Members<T>>::kAll;
  const auto has_row = [&](std::string_view member) {
    return std::ranges::count(fields, member, &Field::name) == 1;
  };
  return fields.size() == members.size() && std::ranges::all_of(members, has_row);
}

class Schemas final {
 public:
  // `more` is a JSON object of keywords for the whole: description, oneOf, examples.
  template <typename T, const auto& kFields>
  void add(std::string_view more = "") {
    static_assert(!json::kSchemaName<T>.empty(), "it needs a kSchema");
    static_assert(describes<T>(kFields), "one row of the table for each member");
    add_object(json::kSchemaName<T>, json::schema<T>(), kFields, more);
  }
  // A struct without members.
  template <typename T>
  void add_empty(std::string_view more) {
    static_assert(describes<T>({}), "it has members, so it has a table");
    add_object(json::kSchemaName<T>, json::schema<T>(), {}, more);
  }
  template <json::DescribedEnum E>
  void add_names(std::string_view name, std::string_view text) {
    add_enum(name, json::schema<E>(), text);
  }

  // By name.
  const std::map<std::string, json::Value, std::less<>>& all() const { return all_; }

 private:
  void add_object(std::string_view name, json::Value schema, std::span<const Field> fields,
                  std::string_view more);
  void add_enum(std::string_view name, json::Value schema, std::string_view text);

  std::map<std::string, json::Value, std::less<>> all_;
};

}  // namespace atl::api::openapi

namespace atl::json {

// Types of layers that know nothing of a document.
template <>
inline constexpr std::string_view kSchemaName<Resources> = "Resources";
template <>
inline constexpr std::string_view kSchemaName<Isolation> = "Isolation";
template <>
inline constexpr std::string_view kSchemaName<Placement> = "Placement";
template <>
inline constexpr std::string_view kSchemaName<policy::Strategy> = "Strategy";
template <>
inline constexpr std::string_view kSchemaName<Role> = "Role";

}  // namespace atl::json
