#include "core/sandbox_tokens.h"

#include <charconv>

#include "base/ids.h"
#include "base/text.h"
#include "crypto/hash.h"

namespace atl {
namespace {

constexpr size_t kLongestToken = 512;
constexpr std::string_view kReadMark = ".read";
// So that the same secret, used for something else one day, signs nothing that is taken for a
// token.
constexpr std::string_view kPurpose = "atoll sandbox token v1\n";

std::string derive(std::string_view secret) {
  if (secret.empty()) return {};
  const auto digest = crypto::hmac_sha256(secret, kPurpose);
  return {digest.begin(), digest.end()};
}

int64_t seconds_of(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

Error refused() { return Error(Code::unauthenticated, "the token is not valid"); }

}  // namespace

SandboxTokens::SandboxTokens(Engine& engine, const Keys& keys, const Clock& clock,
                             std::string_view secret)
    : engine_(engine), keys_(keys), clock_(clock), secret_(derive(secret)) {}

std::string SandboxTokens::sign(std::string_view sandbox, std::string text) const {
  if (const int64_t resets = engine_.resets_of(sandbox); resets > 0)
    text += "#" + std::to_string(resets);
  return to_hex(crypto::hmac_sha256(secret_, text));
}

Result<SandboxToken> SandboxTokens::make(const Caller& caller, std::string_view id_or_name,
                                         std::optional<std::chrono::seconds> ttl,
                                         TokenMode mode) const {
  if (secret_.empty()) {
    return Error(Code::unsupported, "this engine gives no tokens").with_hint("use a daemon");
  }
  const auto life = ttl.value_or(kDefaultTokenLife);
  if (life < std::chrono::seconds(1) || life > kLongestTokenLife) {
    return Error(Code::invalid_argument,
                 "ttl_s: it is from 1 to " + std::to_string(kLongestTokenLife.count()))
        .with_hint("ask for another token when this one has expired");
  }
  TRY(const auto view, engine_.get(caller, id_or_name));
  // It would be good for whoever gets the sandbox.
  if (view.is_parked) {
    return Error(Code::conflict, "sandbox " + view.id + " is nobody's: it waits in a pool");
  }
  const WallTime expires_at = clock_.wall() + life;
  std::string token = std::string(kTokenPrefix) + view.id + "." +
                      std::to_string(seconds_of(expires_at)) + "." + caller.subject;
  if (mode == TokenMode::read) token += kReadMark;
  token += "." + sign(view.id, token);
  return SandboxToken{std::move(token), view.id,
                      WallTime(std::chrono::seconds(seconds_of(expires_at)))};
}

Result<Caller> SandboxTokens::verify(std::string_view token) const {
  if (secret_.empty() || token.size() > kLongestToken || !token.starts_with(kTokenPrefix)) {
    return refused();
  }
  const size_t end = token.rfind('.');
  if (end == std::string_view::npos) return refused();
  const std::string_view signed_part = token.substr(0, end);
  // First, so that nothing below sees bytes that we have not written ourselves.
  const std::string_view named = signed_part.substr(kTokenPrefix.size());
  const std::string signature = sign(named.substr(0, named.find('.')), std::string(signed_part));
  if (!crypto::constant_time_equal(signature, token.substr(end + 1))) return refused();

  const auto parts = split(signed_part.substr(kTokenPrefix.size()), '.');
  const bool is_read = parts.size() == 4 && "." + parts[3] == kReadMark;
  if (parts.size() != 3 && !is_read) return refused();
  int64_t expires_at = 0;
  const char* const stop = parts[1].data() + parts[1].size();
  const auto [at, trouble] = std::from_chars(parts[1].data(), stop, expires_at);
  if (trouble != std::errc() || at != stop) return refused();
  if (clock_.wall() >= WallTime(std::chrono::seconds(expires_at))) return refused();
  if (parts[2].starts_with(kKeyPrefix) && !keys_.is_valid(parts[2])) return refused();
  const auto tenant = engine_.find_tenant(parts[0]);
  if (!tenant) return refused();
  return Caller{.tenant = *tenant,
                .subject = "token:" + parts[0],
                .role = is_read ? Role::viewer : Role::agent,
                .sandbox = parts[0]};
}

}  // namespace atl
