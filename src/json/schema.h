// JSON Schema of a described struct, from the description that decoding uses, so that the two
// cannot differ.
//
// A struct that contains itself has no schema here.
#pragma once

#include "json/shape.h"
#include "json/value.h"

namespace atl::json {

template <typename T>
Value schema();

namespace detail {

template <typename T, typename Descriptor>
void add_property(Object& properties, Array& required) {
  constexpr std::string_view name = json_name<Descriptor>();
  const boost::json::string_view key(name.data(), name.size());
  properties.insert_or_assign(key, schema<MemberType<T, Descriptor>>());
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
    return Object{{"type", "integer"},
                  {"minimum", std::numeric_limits<T>::min()},
                  {"maximum", std::numeric_limits<T>::max()}};
  } else if constexpr (std::same_as<T, double>) {
    return Object{{"type", "number"}};
  } else if constexpr (std::same_as<T, std::string>) {
    return Object{{"type", "string"}};
  } else if constexpr (detail::AnyValue<T>) {
    return Object{};
  } else if constexpr (detail::kIsOptional<T>) {
    return schema<typename T::value_type>();
  } else if constexpr (detail::kIsVector<T>) {
    return Object{{"type", "array"}, {"items", schema<typename T::value_type>()}};
  } else if constexpr (detail::kIsMap<T>) {
    return Object{{"type", "object"}, {"additionalProperties", schema<typename T::mapped_type>()}};
  } else {
    static_assert(detail::kUnsupported<T>, "describe this type, see json/describe.h");
  }
}

}  // namespace atl::json
