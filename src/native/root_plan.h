// The file system part of a plan: which mounts, files and nodes make up the sandbox's root.
#pragma once

#include <vector>

#include "native/plan.h"

namespace atl::native {

// Appends to plan.steps, plan.landlock and plan.copy_on_write.
Result<> plan_root(const BoxRequest& request, const HostView& host, Plan& plan);

}  // namespace atl::native
