// The part of ids.h that the privileged programs have no use for: what people and traces call
// things.
#include <algorithm>

#include "base/ids.h"

namespace atl {

std::string make_sandbox_id() { return "sbx" + random_name(20); }

std::string make_session_id() { return "ses" + random_name(20); }

std::string make_snapshot_id() { return "snp" + random_name(20); }

bool is_snapshot_id(std::string_view text) {
  return text.starts_with("snp") && is_sandbox_id("sbx" + std::string(text.substr(3)));
}

std::string make_request_id() { return "req" + random_name(16); }

std::string make_trace_id() {
  std::array<uint8_t, 16> bytes;
  fill_random(bytes);
  return to_hex(bytes);
}

Result<> check_sandbox_name(std::string_view name) {
  const bool shaped = !name.empty() && name.size() <= kLongestSandboxName && name.front() != '-' &&
                      name.back() != '-' && std::ranges::all_of(name, [](char c) {
                        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
                      });
  if (!shaped) {
    return Error(Code::invalid_argument,
                 "a name has 1 to 63 of a-z, 0-9 and '-', and no '-' at its ends");
  }
  if (is_sandbox_id(name))
    return Error(Code::invalid_argument, "a name must not look like a sandbox id");
  return {};
}

Result<> check_snapshot_name(std::string_view name) {
  TRY_OK(check_sandbox_name(name));
  if (is_snapshot_id(name))
    return Error(Code::invalid_argument, "a name must not look like a snapshot id");
  return {};
}

std::string to_hex(std::span<const uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace atl
