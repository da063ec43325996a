// SHA-256, HMAC-SHA-256 and comparison that tells nothing by its time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace atl::crypto {

using Digest = std::array<uint8_t, 32>;

Digest sha256(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);

// SHA-256 of what comes in pieces.
class Sha256 final {
 public:
  Sha256();
  ~Sha256();

  void put(std::string_view bytes);
  // Of all pieces, in hex; nothing can be put afterwards.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest hmac_sha256(std::string_view key, std::string_view bytes);

// For secrets: the time taken depends on the lengths alone, not on where the two first differ.
bool constant_time_equal(std::string_view a, std::string_view b);

}  // namespace atl::crypto
