// Whether what somebody has opened really lies below a directory, whatever it was called when it
// was opened.
#pragma once

#include <string>

namespace atl::os {

// By its real path, without following a link below `root`, and found there again as the same
// directory. False where either cannot be looked at.
bool is_below(int directory, const std::string& root);

}  // namespace atl::os
