// Described structs to a json::Value, for code that goes on to change or merge the tree; encode.h
// is the quick way to text.
#pragma once

#include "json/shape.h"
#include "json/value.h"
#include "json/write.h"

namespace atl::json {

template <typename T>
Value to_value(const T& value);

namespace detail {

template <typename Descriptor, typename T>
void add_member(Object& out, const T& object) {
  const auto& member = object.*Descriptor::pointer;
  if constexpr (kIsOptional<std::remove_cvref_t<decltype(member)>>) {
    if (!member) return;
  }
  constexpr std::string_view name = json_name<Descriptor>();
  out.insert_or_assign({name.data(), name.size()}, to_value(member));
}

template <typename T, template <typename...> typename List, typename... Descriptors>
Object to_object([[maybe_unused]] const T& object, List<Descriptors...>) {
  Object out;
  (add_member<Descriptors>(out, object), ...);
  return out;
}

inline Value string_value(std::string_view text) {
  const std::string clean = to_well_formed(text);
  return Value(boost::json::string_view(clean.data(), clean.size()));
}

}  // namespace detail

template <typename T>
Value to_value(const T& value) {
  if constexpr (Described<T>) {
    return detail::to_object(value, detail::Members<T>());
  } else if constexpr (DescribedEnum<T>) {
    const std::string_view name = name_of(value);
    return name.empty() ? Value(nullptr) : detail::string_value(name);
  } else if constexpr (std::same_as<T, bool>) {
    return Value(value);
  } else if constexpr (detail::Integer<T>) {
    if constexpr (std::signed_integral<T>) {
      return Value(static_cast<int64_t>(value));
    } else {
      return Value(static_cast<uint64_t>(value));
    }
  } else if constexpr (std::floating_point<T>) {
    return Value(static_cast<double>(value));
  } else if constexpr (detail::AnyValue<T>) {
    return value;
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    return detail::string_value(value);
  } else if constexpr (detail::kIsOptional<T>) {
    return value ? to_value(*value) : Value(nullptr);
  } else if constexpr (detail::kIsVector<T>) {
    Array out;
    out.reserve(value.size());
    for (const typename T::value_type& element : value) out.push_back(to_value(element));
    return out;
  } else if constexpr (detail::kIsMap<T>) {
    Object out;
    for (const auto& [key, element] : value) {
      out.insert_or_assign(to_well_formed(key), to_value(element));
    }
    return out;
  } else {
    static_assert(detail::kUnsupported<T>, "describe this type, see json/describe.h");
  }
}

}  // namespace atl::json
