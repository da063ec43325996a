// An agent behind a second kernel: its descriptors come through a gate, see native/oci/gate.h.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace atl::agent {

// Puts what comes first into the places of native/agent_places.h. The gate itself becomes the
// listener: what can be received there are connections.
Result<> come_in_by_gate();

// A connection that was brought to the gate; empty when there is none after all.
// Code::unavailable when the gate has closed.
Result<Fd> take_from_gate(const Fd& gate);

// Fails if this is the host's kernel and not another one: better no sandbox than a weaker one.
Result<> check_second_kernel(const std::string& outer_kernel);

}  // namespace atl::agent
