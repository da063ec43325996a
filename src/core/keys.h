// API keys: who may call. Only hashes are kept; a token is shown once, when it is made.
//
// Lives on the core loop; verify() looks into memory alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <boost/describe/enum.hpp>

#include "base/clock.h"
#include "base/task.h"
#include "core/engine.h"

namespace atl {

enum class Role : uint8_t {
  user,   // sandboxes of its tenant
  admin,  // keys and drivers, too
};
BOOST_DESCRIBE_ENUM(Role, user, admin)

struct ApiKey {
  std::string id;
  std::string tenant;
  Role role = Role::user;
  WallTime created_at{};
  std::optional<WallTime> expires_at;
  std::optional<WallTime> last_used_at;
};

struct NewKey {
  ApiKey key;
  std::string token;  // nowhere else
};

struct Identity {
  Caller caller;
  Role role = Role::user;
};

class Keys final {
 public:
  // Both outlive the keys.
  Keys(store::Store& store, const Clock& clock);

  // Reads them from the store; call once, before anything else.
  Task<> load();

  // On the disk before it returns.
  Task<NewKey> create(std::string tenant, Role role, std::optional<std::chrono::seconds> ttl);
  // Makes sure that `token` is an admin key of the tenant "default": for the token in the state
  // directory's admin.key, which outlives both the loss of the store and a crash between the two.
  // Code::invalid_argument for a token that is too short to be a secret.
  Task<> ensure_admin(std::string token);
  std::vector<ApiKey> list() const;
  // Works at once. Code::not_found for an unknown id.
  Task<> revoke(std::string id);

  // Code::unauthenticated for an unknown, revoked or expired token; it does not tell which.
  Result<Identity> verify(std::string_view token);

 private:
  Task<ApiKey> add(std::string tenant, Role role, std::optional<WallTime> expires_at,
                   std::string token);

  store::Store& store_;
  const Clock& clock_;
  std::map<std::string, ApiKey> by_id_;
  std::unordered_map<std::string, std::string> id_by_hash_;
};

}  // namespace atl
