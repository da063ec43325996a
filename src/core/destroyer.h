// How sandboxes end: because somebody asked, because their time is over, or because a run is.
#pragma once

#include <functional>

#include "core/parts.h"

namespace atl {

enum class EndReason : uint8_t {
  asked,
  discarded,  // the same, and nothing of it is to be kept
  expired,    // its deadline has passed; looked at again before acting
  ended,      // the driver ended it at its deadline
  run_over,   // journalled with the run itself, and nobody waits for the store
};

class Destroyer final {
 public:
  explicit Destroyer(Parts& parts) : parts_(parts) {}

  // What is asked to keep those that SandboxRecord::is_kept(), with their turn held, before their
  // end begins. If that fails they go on.
  using Keeper = std::function<Task<>(RecordPtr)>;
  void set_keeper(Keeper keeper) { keeper_ = std::move(keeper); }

  // Once it returns nothing of the sandbox is left, and the record is buried. Calls that come at
  // the same time join; where the end of its time is called off by a renewal, who asked for the end
  // begins anew. If the driver cannot do it now, the record stays in State::stopping and is_doomed,
  // for the sweeper.
  Task<> destroy(RecordPtr record, EndReason reason);

 private:
  Task<> take_turn_and_end(RecordPtr record, EndReason reason);
  Task<Intent> announce(RecordPtr record, EndReason reason);
  Task<> destroy_on_driver(RecordPtr record);
  Task<> finish(RecordPtr record, Intent intent, EndReason reason);
  Task<> keep(RecordPtr record);

  Parts& parts_;
  Keeper keeper_;
};

}  // namespace atl
