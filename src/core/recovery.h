// After a restart: takes up what is really there, and finishes or undoes what an earlier daemon was
// doing.
//
//   interrupted      the sandbox is there                     it is not
//   create, fork     runs: kept; else destroyed               never happened
//   run              destroyed                                over
//   stop             stopped                                  failed
//   start            runs: running; else stopped              failed
//   recreate         runs: running; else recreated            failed
//   destroy, expire  destroyed                                destroyed
//   pause, resume    resumed, so that its state is known      failed
//   reset, revival   failed, and revived where it is to be    failed
//   renew            the driver is told the new deadline      failed
//   snapshot, resize undone                                   failed
//   nothing          as is; failed if it should run and       failed
//                    does not
//
// What was parked in a pool is parked again if that pool still wants it; otherwise it is destroyed.
// Whatever is past its last moment is destroyed. One whose time to live is over and that is to be
// kept is put to rest by the reaper; its driver is told its last moment again. Nothing is decided
// while the driver does not answer: the sandbox keeps its state, and the sweeper asks again. The
// same holds for one that a driver which does answer cannot hand over: it alone waits, longer each
// time, so that nobody can take a driver from everybody by what goes on in one sandbox.
#pragma once

#include "core/parts.h"

namespace atl {

class Recovery final {
 public:
  explicit Recovery(Parts& parts) : parts_(parts) {}

  // Reads the store into the tables; nothing is settled yet. Returns the pools of the store.
  Task<std::vector<store::PoolRow>> load();
  // Settles one sandbox, or leaves it with awaits_driver; while its pause lasts nobody is asked.
  Task<> settle(RecordPtr record);

 private:
  Task<> pass_over(RecordPtr record, DriverSlot& slot, Error why);
  Task<> settle_present(RecordPtr record, std::optional<Op> op);
  Task<> settle_absent(RecordPtr record, std::optional<Op> op);
  // False when it has to be destroyed.
  Task<bool> park_again(RecordPtr record);
  Task<> carry_on(RecordPtr record, std::optional<Op> op);
  // Writes the outcome and ends what was interrupted.
  Task<> conclude(RecordPtr record, State state, store::IntentState how, std::string failure = {});
  // The record ends here, without anything left to destroy.
  Task<> end(RecordPtr record, State state, store::IntentState how, std::string why);
  bool is_expired(const SandboxRecord& record) const;
  std::string why_gone(const SandboxRecord& record) const;

  Parts& parts_;
};

}  // namespace atl
