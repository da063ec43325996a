// The journal: what the engine is about to do, written before it does it, and how it went.
#pragma once

#include "core/sandbox_record.h"
#include "store/store.h"

namespace atl::telemetry {
class Metrics;
}

namespace atl {

enum class Op : uint8_t {
  create,
  run,
  start,
  stop,
  recreate,
  renew,
  pause,
  resume,
  reset,
  snapshot,
  fork,
  resize,
  destroy,
  expire,
};
BOOST_DESCRIBE_ENUM(Op, create, run, start, stop, recreate, renew, pause, resume, reset, snapshot,
                    fork, resize, destroy, expire)

// An intent that is journalled and not settled yet.
struct Intent {
  int64_t id = 0;
  Op op = Op::create;
};

class Journal final {
 public:
  // Everything given outlives the journal. `boot_id` tells this boot's deadlines from an earlier
  // one's.
  Journal(store::Store& store, telemetry::Metrics& metrics, const Clock& clock,
          std::string boot_id);

  const std::string& boot_id() const { return boot_id_; }
  void continue_after(int64_t last_intent) { last_intent_ = last_intent; }

  // Writes the record as it is now, with a new generation, and the intent; `more` goes into the
  // same transaction. If it fails, nothing has been written and nothing may be done.
  Task<Intent> begin(RecordPtr record, Op op, std::vector<store::Change> more = {});
  // The same for those who need not wait: what they do is found without it, see Creator::make. It
  // is written before whatever is written of the record later.
  Intent begin_later(const RecordPtr& record, Op op, std::vector<store::Change> more = {});
  // Writes the record, and `more`.
  Task<> note(RecordPtr record, std::vector<store::Change> more = {});
  // The same if the store does not know yet how the last change went; for those who confirm it
  // again.
  Task<> catch_up(RecordPtr record);
  // How it went, with the record as it is now. If it fails, that it is over is written later,
  // without `more`.
  Task<> settle(RecordPtr record, Intent intent, store::IntentState how, std::string error = {},
                std::vector<store::Change> more = {});
  // The same for those who do not wait. What could not be written is tried again when something
  // else could be, and by retry_unwritten(); after a crash recovery finds out.
  void settle_later(const RecordPtr& record, Intent intent, store::IntentState how,
                    std::string error = {}, std::vector<store::Change> more = {});
  void note_later(const RecordPtr& record);
  void retry_unwritten();
  // Writes that are not committed yet.
  size_t under_way() const { return *under_way_; }

 private:
  struct Settlement {
    RecordPtr record;
    Intent intent;
    store::IntentState how = store::IntentState::done;
    std::string error;
    std::vector<store::Change> more;
  };

  using Unwritten = std::vector<std::shared_ptr<Settlement>>;

  static void mark_unsettled(const Settlement& settlement);
  static void keep_unwritten(Unwritten& unwritten, Settlement settlement);
  store::Transaction to_transaction(const Settlement& settlement) const;
  Intent next(Op op) { return {++last_intent_, op}; }
  store::Transaction announce(SandboxRecord& record, Intent intent,
                              std::vector<store::Change> more) const;
  Task<> commit(store::Transaction transaction);
  void enqueue(std::shared_ptr<Settlement> settlement);

  store::Store& store_;
  telemetry::Metrics& metrics_;
  const Clock& clock_;
  std::string boot_id_;
  int64_t last_intent_ = 0;
  // Shared with completions.
  std::shared_ptr<Unwritten> unwritten_;
  std::shared_ptr<size_t> under_way_;
};

}  // namespace atl
