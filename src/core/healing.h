// Healing: what becomes of a sandbox that has died or does not answer.
//
// Where OnFailure::recreate was asked for it is made anew, after a pause that grows with each try.
// Tries are counted in the store, and forgotten once it has lived for a while: a sandbox that dies
// of what is in it is given up, in this daemon or the next.
#pragma once

#include "core/parts.h"

namespace atl {

inline constexpr int64_t kMostRecoveries = 5;  // in a row
inline constexpr Micros kFirstRecoveryPause = std::chrono::seconds(1);
inline constexpr Micros kForgetRecoveriesAfter = std::chrono::minutes(10);

// Has the reaper revive it, unless it is not to be or was given up. It must have failed, or be
// unresponsive.
void plan_recovery(Parts& parts, const RecordPtr& record);
// It can never succeed.
void give_up_recovery(SandboxRecord& record, const Error& why);
// Somebody takes care of it, so it counts anew.
void forget_recovery(SandboxRecord& record);
void forget_pulse(SandboxRecord& record);

// Code::invalid_argument for what could not be made again: files and directories of the host are
// not kept by anybody but the sandbox.
Result<> check_can_be_made_again(const CreateRequest& request);

}  // namespace atl
