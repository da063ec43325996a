// What the kernel that this process is in tells of itself: by this a runtime is judged that is said
// to put a second kernel between a container and the host's (container/kernel_trial.h).
#pragma once

#include <string>

namespace atl::agent {

// Three lines: release and version, the id of its boot ("" = it has none), and "gvisor" or "linux".
std::string kernel_view();

}  // namespace atl::agent
