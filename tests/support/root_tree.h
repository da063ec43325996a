// A small root file system made of this host's own programs, for drivers that need one.
#pragma once

#include <string>

#include "base/result.h"

namespace atl::test {

// A shell and the plain tools, with the libraries that they load and nothing else of the host.
Result<> make_root_tree(const std::string& directory);

}  // namespace atl::test
