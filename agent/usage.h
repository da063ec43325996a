// What everything below the agent uses right now, as /proc tells.
#pragma once

#include "guest/protocol.h"

namespace atl::agent {

// Processes, processor time and resident memory; shared pages count for each process that has them.
guest::Stats usage_of_descendants();

}  // namespace atl::agent
