#include "core/idempotency_table.h"

#include <algorithm>

namespace atl {
namespace {

constexpr size_t kMostKeys = 200'000;
constexpr std::chrono::hours kKeptFor{24};

}  // namespace

void IdempotencyTable::load(std::vector<store::IdempotencyRow> rows) {
  for (auto& row : rows) {
    // A deadline on an earlier boot's clock means nothing on this one.
    if (row.boot_id != boot_id_) {
      const WallTime ends(Millis(row.expires_at_ms));
      const Micros left = std::clamp<Micros>(ends - clock_.wall(), Micros(0), kKeptFor);
      row.expires_boot_us = (clock_.boot() + left).count();
    }
    rows_[Key(row.tenant, row.key)] = std::move(row);
  }
  drop_expired();
}

Result<std::optional<std::string>> IdempotencyTable::find(const Caller& caller,
                                                          const Idempotency& asked) const {
  const auto found = rows_.find(Key(caller.tenant, asked.key));
  if (found == rows_.end() || is_over(found->second)) return std::optional<std::string>();
  if (found->second.request_hash != asked.request_hash) {
    return Error(Code::idempotency_mismatch, "this idempotency key came with another request")
        .with_hint("use a new key for a new request");
  }
  return std::optional(found->second.sandbox);
}

Result<store::IdempotencyRow> IdempotencyTable::remember(const Caller& caller,
                                                         const Idempotency& asked,
                                                         const std::string& sandbox) {
  if (rows_.size() >= kMostKeys) drop_expired();
  if (rows_.size() >= kMostKeys) {
    return Error(Code::resource_exhausted, "too many idempotency keys were used today")
        .with_hint("create without a key, or give the sandbox a name");
  }
  const WallTime expires_at = clock_.wall() + kKeptFor;
  store::IdempotencyRow row{.tenant = caller.tenant,
                            .key = asked.key,
                            .request_hash = asked.request_hash,
                            .sandbox = sandbox,
                            .expires_at_ms = expires_at.time_since_epoch().count(),
                            .expires_boot_us = Micros(clock_.boot() + kKeptFor).count(),
                            .boot_id = boot_id_};
  rows_[Key(row.tenant, row.key)] = row;
  return row;
}

void IdempotencyTable::forget(const store::IdempotencyRow& row) {
  rows_.erase(Key(row.tenant, row.key));
}

void IdempotencyTable::drop_expired() {
  std::erase_if(rows_, [&](const auto& entry) { return is_over(entry.second); });
}

}  // namespace atl
