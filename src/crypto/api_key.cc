#include "crypto/api_key.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/ids.h"
#include "crypto/hash.h"

namespace atl::crypto {
namespace {

constexpr std::string_view kAlphabet =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr size_t kLength = 43;  // of log2(62) = 5.954 bits each: 256.03 bits

}  // namespace

std::string make_api_key() {
  std::string key = "atk_";
  const size_t whole = key.size() + kLength;
  std::array<uint8_t, 64> pool;
  while (key.size() < whole) {
    fill_random(pool);
    for (const uint8_t byte : pool) {
      // 248 is the largest multiple of 62 in a byte: what lies above would favour the first digits.
      if (byte < 248 && key.size() < whole) key += kAlphabet[byte % kAlphabet.size()];
    }
  }
  return key;
}

std::string hide_keys(std::string_view text) {
  constexpr std::string_view kHidden = "(hidden)";
  std::string shown;
  while (!text.empty()) {
    const size_t at = std::min(text.find("atk_"), text.find("ast_"));
    shown += text.substr(0, at);
    if (at == std::string_view::npos) break;
    constexpr size_t kPrefix = 4;
    const std::string_view secret = text.substr(at + kPrefix);
    // A token has dots and colons in it besides.
    const size_t length =
        std::min(secret.size(), secret.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                         "abcdefghijklmnopqrstuvwxyz.:"));
    shown += text.substr(at, kPrefix);
    shown += kHidden;
    text = secret.substr(length);
  }
  return shown;
}

std::string hash_api_key(std::string_view key) { return sha256_hex(key); }

}  // namespace atl::crypto
