// A copy of this program that can be run and never changed.
//
// A command could open the file behind a process that runs the agent's own, which lies on the host;
// of a sealed copy in memory it gains nothing (CVE-2019-5736).
#pragma once

#include "base/fd.h"

namespace atl::agent {

Result<Fd> copy_own_program();

}  // namespace atl::agent
