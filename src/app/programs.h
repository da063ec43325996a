// Where our own programs are: this one, and its companions atoll-launcher, atoll-agent,
// atoll-pool, atoll-oci and atoll-sudo.
#pragma once

#include <string>

#include "base/result.h"

namespace atl::app {

// $ATOLL_LIBEXEC, or libexec/atoll beside the bin/ that this program is in. Code::not_found when
// the launcher is not there.
Result<std::string> find_libexec();
// The same beside the directory that a file is in.
Result<std::string> find_libexec(const std::string& file);
// The directory, if the launcher is in it.
Result<std::string> check_libexec(std::string directory);

}  // namespace atl::app
