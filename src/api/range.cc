#include "api/range.h"

#include <algorithm>
#include <charconv>

namespace atl::api {
namespace {

// A number that is too large stands for "to the end", which is where clamping takes it.
std::optional<uint64_t> read(std::string_view digits) {
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  uint64_t number = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return problem == std::errc() ? number : UINT64_MAX;
}

}  // namespace

RangeChoice choose_range(std::optional<std::string_view> header, uint64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  const RangeChoice whole{RangeKind::whole, {0, size}};
  if (!header || !header->starts_with(kUnit)) return whole;
  const std::string_view spec = header->substr(kUnit.size());
  const size_t dash = spec.find('-');
  if (dash == std::string_view::npos) return whole;

  const auto first = read(spec.substr(0, dash));
  const auto last = read(spec.substr(dash + 1));
  if (dash == 0) {
    if (!last) return whole;
    const uint64_t length = std::min(*last, size);
    if (length == 0) return {RangeKind::unsatisfiable, {}};
    return {RangeKind::part, {size - length, length}};
  }
  if (!first || (!last && dash + 1 != spec.size())) return whole;
  if (last && *last < *first) return whole;
  if (*first >= size) return {RangeKind::unsatisfiable, {}};
  const uint64_t end = last ? std::min(*last, size - 1) : size - 1;
  return {RangeKind::part, {*first, end - *first + 1}};
}

}  // namespace atl::api
