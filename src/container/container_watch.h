// What goes on by itself for a container: waiting for its end, and for what is left of it to go.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "container/container_sandbox.h"

namespace atl::container {

// Until a sandbox has ended that nobody has asked to end.
Task<> watch(std::shared_ptr<Fleet> fleet, std::string id, uint64_t birth);

// Until what a failed creation may have left is gone. An engine that died, or lost its answer, is
// asked again as soon as it is back; the sweeper, which looks by labels but more seldom, finds what
// comes to light even later.
Task<> remove_later(std::shared_ptr<Fleet> fleet, std::string id);

}  // namespace atl::container
