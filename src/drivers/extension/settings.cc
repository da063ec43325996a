#include "drivers/extension/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.h"

namespace atl::extension {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr size_t kMostSettings = 64;
constexpr size_t kLongestName = 63;
constexpr size_t kLongestText = 4096;
constexpr std::array<std::string_view, 5> kSchemaKeys = {"type", "properties", "required",
                                                         "additionalProperties", "description"};
constexpr std::array<std::string_view, 9> kPropertyKeys = {"type",      "description", "default",
                                                           "enum",      "minimum",     "maximum",
                                                           "minLength", "maxLength",   "writeOnly"};

std::string_view text_of(const boost::json::string& text) { return {text.data(), text.size()}; }
std::string_view text_of(boost::json::string_view text) { return {text.data(), text.size()}; }

Error wrong(std::string_view path, std::string_view problem) {
  return Error(Code::invalid_argument,
               "configuration." + to_printable(path) + ": " + std::string(problem));
}

template <size_t N>
Result<> check_keys(const Object& object, const std::array<std::string_view, N>& known,
                    std::string_view path) {
  for (const auto& member : object) {
    if (std::ranges::find(known, text_of(member.key())) == known.end()) {
      return wrong(path, "'" + to_printable(text_of(member.key())) +
                             "' is not of the part of JSON Schema that is checked here");
    }
  }
  return {};
}

bool is_setting_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestName) return false;
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

const Object* properties_of(const Value& schema) {
  const Object* object = schema.if_object();
  const Value* found = object != nullptr ? object->if_contains("properties") : nullptr;
  return found != nullptr ? found->if_object() : nullptr;
}

std::string_view type_of(const Object& rule) {
  const Value* type = rule.if_contains("type");
  const auto* text = type != nullptr ? type->if_string() : nullptr;
  return text != nullptr ? text_of(*text) : std::string_view();
}

std::optional<double> number_in(const Value& value) {
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  if (value.is_double() && std::isfinite(value.get_double())) return value.get_double();
  return std::nullopt;
}

std::optional<double> bound(const Object& rule, boost::json::string_view name) {
  const Value* found = rule.if_contains(name);
  return found != nullptr ? number_in(*found) : std::nullopt;
}

bool is_of(std::string_view type, const Value& value) {
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "integer") return value.is_int64() || value.is_uint64();
  return type == "number" && number_in(value).has_value();
}

Result<> check_value(const Object& rule, const Value& value, std::string_view name) {
  const std::string_view type = type_of(rule);
  if (!is_of(type, value)) return wrong(name, "it is of type " + std::string(type));
  if (const Value* allowed = rule.if_contains("enum")) {
    const Array* values = allowed->if_array();
    if (values != nullptr && std::ranges::find(*values, value) == values->end())
      return wrong(name, "it is none of the values that the manifest allows");
  }
  if (const auto* text = value.if_string()) {
    const auto size = static_cast<double>(text->size());
    if (text->size() > kLongestText) return wrong(name, "it has at most 4096 bytes");
    if (size < bound(rule, "minLength").value_or(0)) return wrong(name, "it is too short");
    if (size > bound(rule, "maxLength").value_or(kLongestText))
      return wrong(name, "it is too long");
  }
  if (const auto number = number_in(value)) {
    if (*number < bound(rule, "minimum").value_or(*number)) return wrong(name, "it is too small");
    if (*number > bound(rule, "maximum").value_or(*number)) return wrong(name, "it is too large");
  }
  return {};
}

Result<> check_property(const Value& value, std::string_view name) {
  if (!is_setting_name(name))
    return wrong(name, "a name is 1 to 63 letters, digits, dashes and underscores");
  const Object* rule = value.if_object();
  if (rule == nullptr) return wrong(name, "expected an object");
  TRY_OK(check_keys(*rule, kPropertyKeys, name));
  const std::string_view type = type_of(*rule);
  if (type != "string" && type != "integer" && type != "number" && type != "boolean")
    return wrong(name, "its type is string, integer, number or boolean");
  for (const boost::json::string_view key : {"minimum", "maximum", "minLength", "maxLength"}) {
    if (rule->if_contains(key) != nullptr && !bound(*rule, key))
      return wrong(name, std::string(text_of(key)) + " is a number");
  }
  if (const Value* allowed = rule->if_contains("enum")) {
    const Array* values = allowed->if_array();
    if (values == nullptr || values->empty() || values->size() > kMostSettings)
      return wrong(name, "enum is a list of 1 to 64 values");
    for (const Value& one : *values) {
      if (!is_of(type, one)) return wrong(name, "enum has a value of another type");
    }
  }
  if (const Value* secret = rule->if_contains("writeOnly"); secret != nullptr && !secret->is_bool())
    return wrong(name, "writeOnly is true or false");
  if (const Value* usual = rule->if_contains("default")) return check_value(*rule, *usual, name);
  return {};
}

