// A store that forgets everything with its process: for `atoll run` without a daemon, and for
// tests.
#pragma once

#include <map>
#include <utility>

#include "store/store.h"

namespace atl::store {

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(asio::any_io_executor executor);

  Task<Contents> load() override;
  Task<std::optional<SandboxRow>> find_sandbox(std::string id) override;
  Task<> commit(Transaction transaction) override;
  void enqueue(Transaction transaction, OnCommitted on_done) override;

 private:
  Result<> apply(const Transaction& transaction);
  Result<> check_names(const Transaction& transaction) const;
  void change(const PutSandbox& put);
  void change(const PutIntent& put);
  void change(const EndIntent& end);
  void change(const PutIdempotency& put);
  void change(const DropIdempotency& drop);
  void change(const PutSnapshot& put);
  void change(const DropSnapshot& drop);
  void change(const PutPool& put);
  void change(const DropPool& drop);
  void change(const PutSession& put);
  void change(const DropSession& drop);
  void change(const PutKey& put);
  void change(const TouchKey& touch);
  void change(const DropKey& drop);
  void change(const Prune& prune);
  void forget(const std::string& sandbox);

  asio::any_io_executor executor_;
  std::string instance_id_;
  std::map<std::string, SandboxRow> sandboxes_;
  std::map<std::pair<std::string, std::string>, std::string> live_names_;  // (tenant, name) → id
  std::map<int64_t, IntentRow> intents_;
  std::map<std::pair<std::string, std::string>, IdempotencyRow> idempotency_;
  std::map<std::string, SnapshotRow> snapshots_;
  std::map<std::string, PoolRow> pools_;
  std::map<std::string, SessionRow> sessions_;
  std::map<std::string, KeyRow> keys_;
  int64_t last_intent_ = 0;
};

}  // namespace atl::store
