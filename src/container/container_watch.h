// What is done about containers that nobody waits for: one that ends by itself is removed and told,
// with why it ended, and what a creation may have left goes as soon as the engine lets it go.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "container/container_sandbox.h"

namespace atl::container {

// Until a sandbox has ended that nobody has asked to end. `birth` is which of its name it is.
Task<> watch_container(std::shared_ptr<Fleet> fleet, std::string id, uint64_t birth);

// Until what a failed creation may have left is gone. An engine that died, or lost its answer, is
// asked again as soon as it is back; the sweeper, which looks by labels but more seldom, finds what
// comes to light even later.
Task<> remove_later(std::shared_ptr<Fleet> fleet, std::string id);

}  // namespace atl::container
