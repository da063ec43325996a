#include "core/keys.h"

#include <algorithm>

#include "base/ids.h"
#include "base/text.h"
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

bool is_line(std::string_view text) {
  const bool has_control = std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  return !has_control && is_utf8(text);
}

Result<> check_request(const KeyRequest& request) {
  auto named = check_sandbox_name(request.tenant);
  if (!named) return std::move(named).error().with("tenant");
  if (request.label.size() > kMostKeyLabel || !is_line(request.label)) {
    return Error(Code::invalid_argument, "label: it is one line of at most 256 bytes");
  }
  if (!request.ttl) return {};
  if (request.ttl->count() >= 1 && *request.ttl <= kLongestKeyLife) return {};
  return Error(Code::invalid_argument,
               "ttl_s: it is from 1 to " +
                   std::to_string(std::chrono::seconds(kLongestKeyLife).count()))
      .with_hint("leave it out for a key that does not expire");
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
                      .label = row.label,
                      .created_at = WallTime(Millis(row.created_at_ms)),
                      .expires_at = from_ms(row.expires_at_ms),
                      .last_used_at = from_ms(row.last_used_at_ms)};
  }
  co_return Result<>();
}

Task<NewKey> Keys::create(KeyRequest request) {
  CO_TRY_OK(check_request(request));
  if (by_id_.size() >= kMostKeys) {
    co_return Error(Code::resource_exhausted,
                    "there are " + std::to_string(by_id_.size()) + " keys, which is the limit")
        .with_hint("revoke those that nobody uses: atoll keys list");
  }
  std::optional<WallTime> expires_at;
  if (request.ttl) expires_at = clock_.wall() + *request.ttl;
  const std::string token = crypto::make_api_key();
  CO_TRY(auto key, co_await add(std::move(request), expires_at, token));
  co_return NewKey{std::move(key), token};
}

Task<> Keys::ensure_admin(std::string token, std::function<Result<>()> forget) {
  if (token.size() < kShortestToken) {
    co_return Error(Code::invalid_argument, "the admin key is too short to be a secret")
        .with_hint("delete the file that holds it; a new one is made");
  }
  admin_hash_ = crypto::hash_api_key(token);
  forget_admin_ = std::move(forget);
  if (id_by_hash_.contains(admin_hash_)) co_return Result<>();
  KeyRequest request{.role = Role::admin, .label = "admin.key"};
  CO_TRY(auto key, co_await add(std::move(request), std::nullopt, std::move(token)));
  co_return Result<>();
}

Task<ApiKey> Keys::add(KeyRequest request, std::optional<WallTime> expires_at, std::string token) {
  const std::string hash = crypto::hash_api_key(token);
  ApiKey key{.id = std::string(kKeyPrefix) + random_name(12),
             .tenant = std::move(request.tenant),
             .role = request.role,
             .label = std::move(request.label),
             .created_at = clock_.wall(),
             .expires_at = expires_at};
  store::PutKey put{{.id = key.id,
                     .tenant = key.tenant,
                     .role = std::string(json::name_of(key.role)),
                     .label = key.label,
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
  const auto admin = id_by_hash_.find(admin_hash_);
  if (forget_admin_ && admin != id_by_hash_.end() && admin->second == id) {
    auto forgotten = forget_admin_();
    if (!forgotten) co_return std::move(forgotten).error().with("removing the file of this key");
  }
  if (by_id_.erase(id) == 0)
    co_return Error(Code::not_found, "no key has the id " + to_printable(id.substr(0, 80)))
        .with_hint("GET /v1/keys lists them");
  std::erase_if(id_by_hash_, [&](const auto& entry) { return entry.second == id; });
  store::Transaction transaction{store::Durability::disk, {store::DropKey{std::move(id)}}};
  co_return co_await store_.commit(std::move(transaction));
}

Result<Caller> Keys::verify(std::string_view token) {
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
  return Caller{.tenant = key.tenant, .subject = key.id, .role = key.role};
}

bool Keys::is_valid(const std::string& id) const {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return false;
  return !found->second.expires_at || *found->second.expires_at > clock_.wall();
}

}  // namespace atl
