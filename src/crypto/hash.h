// SHA-256, HMAC-SHA-256 and comparison that tells nothing by its time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace atl::crypto {

using Digest = std::array<uint8_t, 32>;

Digest sha256(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);

Digest hmac_sha256(std::string_view key, std::string_view bytes);

// For secrets: the time taken depends on the lengths alone, not on where the two first differ.
bool constant_time_equal(std::string_view a, std::string_view b);

}  // namespace atl::crypto
