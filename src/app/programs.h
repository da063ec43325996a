// Where our own programs are: this one, and its companions atoll-launcher, atoll-agent,
// atoll-pool and atoll-sudo.
#pragma once

#include <string>

#include "base/result.h"

namespace atl::app {

// $ATOLL_LIBEXEC, or libexec/atoll beside the bin/ that this program is in. Code::not_found when
// the launcher is not there.
Result<std::string> find_libexec();

}  // namespace atl::app
