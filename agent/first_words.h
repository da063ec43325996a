// What an agent is told first that a container engine has started: by whom it has called, or by
// whoever has come to it through a relay.
#pragma once

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

namespace atl::agent {

// Reads the configuration, and the token with the facts, from the connection, and puts all three
// where the launcher would have put them (native/agent_places.h). Code::permission_denied when the
// engine has given this process more rights than it may have; Code::unavailable when whoever spoke
// has gone.
Result<> take_first_words(Fd connection, Micros until);

// What the engine was asked for, seen from inside: a sandbox is never weaker than asked.
Result<> check_rights();

}  // namespace atl::agent
