// What a daemon calls itself on engines that others use as well, from other machines: a directory's
// path, which will do on this host, may be theirs, too.
#pragma once

#include <string>

#include "base/result.h"

namespace atl::container {

// Made at random when there is none, and kept beside `directory`.
Result<std::string> own_name(const std::string& directory);
void forget_own_name(const std::string& directory);

}  // namespace atl::container
