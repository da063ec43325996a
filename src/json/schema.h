// JSON Schema of a described struct, from the description that decoding uses, so that the two
// cannot differ.
//
// A type that has a name in the document is spelt out once, and referred to where it is a member of
// another. A struct names itself (`static constexpr std::string_view kSchema = "Exec";`); for a
// type that cannot, kSchemaName is specialised. A struct that contains itself has no schema here.
#pragma once

#include "json/shape.h"
#include "json/value.h"

namespace atl::json {

template <typename T>
constexpr std::string_view own_schema_name() {
  if constexpr (requires { T::kSchema; }) return T::kSchema;
  return {};
}
template <typename T>
inline constexpr std::string_view kSchemaName = own_schema_name<T>();

// All of it, whether it has a name or not.
template <typename T>
Value schema();

// As a member: types that have a name are referred to.
template <typename T>
Value member_schema();

namespace detail {

template <typename T, typename Descriptor>
void add_property(Object& properties, Array& required) {
  constexpr std::string_view name = json_name<Descriptor>();
  const boost::json::string_view key(name.data(), name.size());
  properties.insert_or_assign(key, member_schema<MemberType<T, Descriptor>>());
  if constexpr (is_required<T, Descriptor>()) required.push_back(Value(key));
}

template <typename T, template <typename...> typename List, typename... Descriptors>
Value object_schema(List<Descriptors...>) {
  Object properties;
  Array required;
  (add_property<T, Descriptors>(properties, required), ...);
  Object out{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) out["required"] = std::move(required);
  out["additionalProperties"] = false;
  return out;
}

}  // namespace detail

template <typename T>
Value schema() {
  if constexpr (Described<T>) {
    return detail::object_schema<T>(detail::Members<T>());
  } else if constexpr (DescribedEnum<T>) {
    Array names;
    for (const auto name : detail::kEnumNames<T>) {
      names.push_back(Value(boost::json::string_view(name.data(), name.size())));
    }
    return Object{{"type", "string"}, {"enum", std::move(names)}};
  } else if constexpr (std::same_as<T, bool>) {
    return Object{{"type", "boolean"}};
  } else if constexpr (detail::Integer<T>) {
    Object out{{"type", "integer"}};
    // The ends of 64 bits are not worth telling: few readers could even hold them.
    if constexpr (sizeof(T) < 8 || std::unsigned_integral<T>)
      out["minimum"] = std::numeric_limits<T>::min();
    if constexpr (sizeof(T) < 8) out["maximum"] = std::numeric_limits<T>::max();
    return out;
  } else if constexpr (std::same_as<T, double>) {
    return Object{{"type", "number"}};
  } else if constexpr (std::same_as<T, std::string>) {
    return Object{{"type", "string"}};
  } else if constexpr (detail::AnyValue<T>) {
    return Object{};
  } else if constexpr (detail::kIsOptional<T>) {
    return member_schema<typename T::value_type>();
  } else if constexpr (detail::kIsVector<T>) {
    return Object{{"type", "array"}, {"items", member_schema<typename T::value_type>()}};
  } else if constexpr (detail::kIsMap<T>) {
    return Object{{"type", "object"},
                  {"additionalProperties", member_schema<typename T::mapped_type>()}};
  } else {
    static_assert(detail::kUnsupported<T>, "describe this type, see json/describe.h");
  }
}

template <typename T>
Value member_schema() {
  if constexpr (kSchemaName<T>.empty()) {
    return schema<T>();
  } else {
    std::string path = "#/components/schemas/";
    path += kSchemaName<T>;
    return Object{{"$ref", path}};
  }
}

}  // namespace atl::json
