// A run: create, exec and destroy in one call. Nothing of it waits for the store.
#pragma once

#include <deque>

#include "base/delay.h"
#include "core/creator.h"
#include "core/destroyer.h"
#include "core/exec_account.h"
#include "core/parts.h"

namespace atl {

// Where the output of a run goes.
struct RunOutput {
  size_t keep = 0;                        // of each stream, when there is no observer
  std::shared_ptr<RunObserver> observer;  // null = collect
};

class Runs final {
 public:
  // So many sandboxes whose run is over may wait to be cleared away; with more, runs wait for it.
  static constexpr size_t kMostTeardowns = 32;
  // So many may wait for a pause, see EngineOptions::run_pause.
  static constexpr size_t kMostOver = 16;
  static constexpr Micros kShort = Millis(20);

  Runs(Parts& parts, Creator& creator, Destroyer& destroyer)
      : parts_(parts),
        creator_(creator),
        destroyer_(destroyer),
        announcement_(parts.executor),
        pause_(parts.executor) {}

  // Sandboxes whose run is over and which are still there.
  size_t waiting() const { return over_.size() + teardowns_; }

  // `keep_alive` owns the engine's parts; what stop() starts holds on to it.
  Task<RunResult> run(Caller caller, CreateRequest request, ExecRequest exec,
                      std::string stdin_bytes, RunOutput output, std::shared_ptr<RunStop> stop,
                      std::weak_ptr<void> keep_alive);

 private:
  // A sandbox whose run is over, and on whose behalf that was.
  struct Over {
    Caller caller;
    RecordPtr record;
  };

  Task<> set_up(RecordPtr record, SetupCommand setup);
  Task<ExecResult> execute(Caller caller, RecordPtr record, ExecRequest exec,
                           std::string stdin_bytes, RunOutput output);
  Task<ExecResult> observe(ExecAccount& account, RecordPtr record, ExecRequest exec,
                           std::string stdin_bytes, std::shared_ptr<RunObserver> observer);
  // The answer need not wait for what nobody will see again, and neither need the next run: it is
  // done in a pause between runs, or, when there is too much of it, behind an answer. `alive` owns
  // the engine's parts.
  void clear_away_later(Over over, std::weak_ptr<void> alive);
  void clear_away_soon(std::weak_ptr<void> alive);
  void clear_away(size_t left, const std::shared_ptr<void>& alive);
  // A run that takes its time is written down, so that a crash leaves word of it; most are over
  // before the ink would be dry.
  void announce_later(const RecordPtr& record, std::weak_ptr<void> alive);
  // What a failed exec means to whoever waits for the run.
  Error explain(const SandboxRecord& record, const RunStop& stop, Error error) const;

  Parts& parts_;
  Creator& creator_;
  Destroyer& destroyer_;
  std::vector<std::weak_ptr<SandboxRecord>> unannounced_;
  Delay announcement_;
  std::deque<Over> over_;
  bool is_clearing_soon_ = false;
  size_t teardowns_ = 0;  // of which these are under way
  Delay pause_;
};

}  // namespace atl
