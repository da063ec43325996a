#include "core/keys.h"

#include <algorithm>

#include "base/ids.h"
#include "core/request_check.h"
#include "crypto/api_key.h"
#include "json/describe.h"
#include "store/store.h"
#include "telemetry/log.h"

namespace atl {
namespace {

// A key's last use is for people who clean up; a write for each request would be too much for that.
constexpr std::chrono::minutes kTouchEvery{1};
constexpr size_t kShortestToken = 32;

int64_t to_ms(const std::optional<WallTime>& time) {
  return time ? time->time_since_epoch().count() : 0;
}

std::optional<WallTime> from_ms(int64_t ms) {
  if (ms == 0) return std::nullopt;
  return WallTime(Millis(ms));
}

}  // namespace

Keys::Keys(store::Store& store, const Clock& clock) : store_(store), clock_(clock) {}

Task<> Keys::load() {
  CO_TRY(auto contents, co_await store_.load());
  for (const auto& row : contents.keys) {
    const auto role = json::find_enum<Role>(row.role);
    if (!role) {
      telemetry::log_error("an API key of the store has an unknown role", {{"key", row.id}});
      continue;  // and is good for nothing
    }
    id_by_hash_[row.hash] = row.id;
    by_id_[row.id] = {.id = row.id,
                      .tenant = row.tenant,
                      .role = *role,
                      .created_at = WallTime(Millis(row.created_at_ms)),
                      .expires_at = from_ms(row.expires_at_ms),
                      .last_used_at = from_ms(row.last_used_at_ms)};
  }
  co_return Result<>();
}

Task<NewKey> Keys::create(std::string tenant, Role role, std::optional<std::chrono::seconds> ttl) {
  auto named = check_sandbox_name(tenant);
  if (!named) co_return std::move(named).error().with("tenant");
  if (ttl && ttl->count() <= 0) {
    co_return Error(Code::invalid_argument, "ttl_s: it is at least 1");
  }
  std::optional<WallTime> expires_at;
  if (ttl) expires_at = clock_.wall() + *ttl;
  const std::string token = crypto::make_api_key();
  CO_TRY(auto key, co_await add(std::move(tenant), role, expires_at, token));
  co_return NewKey{std::move(key), token};
}

Task<> Keys::ensure_admin(std::string token) {
  if (token.size() < kShortestToken) {
    co_return Error(Code::invalid_argument, "the admin key is too short to be a secret")
        .with_hint("delete the file that holds it; a new one is made");
  }
  if (id_by_hash_.contains(crypto::hash_api_key(token))) co_return Result<>();
  CO_TRY(auto key, co_await add("default", Role::admin, std::nullopt, std::move(token)));
  co_return Result<>();
}

Task<ApiKey> Keys::add(std::string tenant, Role role, std::optional<WallTime> expires_at,
                       std::string token) {
  const std::string hash = crypto::hash_api_key(token);
  ApiKey key{.id = "key" + random_name(12),
             .tenant = std::move(tenant),
             .role = role,
             .created_at = clock_.wall(),
             .expires_at = expires_at};
  store::PutKey put{{.id = key.id,
                     .tenant = key.tenant,
                     .role = std::string(json::name_of(role)),
                     .hash = hash,
                     .created_at_ms = to_ms(key.created_at),
                     .expires_at_ms = to_ms(expires_at)}};
  store::Transaction transaction{store::Durability::disk, {std::move(put)}};
  CO_TRY_OK(co_await store_.commit(std::move(transaction)));
  id_by_hash_[hash] = key.id;
  by_id_[key.id] = key;
  co_return key;
}

std::vector<ApiKey> Keys::list() const {
  std::vector<ApiKey> keys;
  keys.reserve(by_id_.size());
  for (const auto& [id, key] : by_id_) keys.push_back(key);
  std::ranges::sort(keys, {}, [](const ApiKey& key) { return std::pair(key.created_at, key.id); });
  return keys;
}

Task<> Keys::revoke(std::string id) {
  if (by_id_.erase(id) == 0) co_return Error(Code::not_found, "no key has the id " + id);
  std::erase_if(id_by_hash_, [&](const auto& entry) { return entry.second == id; });
  store::Transaction transaction{store::Durability::disk, {store::DropKey{std::move(id)}}};
  co_return co_await store_.commit(std::move(transaction));
}

Result<Identity> Keys::verify(std::string_view token) {
  const Error refused = Error(Code::unauthenticated, "the API key is not valid")
                            .with_hint("send a valid key as `Authorization: Bearer KEY`");
  const auto hashed = id_by_hash_.find(crypto::hash_api_key(token));
  if (hashed == id_by_hash_.end()) return refused;
  ApiKey& key = by_id_.at(hashed->second);
  const WallTime now = clock_.wall();
  if (key.expires_at && *key.expires_at <= now) return refused;
  if (!key.last_used_at || now - *key.last_used_at >= kTouchEvery) {
    key.last_used_at = now;
    store_.enqueue({store::Durability::boot, {store::TouchKey{key.id, to_ms(now)}}}, {});
  }
  return Identity{{.tenant = key.tenant, .key_id = key.id}, key.role};
}

}  // namespace atl
