// `--explain`: what `run` and `create` would decide, told instead of done.
#pragma once

#include "cli/sandbox_flags.h"
#include "cli/verb.h"

namespace atl::cli {

// Asks the daemon if there is one, else an engine of our own; nothing is made either way.
Result<int> explain(Context& context, SandboxAsked asked);

}  // namespace atl::cli
