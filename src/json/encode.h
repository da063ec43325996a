// Described structs to JSON text, straight into a string.
//
// An absent std::optional is left out. What write.h promises about odd bytes and numbers holds for
// every member.
#pragma once

#include <string>

#include "json/shape.h"
#include "json/write.h"

namespace atl::json {

template <typename T>
void encode_to(std::string& out, const T& value);

namespace detail {

// `"name":` as a constant, so that a member's key is one append.
template <typename Descriptor>
struct Key {
  static constexpr auto kChars = [] {
    constexpr std::string_view name = json_name<Descriptor>();
    std::array<char, name.size() + 3> chars{};
    chars.front() = '"';
    for (size_t i = 0; i < name.size(); ++i) chars[i + 1] = name[i];
    chars[name.size() + 1] = '"';
    chars[name.size() + 2] = ':';
    return chars;
  }();
};

// Each entry ends in a comma; the last one turns into the bracket.
inline void close_container(std::string& out, char bracket) {
  if (out.back() == ',') {
    out.back() = bracket;
  } else {
    out += bracket;
  }
}

template <typename Descriptor, typename T>
void encode_member(std::string& out, const T& object) {
  const auto& member = object.*Descriptor::pointer;
  if constexpr (kIsOptional<std::remove_cvref_t<decltype(member)>>) {
    if (!member) return;
  }
  constexpr auto& key = Key<Descriptor>::kChars;
  out.append(key.data(), key.size());
  encode_to(out, member);
  out += ',';
}

template <typename T, template <typename...> typename List, typename... Descriptors>
void encode_members(std::string& out, [[maybe_unused]] const T& object, List<Descriptors...>) {
  out += '{';
  (encode_member<Descriptors>(out, object), ...);
  close_container(out, '}');
}

}  // namespace detail

// Appends; for lines of NDJSON, and for answers that are assembled from parts.
template <typename T>
void encode_to(std::string& out, const T& value) {
  if constexpr (Described<T>) {
    detail::encode_members(out, value, detail::Members<T>());
  } else if constexpr (DescribedEnum<T>) {
    const std::string_view name = name_of(value);
    if (name.empty()) {
      out += "null";
    } else {
      write_string(out, name);
    }
  } else if constexpr (std::same_as<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (detail::Integer<T>) {
    if constexpr (std::signed_integral<T>) {
      write_integer(out, static_cast<int64_t>(value));
    } else {
      write_integer(out, static_cast<uint64_t>(value));
    }
  } else if constexpr (std::floating_point<T>) {
    write_double(out, static_cast<double>(value));
  } else if constexpr (detail::AnyValue<T>) {
    write_value(out, value);
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    write_string(out, value);
  } else if constexpr (detail::kIsOptional<T>) {
    if (value) {
      encode_to(out, *value);
    } else {
      out += "null";
    }
  } else if constexpr (detail::kIsVector<T>) {
    out += '[';
    for (const typename T::value_type& element : value) {
      encode_to(out, element);
      out += ',';
    }
    detail::close_container(out, ']');
  } else if constexpr (detail::kIsMap<T>) {
    out += '{';
    for (const auto& [key, element] : value) {
      write_string(out, key);
      out += ':';
      encode_to(out, element);
      out += ',';
    }
    detail::close_container(out, '}');
  } else {
    static_assert(detail::kUnsupported<T>, "describe this type, see json/describe.h");
  }
}

template <typename T>
std::string encode(const T& value) {
  std::string out;
  out.reserve(512);
  encode_to(out, value);
  return out;
}

}  // namespace atl::json
