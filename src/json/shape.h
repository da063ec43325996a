// Which JSON shape a C++ type has; what decode, encode and schema share.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <boost/json/fwd.hpp>

#include "json/describe.h"

namespace atl::json::detail {

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <typename T>
inline constexpr bool kIsVector = false;
template <typename T, typename A>
inline constexpr bool kIsVector<std::vector<T, A>> = true;

template <typename T>
inline constexpr bool kIsMap = false;
template <typename T, typename C, typename A>
inline constexpr bool kIsMap<std::map<std::string, T, C, A>> = true;

// char is text that lost its string, so it is no integer here.
template <typename T>
concept Integer = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                  !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                  !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

template <typename T>
concept AnyValue = std::same_as<T, boost::json::value>;

template <typename T>
inline constexpr bool kUnsupported = false;

template <typename T, typename Descriptor>
using MemberType = std::remove_cvref_t<decltype(std::declval<T&>().*Descriptor::pointer)>;

template <typename T>
constexpr bool names_required_members() {
  return requires { T::kRequired; };
}

template <typename T>
constexpr bool lists_only_members() {
  for (const std::string_view name : T::kRequired) {
    bool known = false;
    for (const std::string_view member : Names<Members<T>>::kAll) known = known || member == name;
    if (!known) return false;
  }
  return true;
}

// The rule that describe.h states.
template <typename T, typename Descriptor>
constexpr bool is_required() {
  if constexpr (names_required_members<T>()) {
    static_assert(lists_only_members<T>(), "kRequired names something that is no described member");
    for (const std::string_view name : T::kRequired) {
      if (name == json_name<Descriptor>()) return true;
    }
    return false;
  } else {
    return !kIsOptional<MemberType<T, Descriptor>>;
  }
}

}  // namespace atl::json::detail
