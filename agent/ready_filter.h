// The filters of native/seccomp.h as they were worked out when the agent was built: an agent has
// one to apply and nothing to compute, which took longer than everything else that it does before
// it can serve.
#pragma once

#include <linux/filter.h>

#include <span>

#include "native/seccomp.h"

namespace atl::agent {

// The same instructions as native::sandbox_filter().
std::span<const sock_filter> ready_filter(native::SandboxFilterOptions options);

}  // namespace atl::agent
