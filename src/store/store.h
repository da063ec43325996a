// Durable state: what must be known again after `kill -9`, and some of it after a power cut.
//
// A transaction is a plain description that is applied whole or not at all, in the order of
// calling. The engine keeps everything live in memory and reads only at start, so there is one way
// in and hardly any way out.
#pragma once

#include <functional>
#include <optional>

#include "base/task.h"
#include "store/rows.h"

namespace atl::store {

// Durability follows the thing.
enum class Durability : uint8_t {
  boot,  // survives kill -9 but maybe not a power cut: for what itself does not survive one; never
         // waits for the disk
  disk,  // on the disk before it is acknowledged
};

struct Transaction {
  Durability durability = Durability::disk;
  std::vector<Change> changes;
};

// What a daemon needs to know at start.
struct Contents {
  std::string instance_id;         // of this store, for as long as it exists
  std::vector<SandboxRow> live;    // those that have not ended, oldest first
  std::vector<IntentRow> pending;  // in the order of writing
  std::vector<IdempotencyRow> idempotency;
  std::vector<KeyRow> keys;
  std::vector<SnapshotRow> snapshots;  // oldest first
  std::vector<PoolRow> pools;          // by name
  std::vector<SessionRow> sessions;    // the same
  int64_t last_intent = 0;             // the highest intent id ever written
};

using OnCommitted = std::function<void(Result<>)>;

class Store {
 public:
  virtual ~Store() = default;

  virtual Task<Contents> load() = 0;
  // Whether it has ended or not; nullopt when unknown or pruned.
  virtual Task<std::optional<SandboxRow>> find_sandbox(std::string id) = 0;

  // Returns once committed with the durability asked for. Code::already_exists when the name of a
  // live sandbox would be there twice, Code::out_of_space when there is no room: nothing has
  // changed then, and the store goes on answering.
  virtual Task<> commit(Transaction transaction) = 0;
  // The same for callers that do not wait. `on_done` is called on the store's executor, not from
  // within this call.
  virtual void enqueue(Transaction transaction, OnCommitted on_done) = 0;
};

}  // namespace atl::store
