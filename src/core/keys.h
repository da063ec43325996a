// API keys: who may call. Only hashes are kept; a token is shown once, when it is made.
//
// Lives on the core loop; verify() looks into memory alone.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/task.h"
#include "core/access.h"

namespace atl {

namespace store {
class Store;
}

inline constexpr std::string_view kKeyPrefix = "key";  // of ids
inline constexpr size_t kMostKeys = 10'000;
inline constexpr size_t kMostKeyLabel = 256;
inline constexpr std::chrono::seconds kLongestKeyLife = std::chrono::hours(10 * 366 * 24);

struct ApiKey {
  std::string id;
  std::string tenant;
  Role role = Role::member;
  std::string label;  // what it is for, in its maker's words
  WallTime created_at{};
  std::optional<WallTime> expires_at;
  std::optional<WallTime> last_used_at;
};

struct KeyRequest {
  std::string tenant = "default";
  Role role = Role::member;
  std::string label = {};
  std::optional<std::chrono::seconds> ttl = {};  // nullopt = until it is revoked
};

struct NewKey {
  ApiKey key;
  std::string token;  // nowhere else
};

class Keys final {
 public:
  // Both outlive the keys.
  Keys(store::Store& store, const Clock& clock);

  // Reads them from the store; call once, before anything else.
  Task<> load();

  // On the disk before it returns. Code::resource_exhausted beyond kMostKeys.
  Task<NewKey> create(KeyRequest request);
  // Makes sure that `token` is an admin key of the tenant "default": for the token in the state
  // directory's admin.key, which outlives both the loss of the store and a crash between the two.
  // Code::invalid_argument for a token that is too short to be a secret. `forget` is called before
  // that key is revoked, or the next start would bring it back.
  Task<> ensure_admin(std::string token, std::function<Result<>()> forget = {});
  std::vector<ApiKey> list() const;
  // Works at once; calls that are under way go on. Code::not_found for an unknown id.
  Task<> revoke(std::string id);

  // Code::unauthenticated for an unknown, revoked or expired token; it does not tell which.
  Result<Caller> verify(std::string_view token);
  // Whether a key of this id is there and has not expired.
  bool is_valid(const std::string& id) const;

 private:
  Task<ApiKey> add(KeyRequest request, std::optional<WallTime> expires_at, std::string token);

  store::Store& store_;
  const Clock& clock_;
  std::map<std::string, ApiKey> by_id_;
  std::unordered_map<std::string, std::string> id_by_hash_;
  std::string admin_hash_;  // of the token in the state directory
  std::function<Result<>()> forget_admin_;
};

}  // namespace atl
