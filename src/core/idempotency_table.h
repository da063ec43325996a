// Which idempotency keys made which sandboxes, for a day: by the clock of the boot, so that nobody
// who sets the wall's makes a request count twice.
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
  // `boot_id` tells this boot's deadlines from an earlier one's.
  IdempotencyTable(const Clock& clock, std::string boot_id)
      : clock_(clock), boot_id_(std::move(boot_id)) {}

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

  bool is_over(const store::IdempotencyRow& row) const {
    return row.expires_boot_us <= clock_.boot().count();
  }

  const Clock& clock_;
  const std::string boot_id_;
  std::map<Key, store::IdempotencyRow> rows_;
};

}  // namespace atl
