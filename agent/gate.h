// An agent behind a second kernel: its descriptors come through a gate, see native/oci/gate.h.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace atl::agent {

// Puts what comes first into the places of native/agent_places.h. The gate itself becomes the
// listener: what can be received there are connections.
Result<> come_in_by_gate();

struct FromGate {
  Fd connection;  // empty when there is none after all
  bool is_rest = false;
};
// What was brought to the gate. Code::unavailable when it has closed.
Result<FromGate> take_from_gate(const Fd& gate);

// What an agent is told first, once more.
struct FirstPacket {
  Fd config;
  Fd token;
  Fd connection;  // empty where nobody waits
};
// Says that the agent rests, and waits for as long as that takes; this may end in another sandbox.
Result<FirstPacket> rest_at_gate(const Fd& gate);
// Says that it is there.
Result<> answer_at_gate(const Fd& gate);

// Fails if this is the host's kernel and not another one: better no sandbox than a weaker one.
Result<> check_second_kernel(const std::string& outer_kernel);

}  // namespace atl::agent
