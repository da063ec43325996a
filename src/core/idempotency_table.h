// Which idempotency keys made which sandboxes, for a day.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "base/clock.h"
#include "core/engine.h"
#include "store/rows.h"

namespace atl {

class IdempotencyTable final {
 public:
  explicit IdempotencyTable(const Clock& clock) : clock_(clock) {}

  void load(std::vector<store::IdempotencyRow> rows);

  // The sandbox that the key made, or nullopt for a new key. Code::idempotency_mismatch if the key
  // came with another request.
  Result<std::optional<std::string>> find(const Caller& caller, const Idempotency& asked) const;
  // Code::resource_exhausted when too many keys of the last day are remembered.
  Result<store::IdempotencyRow> remember(const Caller& caller, const Idempotency& asked,
                                         const std::string& sandbox);
  // So that the request may be tried again.
  void forget(const store::IdempotencyRow& row);
  void drop_expired();

 private:
  using Key = std::pair<std::string, std::string>;  // tenant and key

  const Clock& clock_;
  std::map<Key, store::IdempotencyRow> rows_;
};

}  // namespace atl
