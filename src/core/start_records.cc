#include "core/start_records.h"

namespace atl {
namespace {

StartRecord to_start(const SandboxRecord& record) {
  return {.id = record.id,
          .name = record.name,
          .driver = record.driver,
          .state = record.state,
          .created_at = record.created_at,
          .ended_at = record.ended_at,
          .failure = record.failure,
          .stages = record.stages};
}

}  // namespace

Task<StartRecord> find_start_record(Parts& parts, Caller caller, std::string id_or_name) {
  auto live = parts.sandboxes.get(caller, id_or_name);
  if (live) co_return to_start(**live);
  CO_TRY(const auto row, co_await parts.store.find_sandbox(id_or_name));
  if (!row || !sees(caller, row->tenant, row->owner, row->id)) co_return std::move(live).error();
  CO_TRY(const auto ended, from_row(parts.executor, *row));
  co_return to_start(*ended);
}

}  // namespace atl
