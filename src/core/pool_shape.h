// The shape of a request: everything about its sandbox that is decided when that is made and cannot
// be given to it later. Two requests of the same shape get sandboxes that nobody can tell apart.
//
// What the engine itself keeps about a sandbox is not part of it: name, labels, owner, time to
// live, idle time, and, where nothing was done in it before, who runs commands and where. Nor is
// the driver: the route decides on it, each time. The environment is, because it is with the
// driver.
#pragma once

#include <string>

#include "core/engine.h"

namespace atl {

// Whether limits are part of it. They can be given to what was installed under others.
enum class Sizes : uint8_t { counted, left_out };

// "" when no sandbox that was made ahead will do: directories of the host, a snapshot, an image
// that is to be fetched first, or files that a profile's setup is to find. The request has its
// profile worked in. It may have secrets in it.
std::string shape_of(const CreateRequest& request, Sizes sizes = Sizes::counted);

// The same for the same shape, and tells nothing of it.
std::string print_of(const std::string& shape);

}  // namespace atl
