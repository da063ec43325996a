// Query parameters: which are known, and what their values mean. Errors are Code::invalid_argument
// and name the parameter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/describe.h"
#include "net/http_message.h"

namespace atl::api {

// `known` are names separated by blanks; one that may come more than once ends in "*".
Result<> check_parameters(const net::Query& query, std::string_view known);

Result<std::optional<uint64_t>> read_number(const net::Query& query, std::string_view name,
                                            uint64_t most);
// "true", "1" or nothing; "false" or "0".
Result<std::optional<bool>> read_flag(const net::Query& query, std::string_view name);

// From `path`, or `path_b64` for one that is not UTF-8; nullopt when neither is there.
Result<std::optional<std::string>> read_path(const net::Query& query);
Result<std::string> read_needed_path(const net::Query& query);

// What a path may look like before a guest sees it: not empty, no NUL, no longer than the kernel
// takes. Whether it leads out of the sandbox is the guest's to decide, because only there links are
// known.
Result<> check_path(std::string_view field, std::string_view path);

Error unknown_choice(std::string_view name, std::string_view value,
                     const std::vector<std::string>& choices);

template <json::DescribedEnum E>
Result<std::optional<E>> read_choice(const net::Query& query, std::string_view name) {
  const auto text = query.find(name);
  if (!text) return std::optional<E>();
  if (const auto found = json::find_enum<E>(*text)) return std::optional<E>(found);
  const auto& names = json::detail::kEnumNames<E>;
  const std::vector<std::string> choices(names.begin(), names.end());
  return unknown_choice(name, *text, choices);
}

}  // namespace atl::api
