// An agent that cannot call and that nobody has handed descriptors to: a container engine has
// started it where no socket of the host can be reached, behind a second kernel or on another
// machine. Whoever made its sandbox comes to it through a relay (relay.h).
//
// It listens on an abstract name of the container's network namespace, which nobody but it can
// have: it is there before any command, and a name that is bound cannot be taken over. The guest
// can connect, too, but has no token. To each who comes the agent says first whether it is new and
// needs its configuration, and what time it has: its clock is not that of whoever made it.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace atl::agent {

// Waits until somebody comes who has a configuration, and puts it, the connection and the listening
// socket where the launcher would have put them (native/agent_places.h). Errors are those of
// take_first_words(), and Code::deadline_exceeded.
Result<> answer_first();

// What is said to those who come later; false when it was not taken.
bool greet_again(const Fd& connection);

// Until whoever was told why there will be no sandbox has heard it, and a second at most: with the
// first process the relay ends, too.
void wait_until_heard(const Fd& connection);

}  // namespace atl::agent
