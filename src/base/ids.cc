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

bool is_sandbox_id(std::string_view text) {
  return text.size() == kSandboxIdLength && text.starts_with("sbx") &&
         std::ranges::all_of(text, is_lower_or_digit);
}

}  // namespace atl
