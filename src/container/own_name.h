// What a daemon calls itself on an engine, whose objects of ours bear it. The path of its directory
// would not do: others may have the same, on another machine or in another mount namespace of this
// one, and it changes when the directory is moved.
#pragma once

#include <string>

#include "base/result.h"

namespace atl::container {

// Made at random when there is none, and kept beside `directory`, with which it moves. Whoever has
// a copy of both is the same daemon to the engine.
Result<std::string> own_name(const std::string& directory);
void forget_own_name(const std::string& directory);

}  // namespace atl::container
