// How a struct or an enum is described once, for JSON, YAML and JSON Schema alike.
//
//   struct Exec {
//     std::vector<std::string> argv;
//     std::optional<int64_t> timeout_ms;
//   };
//   BOOST_DESCRIBE_STRUCT(Exec, (), (argv, timeout_ms))
//
// Which members may be absent:
//   - By default std::optional members may, all others must be there.
//   - A struct that says `static constexpr auto kRequired = json::required("argv", "cwd");`
//   requires just those;
//     every other member may be absent and keeps its default member initialiser. `json::required()`
//     requires none, which is what configuration wants.
//   - null counts as absent, for members that may be.
//
// Members: described structs (bases too), std::optional, std::vector, std::map with string keys,
// bool, integers of every width, double, std::string, described enums, and json::Value for what is
// passed through unread. A name that C++ reserves gets a trailing underscore, which JSON does not
// show: `default_` is "default".
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <type_traits>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>
#include <boost/describe/enumerators.hpp>
#include <boost/describe/members.hpp>
#include <boost/describe/modifiers.hpp>
#include <boost/mp11/list.hpp>

namespace atl::json {

template <typename... Names>
constexpr std::array<std::string_view, sizeof...(Names)> required(Names... names) {
  return {std::string_view(names)...};
}

template <typename T>
concept Described = std::is_class_v<T> && boost::describe::has_describe_members<T>::value;

template <typename E>
concept DescribedEnum = std::is_enum_v<E> && boost::describe::has_describe_enumerators<E>::value;

namespace detail {

template <typename Descriptor>
constexpr std::string_view json_name() {
  std::string_view name = Descriptor::name;
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

template <typename T>
using Members = boost::describe::describe_members<T, boost::describe::mod_public |
                                                         boost::describe::mod_inherited>;

template <typename List>
struct Names;
template <template <typename...> typename List, typename... Descriptors>
struct Names<List<Descriptors...>> {
  static constexpr std::array<std::string_view, sizeof...(Descriptors)> kAll{
      json_name<Descriptors>()...};
};

template <typename E, typename List>
struct EnumValues;
template <typename E, template <typename...> typename List, typename... Descriptors>
struct EnumValues<E, List<Descriptors...>> {
  static constexpr std::array<E, sizeof...(Descriptors)> kAll{Descriptors::value...};
};

template <DescribedEnum E>
inline constexpr auto& kEnumNames = Names<boost::describe::describe_enumerators<E>>::kAll;
template <DescribedEnum E>
inline constexpr auto& kEnumValues = EnumValues<E, boost::describe::describe_enumerators<E>>::kAll;

}  // namespace detail

// The name of an enumerator as JSON shows it; "" for a value that is none.
template <DescribedEnum E>
constexpr std::string_view name_of(E value) {
  for (size_t i = 0; i < detail::kEnumValues<E>.size(); ++i) {
    if (detail::kEnumValues<E>[i] == value) return detail::kEnumNames<E>[i];
  }
  return {};
}

template <DescribedEnum E>
constexpr std::optional<E> find_enum(std::string_view name) {
  for (size_t i = 0; i < detail::kEnumNames<E>.size(); ++i) {
    if (detail::kEnumNames<E>[i] == name) return detail::kEnumValues<E>[i];
  }
  return std::nullopt;
}

}  // namespace atl::json
