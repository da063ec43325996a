#include "core/journal.h"

#include <algorithm>

#include "json/describe.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace atl {
namespace {

constexpr size_t kMostUnwritten = 100'000;

// What lives on this host dies with its boot, so its rows need not outlive a power cut either:
// after one, the store may lack the last of them, and the sweeper removes what they left on the
// disk.
store::Durability durability_of(const SandboxRecord& record) {
  return record.placement == Placement::host ? store::Durability::boot : store::Durability::disk;
}

std::string_view in_words(store::Durability durability) {
  return durability == store::Durability::boot ? "boot" : "disk";
}

void forget_unsettled(SandboxRecord& record, const std::vector<store::EndIntent>& settled) {
  for (const auto& one : settled) {
    std::erase_if(record.unsettled, [&](const auto& other) { return other.id == one.id; });
  }
}

}  // namespace

Journal::Journal(store::Store& store, telemetry::Metrics& metrics, const Clock& clock,
                 std::string boot_id)
    : store_(store),
      metrics_(metrics),
      clock_(clock),
      boot_id_(std::move(boot_id)),
      unwritten_(std::make_shared<Unwritten>()),
      under_way_(std::make_shared<size_t>(0)) {}

Task<Intent> Journal::begin(RecordPtr record, Op op, std::vector<store::Change> more) {
  const Intent intent = next(op);
  const auto settled = record->unsettled;
  CO_TRY_OK(co_await commit(announce(*record, intent, std::move(more))));
  forget_unsettled(*record, settled);
  co_return intent;
}

Intent Journal::begin_later(const RecordPtr& record, Op op, std::vector<store::Change> more) {
  const Intent intent = next(op);
  auto transaction = announce(*record, intent, std::move(more));
  metrics_.store_commits.at(in_words(transaction.durability)).add();
  ++*under_way_;
  store_.enqueue(std::move(transaction), [id = record->id, left = under_way_](Result<> written) {
    --*left;
    if (written) return;
    telemetry::log_error("an intent could not be written",
                         {{"sandbox", id}, {"why", written.error().message()}});
  });
  return intent;
}

store::Transaction Journal::announce(SandboxRecord& record, Intent intent,
                                     std::vector<store::Change> more) const {
  ++record.generation;
  store::Transaction transaction{durability_of(record), std::move(more)};
  transaction.changes.reserve(transaction.changes.size() + record.unsettled.size() + 2);
  transaction.changes.push_back(store::PutSandbox{to_row(record, boot_id_)});
  // Left open they would be taken up after a crash, and undo what came later.
  for (const auto& end : record.unsettled) transaction.changes.push_back(end);
  transaction.changes.push_back(
      store::PutIntent{{.id = intent.id,
                        .sandbox = record.id,
                        .generation = record.generation,
                        .op = std::string(json::name_of(intent.op)),
                        .created_at_ms = clock_.wall().time_since_epoch().count()}});
  return transaction;
}

Task<> Journal::note(RecordPtr record, std::vector<store::Change> more) {
  store::Transaction transaction{durability_of(*record), std::move(more)};
  transaction.changes.reserve(transaction.changes.size() + 1);
  transaction.changes.push_back(store::PutSandbox{to_row(*record, boot_id_)});
  co_return co_await commit(std::move(transaction));
}

Task<> Journal::catch_up(RecordPtr record) {
  if (record->unsettled.empty()) co_return Result<>();
  const auto settled = record->unsettled;
  std::vector<store::Change> ends(settled.begin(), settled.end());
  CO_TRY_OK(co_await note(record, std::move(ends)));
  forget_unsettled(*record, settled);
  co_return Result<>();
}

Task<> Journal::settle(RecordPtr record, Intent intent, store::IntentState how, std::string error,
                       std::vector<store::Change> more) {
  const Settlement settlement{record, intent, how, error, std::move(more)};
  auto transaction = to_transaction(settlement);
  auto committed = co_await commit(std::move(transaction));
  if (!committed) {
    Settlement late{std::move(record), intent, how, std::move(error), {}};
    mark_unsettled(late);
    keep_unwritten(*unwritten_, std::move(late));
  }
  co_return committed;
}

void Journal::settle_later(const RecordPtr& record, Intent intent, store::IntentState how,
                           std::string error, std::vector<store::Change> more) {
  enqueue(std::make_shared<Settlement>(
      Settlement{record, intent, how, std::move(error), std::move(more)}));
}

void Journal::note_later(const RecordPtr& record) {
  enqueue(std::make_shared<Settlement>(Settlement{.record = record}));
}

void Journal::retry_unwritten() {
  for (auto& settlement : std::exchange(*unwritten_, {})) enqueue(std::move(settlement));
}

// The record is taken as it is now, so a late write never brings back an old state.
store::Transaction Journal::to_transaction(const Settlement& settlement) const {
  store::Transaction transaction{durability_of(*settlement.record), settlement.more};
  transaction.changes.reserve(transaction.changes.size() + 2);
  transaction.changes.push_back(store::PutSandbox{to_row(*settlement.record, boot_id_)});
  if (settlement.intent.id != 0) {
    transaction.changes.push_back(
        store::EndIntent{settlement.intent.id, settlement.how, settlement.error});
  }
  return transaction;
}

Task<> Journal::commit(store::Transaction transaction) {
  const auto durability = in_words(transaction.durability);
  const auto began = std::chrono::steady_clock::now();
  const auto left = under_way_;
  ++*left;
  auto committed = co_await store_.commit(std::move(transaction));
  --*left;
  if (!committed) co_return committed;
  metrics_.store_commits.at(durability).add();
  metrics_.store_commit_duration.at(durability).observe(std::chrono::steady_clock::now() - began);
  // There is room again, and what a later daemon would take for unfinished is not left until then.
  if (!unwritten_->empty()) retry_unwritten();
  co_return Result<>();
}

void Journal::mark_unsettled(const Settlement& settlement) {
  if (settlement.intent.id == 0) return;
  store::EndIntent end{settlement.intent.id, settlement.how, settlement.error};
  forget_unsettled(*settlement.record, {end});
  settlement.record->unsettled.push_back(std::move(end));
}

void Journal::keep_unwritten(Unwritten& unwritten, Settlement settlement) {
  if (unwritten.size() >= kMostUnwritten) return;
  unwritten.push_back(std::make_shared<Settlement>(std::move(settlement)));
}

void Journal::enqueue(std::shared_ptr<Settlement> settlement) {
  auto transaction = to_transaction(*settlement);
  // At once: whoever confirms the outcome before it is written must not rely on it.
  mark_unsettled(*settlement);
  metrics_.store_commits.at(in_words(transaction.durability)).add();
  ++*under_way_;
  auto on_done = [unwritten = unwritten_, left = under_way_,
                  settlement = std::move(settlement)](Result<> written) {
    --*left;
    if (written) return forget_unsettled(*settlement->record, {{settlement->intent.id}});
    telemetry::log_error("state could not be written",
                         {{"sandbox", settlement->record->id}, {"why", written.error().message()}});
    keep_unwritten(*unwritten, *settlement);
  };
  store_.enqueue(std::move(transaction), std::move(on_done));
}

}  // namespace atl
