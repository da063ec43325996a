// What `diff --apply` and `run --apply` have in common.
#pragma once

#include "cli/apply.h"
#include "cli/verb.h"

namespace atl::cli {

// Tells what was left out, and which conflicts there are. Code::conflict if those stopped it.
Result<> tell_applied(const Context& context, const Applied& applied, Conflicts conflicts);

}  // namespace atl::cli
