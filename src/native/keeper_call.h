// How a driver calls who stands around an agent (oci/gatekeeper.h), on a connection of the agent's:
// the first frame is not the agent's but one of these, with one descriptor, a directory.
//
//   keep      on a new connection: the sandbox as it is now, its memory and its files, into that
//             directory; it goes on afterwards
//   take_up   on the first one, before anything of the sandbox runs: it goes on from what is in
//             that directory
//
// Both are answered by `ok` or `error`. After take_up the connection is the agent's.
#pragma once

#include <atomic>
#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "guest/frame.h"

namespace atl::native {

// How long either may take; large sandboxes are written and read at the disk's pace.
constexpr auto kKeeperPatience = std::chrono::minutes(10);

// Blocks until it is answered, or until `stopping` turns true. What the answer says;
// Code::unavailable when nobody answers.
Result<std::string> call_keeper(int socket, guest::FrameType call, int directory,
                                const std::atomic<bool>& stopping);

// The other side of it; who has gone is no error.
void answer_keeper_call(int socket, const Result<std::string>& answer);

}  // namespace atl::native
