// Described structs to JSON without what goes without saying: a member that is what it is in a new
// object is left out, if decode() does not require it. For what only decode() reads again, and has
// many members that hardly anybody sets; people and other programs get encode.h.
//
// Whoever changes what a member is in a new object changes what is read from older texts.
#pragma once

#include "json/encode.h"

namespace atl::json {

template <typename T>
std::string encode_sparse(const T& value);

namespace detail {

template <typename T>
bool is_usual(const T& value, const T& usual);

template <typename T, template <typename...> typename List, typename... Descriptors>
bool are_usual(const T& value, const T& usual, List<Descriptors...>) {
  return (is_usual(value.*Descriptors::pointer, usual.*Descriptors::pointer) && ...);
}

// Where telling is not worth its while it says no.
template <typename T>
bool is_usual(const T& value, const T& usual) {
  if constexpr (Described<T>) {
    return are_usual(value, usual, Members<T>());
  } else if constexpr (kIsOptional<T>) {
    return !value && !usual;
  } else if constexpr (kIsVector<T> || kIsMap<T>) {
    return value.empty() && usual.empty();
  } else {
    return value == usual;
  }
}

template <typename T>
void encode_sparse_to(std::string& out, const T& value);

template <typename Descriptor, typename T>
void encode_unusual(std::string& out, const T& object, const T& usual) {
  const auto& member = object.*Descriptor::pointer;
  if constexpr (!is_required<T, Descriptor>()) {
    if (is_usual(member, usual.*Descriptor::pointer)) return;
  }
  if constexpr (Described<MemberType<T, Descriptor>>) {
    constexpr auto& key = Key<Descriptor>::kChars;
    out.append(key.data(), key.size());
    encode_sparse_to(out, member);
    out += ',';
  } else {
    encode_member<Descriptor>(out, object);
  }
}

template <typename T, template <typename...> typename List, typename... Descriptors>
void encode_all_unusual(std::string& out, const T& object, const T& usual, List<Descriptors...>) {
  out += '{';
  (encode_unusual<Descriptors>(out, object, usual), ...);
  close_container(out, '}');
}

template <typename T>
void encode_sparse_to(std::string& out, const T& value) {
  static const T kUsual{};
  encode_all_unusual(out, value, kUsual, Members<T>());
}

}  // namespace detail

template <typename T>
std::string encode_sparse(const T& value) {
  std::string out;
  out.reserve(256);
  detail::encode_sparse_to(out, value);
  return out;
}

}  // namespace atl::json
