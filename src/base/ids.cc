#include "base/ids.h"

#include <sys/random.h>

#include <algorithm>

#include "base/check.h"

namespace atl {
namespace {

constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr size_t kSandboxIdLength = 23;

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

}  // namespace

void fill_random(std::span<uint8_t> bytes) {
  // Requests of up to 256 bytes are never cut short.
  for (size_t done = 0; done < bytes.size();) {
    const size_t part = std::min<size_t>(256, bytes.size() - done);
    const ssize_t got = getrandom(bytes.data() + done, part, 0);
    if (got > 0) done += static_cast<size_t>(got);
    ATOLL_CHECK(got > 0 || errno == EINTR);
  }
}

std::string random_name(size_t length) {
  std::string name;
  name.reserve(length);
  std::array<uint8_t, 64> pool;
  while (name.size() < length) {
    fill_random(pool);
    for (const uint8_t byte : pool) {
      // 252 is the largest multiple of 36 in a byte: what lies above would favour the first
      // letters.
      if (byte < 252 && name.size() < length) name += kAlphabet[byte % kAlphabet.size()];
    }
  }
  return name;
}

std::string make_sandbox_id() { return "sbx" + random_name(20); }

bool is_sandbox_id(std::string_view text) {
  return text.size() == kSandboxIdLength && text.starts_with("sbx") &&
         std::ranges::all_of(text, is_lower_or_digit);
}

std::string make_request_id() { return "req" + random_name(16); }

std::string make_trace_id() {
  std::array<uint8_t, 16> bytes;
  fill_random(bytes);
  return to_hex(bytes);
}

Result<> check_sandbox_name(std::string_view name) {
  const bool shaped =
      !name.empty() && name.size() <= 63 && name.front() != '-' && name.back() != '-' &&
      std::ranges::all_of(name, [](char c) { return is_lower_or_digit(c) || c == '-'; });
  if (!shaped) {
    return Error(Code::invalid_argument,
                 "a name has 1 to 63 of a-z, 0-9 and '-', and no '-' at its ends");
  }
  if (is_sandbox_id(name))
    return Error(Code::invalid_argument, "a name must not look like a sandbox id");
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
