#include "api/openapi/schemas.h"

#include "base/check.h"

namespace atl::api::openapi {
namespace {

boost::json::string_view to_boost(std::string_view text) { return {text.data(), text.size()}; }

// The tables are part of the program: what is wrong with one is our own mistake.
void merge(json::Object& into, std::string_view text) {
  if (text.empty()) return;
  const auto more = json::parse(text);
  ATOLL_CHECK(more.has_value() && more->is_object());
  for (const auto& member : more->as_object()) into[member.key()] = member.value();
}

void add_bounds(json::Object& property, const Bounds& bounds) {
  const auto* type = property.if_contains("type");
  const std::string_view kind = type != nullptr ? std::string_view(type->as_string()) : "";
  const auto set = [&](std::string_view least, std::string_view most) {
    if (bounds.least) property[to_boost(least)] = *bounds.least;
    if (bounds.most) property[to_boost(most)] = *bounds.most;
  };
  if (kind == "string") return set("minLength", "maxLength");
  if (kind == "array") return set("minItems", "maxItems");
  if (kind == "object") return set("minProperties", "maxProperties");
  set("minimum", "maximum");
}

}  // namespace

void Schemas::add_object(std::string_view name, json::Value schema, std::span<const Field> fields,
                         std::string_view more) {
  auto& object = schema.as_object();
  auto& properties = object.at("properties").as_object();
  for (const Field& field : fields) {
    auto& property = properties.at(to_boost(field.name)).as_object();
    add_bounds(property, field.bounds);
    merge(property, field.more);
    if (!field.text.empty()) property["description"] = to_boost(field.text);
  }
  if (properties.empty()) object.erase("properties");
  merge(object, more);
  all_.emplace(name, std::move(schema));
}

void Schemas::add_enum(std::string_view name, json::Value schema, std::string_view text) {
  if (!text.empty()) schema.as_object()["description"] = to_boost(text);
  all_.emplace(name, std::move(schema));
}

}  // namespace atl::api::openapi
