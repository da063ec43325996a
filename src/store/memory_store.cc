#include "store/memory_store.h"

#include <algorithm>
#include <tuple>

#include <boost/asio/post.hpp>

#include "base/ids.h"

namespace atl::store {
namespace {

using Name = std::pair<std::string, std::string>;

bool is_live_and_named(const SandboxRow& row) { return row.ended_at_ms == 0 && !row.name.empty(); }

}  // namespace

MemoryStore::MemoryStore(asio::any_io_executor executor)
    : executor_(std::move(executor)), instance_id_(random_name(20)) {}

Task<Contents> MemoryStore::load() {
  Contents contents;
  contents.instance_id = instance_id_;
  for (const auto& [id, row] : sandboxes_) {
    if (row.ended_at_ms == 0) contents.live.push_back(row);
  }
  std::ranges::sort(contents.live, [](const SandboxRow& a, const SandboxRow& b) {
    return std::tie(a.created_at_ms, a.id) < std::tie(b.created_at_ms, b.id);
  });
  for (const auto& [id, row] : intents_) {
    if (row.state == IntentState::pending) contents.pending.push_back(row);
  }
  for (const auto& [key, row] : idempotency_) contents.idempotency.push_back(row);
  for (const auto& [id, row] : keys_) contents.keys.push_back(row);
  for (const auto& [id, row] : snapshots_) contents.snapshots.push_back(row);
  std::ranges::sort(contents.snapshots, [](const SnapshotRow& a, const SnapshotRow& b) {
    return std::tie(a.created_at_ms, a.id) < std::tie(b.created_at_ms, b.id);
  });
  for (const auto& [name, row] : pools_) contents.pools.push_back(row);
  for (const auto& [id, row] : sessions_) contents.sessions.push_back(row);
  std::ranges::sort(contents.sessions, [](const SessionRow& a, const SessionRow& b) {
    return std::tie(a.created_at_ms, a.id) < std::tie(b.created_at_ms, b.id);
  });
  contents.last_intent = last_intent_;
  co_return contents;
}

Task<std::optional<SandboxRow>> MemoryStore::find_sandbox(std::string id) {
  const auto found = sandboxes_.find(id);
  std::optional<SandboxRow> row;
  if (found != sandboxes_.end()) row = found->second;
  co_return row;
}

Task<> MemoryStore::commit(Transaction transaction) { co_return apply(transaction); }

void MemoryStore::enqueue(Transaction transaction, OnCommitted on_done) {
  auto result = apply(transaction);
  if (!on_done) return;
  asio::post(executor_, [on_done = std::move(on_done), result = std::move(result)]() mutable {
    on_done(std::move(result));
  });
}

Result<> MemoryStore::apply(const Transaction& transaction) {
  TRY_OK(check_names(transaction));
  for (const auto& one : transaction.changes) {
    std::visit([this](const auto& what) { change(what); }, one);
  }
  return {};
}

// The only way in which a transaction can fail here, so it is found out before anything changes.
Result<> MemoryStore::check_names(const Transaction& transaction) const {
  std::map<Name, std::string> taken;
  for (const auto& one : transaction.changes) {
    const auto* put = std::get_if<PutSandbox>(&one);
    if (put == nullptr || !is_live_and_named(put->row)) continue;
    const Name name(put->row.tenant, put->row.name);
    const auto live = live_names_.find(name);
    const auto [mine, first] = taken.emplace(name, put->row.id);
    if ((live != live_names_.end() && live->second != put->row.id) || mine->second != put->row.id) {
      return Error(Code::already_exists, "the name " + put->row.name + " is taken");
    }
  }
  return {};
}

void MemoryStore::change(const PutSandbox& put) {
  auto& row = sandboxes_[put.row.id];
  if (is_live_and_named(row)) live_names_.erase(Name(row.tenant, row.name));
  row = put.row;
  if (is_live_and_named(row)) live_names_[Name(row.tenant, row.name)] = row.id;
}

void MemoryStore::change(const PutIntent& put) {
  last_intent_ = std::max(last_intent_, put.row.id);
  intents_[put.row.id] = put.row;
}

void MemoryStore::change(const EndIntent& end) {
  const auto found = intents_.find(end.id);
  if (found == intents_.end()) return;
  found->second.state = end.state;
  found->second.error = end.error;
}

void MemoryStore::change(const PutIdempotency& put) {
  idempotency_[Name(put.row.tenant, put.row.key)] = put.row;
}

void MemoryStore::change(const DropIdempotency& drop) {
  const auto found = idempotency_.find(Name(drop.tenant, drop.key));
  if (found != idempotency_.end() && found->second.sandbox == drop.sandbox)
    idempotency_.erase(found);
}

void MemoryStore::change(const PutSnapshot& put) { snapshots_[put.row.id] = put.row; }

void MemoryStore::change(const DropSnapshot& drop) { snapshots_.erase(drop.id); }

void MemoryStore::change(const PutPool& put) { pools_[put.row.name] = put.row; }

void MemoryStore::change(const DropPool& drop) { pools_.erase(drop.name); }
void MemoryStore::change(const PutSession& put) { sessions_[put.row.id] = put.row; }

void MemoryStore::change(const DropSession& drop) { sessions_.erase(drop.id); }

void MemoryStore::change(const PutKey& put) { keys_[put.row.id] = put.row; }

void MemoryStore::change(const TouchKey& touch) {
  const auto found = keys_.find(touch.id);
  if (found != keys_.end()) found->second.last_used_at_ms = touch.last_used_at_ms;
}

void MemoryStore::change(const DropKey& drop) { keys_.erase(drop.id); }

void MemoryStore::change(const Prune& prune) {
  std::vector<std::pair<int64_t, std::string>> ended;
  for (const auto& [id, row] : sandboxes_) {
    if (row.ended_at_ms != 0) ended.emplace_back(row.ended_at_ms, id);
  }
  std::ranges::sort(ended, std::greater());
  for (size_t i = 0; i < ended.size(); ++i) {
    const auto& [at, id] = ended[i];
    if (at < prune.ended_before_ms || i >= static_cast<size_t>(prune.most_ended)) forget(id);
  }
  std::erase_if(intents_, [&](const auto& entry) {
    return entry.second.state != IntentState::pending &&
           entry.second.created_at_ms < prune.ended_before_ms;
  });
  std::erase_if(idempotency_, [&](const auto& entry) {
    const IdempotencyRow& row = entry.second;
    return row.boot_id == prune.boot_id ? row.expires_boot_us <= prune.now_boot_us
                                        : row.expires_at_ms <= prune.now_ms;
  });
}

void MemoryStore::forget(const std::string& sandbox) {
  sandboxes_.erase(sandbox);
  std::erase_if(intents_, [&](const auto& entry) { return entry.second.sandbox == sandbox; });
}

}  // namespace atl::store