Result<Value> parse_word(std::string_view type, std::string_view word, std::string_view name) {
  if (type == "string") return Value(boost::json::string_view(word.data(), word.size()));
  if (type == "boolean") {
    if (word == "true" || word == "false") return Value(word == "true");
    return wrong(name, "it is true or false");
  }
  const char* const end = word.data() + word.size();
  if (type == "integer") {
    int64_t number = 0;
    const auto read = std::from_chars(word.data(), end, number);
    if (read.ec == std::errc() && read.ptr == end) return Value(number);
    return wrong(name, "it is a whole number");
  }
  double number = 0;
  const auto read = std::from_chars(word.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end && std::isfinite(number)) return Value(number);
  return wrong(name, "it is a number");
}

}  // namespace

Result<> check_schema(const Value& schema) {
  if (schema.is_null()) return {};
  const Object* object = schema.if_object();
  if (object == nullptr) return Error(Code::invalid_argument, "configuration: expected an object");
  TRY_OK(check_keys(*object, kSchemaKeys, "schema"));
  if (type_of(*object) != "object") return wrong("type", "it is object");
  const Object* properties = properties_of(schema);
  if (properties == nullptr || properties->size() > kMostSettings)
    return wrong("properties", "they are an object of at most 64");
  for (const auto& member : *properties)
    TRY_OK(check_property(member.value(), text_of(member.key())));
  const Value* more = object->if_contains("additionalProperties");
  if (more != nullptr && (!more->is_bool() || more->get_bool()))
    return wrong("additionalProperties", "it is false: what nobody has described is not passed on");
  const Value* required = object->if_contains("required");
  if (required == nullptr) return {};
  const Array* names = required->if_array();
  if (names == nullptr) return wrong("required", "it is a list of names");
  for (const Value& name : *names) {
    const auto* text = name.if_string();
    if (text == nullptr || properties->if_contains(*text) == nullptr)
      return wrong("required", "it names something that is no property");
  }
  return {};
}

Result<Value> complete(const Value& schema, const Value& values) {
  static const Object kNothing;
  const Object* given = values.is_null() ? &kNothing : values.if_object();
  if (given == nullptr) return wrong("values", "expected an object");
  const Object* properties = properties_of(schema);
  if (properties == nullptr) properties = &kNothing;
  for (const auto& member : *given) {
    const Value* rule = properties->if_contains(member.key());
    if (rule == nullptr) return wrong(text_of(member.key()), "the manifest has no such setting");
    TRY_OK(check_value(rule->as_object(), member.value(), text_of(member.key())));
  }
  Object whole = *given;
  for (const auto& member : *properties) {
    const Value* usual = member.value().as_object().if_contains("default");
    if (usual != nullptr && !whole.contains(member.key())) whole[member.key()] = *usual;
  }
  const Value* required =
      schema.is_object() ? schema.get_object().if_contains("required") : nullptr;
  const Array* names = required != nullptr ? required->if_array() : nullptr;
  for (const Value& name : names != nullptr ? *names : Array()) {
    const auto* text = name.if_string();
    if (text != nullptr && !whole.contains(*text)) {
      return wrong(text_of(*text), "missing")
          .with_hint("give it with --set " + to_printable(text_of(*text)) + "=VALUE");
    }
  }
  return Value(std::move(whole));
}

Result<Value> parse_settings(const Value& schema, const std::vector<std::string>& written) {
  const Object* properties = properties_of(schema);
  Object values;
  for (const auto& setting : written) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos)
      return Error(Code::invalid_argument, "--set takes NAME=VALUE, not " + to_printable(setting));
    const std::string name = setting.substr(0, equals);
    const Value* rule = properties != nullptr ? properties->if_contains(name) : nullptr;
    if (rule == nullptr) return wrong(name, "the manifest has no such setting");
    TRY(values[name], parse_word(type_of(rule->as_object()), setting.substr(equals + 1), name));
  }
  return Value(std::move(values));
}

Value without_secrets(const Value& schema, const Value& values) {
  const Object* properties = properties_of(schema);
  if (properties == nullptr || !values.is_object()) return values;
  Object shown = values.get_object();
  for (auto& member : shown) {
    const Value* rule = properties->if_contains(member.key());
    const Value* secret = rule != nullptr && rule->is_object()
                              ? rule->get_object().if_contains("writeOnly")
                              : nullptr;
    if (secret != nullptr && secret->is_bool() && secret->get_bool()) member.value() = "(hidden)";
  }
  return Value(std::move(shown));
}

}  // namespace atl::extension
