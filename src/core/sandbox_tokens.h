// Tokens for one sandbox each: short-lived, signed, and worth nothing once the sandbox has ended or
// was reset, or the key that gave them away was revoked.
//
//   ast_<sandbox>.<expiry, seconds since 1970>.<who gave it>[.read].<HMAC-SHA-256 of all that, in
//   hex>
//
// Nothing of a token is kept. The secret comes from admin.key, so a new admin.key ends all of them,
// and a restart of the daemon none.
#pragma once

#include <string>
#include <string_view>

#include <boost/describe/enum.hpp>

#include "core/engine.h"
#include "core/keys.h"

namespace atl {

inline constexpr std::string_view kTokenPrefix = "ast_";
inline constexpr std::chrono::seconds kDefaultTokenLife{3'600};
inline constexpr std::chrono::seconds kLongestTokenLife{24 * 3'600};

enum class TokenMode : uint8_t {
  use,   // commands, files, ports
  read,  // for viewers: what there is, contents and output; nothing is changed
};
BOOST_DESCRIBE_ENUM(TokenMode, use, read)

struct SandboxToken {
  std::string token;  // nowhere else
  std::string sandbox;
  WallTime expires_at{};
};

class SandboxTokens final {
 public:
  // All but the secret outlive the tokens. Without a secret none is made, and none is valid.
  SandboxTokens(Engine& engine, const Keys& keys, const Clock& clock, std::string_view secret);

  // By id or by name. Code::not_found for a sandbox that the caller does not see.
  Result<SandboxToken> make(const Caller& caller, std::string_view id_or_name,
                            std::optional<std::chrono::seconds> ttl,
                            TokenMode mode = TokenMode::use) const;

  // Code::unauthenticated for one that is forged, has expired, or whose sandbox or giver is gone;
  // it does not tell which.
  Result<Caller> verify(std::string_view token) const;

 private:
  // For the sandbox as it is until its next reset.
  std::string sign(std::string_view sandbox, std::string text) const;

  Engine& engine_;
  const Keys& keys_;
  const Clock& clock_;
  std::string secret_;  // "" = there is none
};

}  // namespace atl
