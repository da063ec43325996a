// JSON text to described structs, strictly: every error names its path.
//
//   TRY(auto request, json::decode<wire::Exec>(body));
//
// Errors are Code::invalid_argument and read "resources.memory_mb: expected an integer, got a
// string", "argv[2]: …", "argv: missing", "resources.memroy_mb: unknown field (did you mean
// memory_mb?)"; a text over Limits::max_bytes is Code::too_large. describe.h says which members may
// be absent. Never throws.
//
// Each decoded type costs its translation unit compile time: decode a wire struct in one place.
#pragma once

#include <string>
#include <utility>

#include "json/decoder.h"
#include "json/shape.h"

namespace atl::json {
namespace detail {

template <typename T>
bool decode_into(Decoder& decoder, const Value& value, const Path& path, T& out);

template <typename Descriptor, typename T>
bool decode_member(Decoder& decoder, const Object& object, const Path& path, T& out) {
  constexpr std::string_view name = json_name<Descriptor>();
  const Value* value = object.if_contains({name.data(), name.size()});
  if constexpr (is_required<T, Descriptor>()) {
    if (value == nullptr) return decoder.missing(path.child(name));
  } else {
    if (value == nullptr || value->is_null()) return true;
  }
  return decode_into(decoder, *value, path.child(name), out.*Descriptor::pointer);
}

template <typename T, template <typename...> typename List, typename... Descriptors>
bool decode_members(Decoder& decoder, const Object& object, const Path& path, T& out,
                    List<Descriptors...>) {
  return (decode_member<Descriptors>(decoder, object, path, out) && ...);
}

template <typename T>
bool decode_into(Decoder& decoder, const Value& value, const Path& path, T& out) {
  if constexpr (Described<T>) {
    const Object* object = decoder.object(value, path, Names<Members<T>>::kAll);
    return object != nullptr && decode_members(decoder, *object, path, out, Members<T>());
  } else if constexpr (DescribedEnum<T>) {
    size_t index = 0;
    if (!decoder.read_name(value, path, kEnumNames<T>, index)) return false;
    out = kEnumValues<T>[index];
    return true;
  } else if constexpr (std::same_as<T, bool> || std::same_as<T, double> ||
                       std::same_as<T, std::string>) {
    return decoder.read(value, path, out);
  } else if constexpr (Integer<T>) {
    using Limit = std::numeric_limits<T>;
    std::conditional_t<std::signed_integral<T>, int64_t, uint64_t> number = 0;
    if constexpr (std::signed_integral<T>) {
      if (!decoder.read_signed(value, path, Limit::min(), Limit::max(), number)) return false;
    } else {
      if (!decoder.read_unsigned(value, path, Limit::max(), number)) return false;
    }
    out = static_cast<T>(number);
    return true;
  } else if constexpr (AnyValue<T>) {
    out = value;
    return true;
  } else if constexpr (kIsOptional<T>) {
    out.reset();
    return value.is_null() || decode_into(decoder, value, path, out.emplace());
  } else if constexpr (kIsVector<T>) {
    const Array* array = decoder.array(value, path);
    if (array == nullptr) return false;
    out.clear();
    out.reserve(array->size());
    for (size_t i = 0; i < array->size(); ++i) {
      typename T::value_type element{};
      if (!decode_into(decoder, (*array)[i], path.child(i), element)) return false;
      out.push_back(std::move(element));
    }
    return true;
  } else if constexpr (kIsMap<T>) {
    const Object* object = decoder.object(value, path);
    if (object == nullptr) return false;
    out.clear();
    for (const auto& member : *object) {
      const std::string_view key(member.key().data(), member.key().size());
      if (!decode_into(decoder, member.value(), path.child(key), out[std::string(key)])) {
        return false;
      }
    }
    return true;
  } else {
    static_assert(kUnsupported<T>, "describe this type, see json/describe.h");
  }
}

}  // namespace detail

template <typename T>
Result<T> decode_value(const Value& value) {
  Result<T> out{T{}};
  Decoder decoder;
  if (!detail::decode_into(decoder, value, Path{}, *out)) return decoder.error();
  return out;
}

template <typename T>
Result<T> decode(std::string_view text, const Limits& limits = {}) {
  Result<T> out{T{}};
  const auto read = [](Decoder& decoder, const Value& value, void* into) {
    return detail::decode_into(decoder, value, Path{}, *static_cast<T*>(into));
  };
  TRY_OK(detail::decode_text(text, limits, &*out, read));
  return out;
}

}  // namespace atl::json
