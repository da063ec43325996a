// What the driver of a container engine can do, by what is known of the engine; nobody is asked.
#pragma once

#include <optional>

#include "container/dialect.h"
#include "container/kernel_trial.h"
#include "driver/capabilities.h"

namespace atl::container {

struct EngineTraits {
  bool is_remote = false;
  bool limits_roots = false;  // its storage has shown that it limits what a container changes
  bool keeps_snapshots = false;
  bool shows_directories = false;     // the operator has named roots
  bool loads_trees = false;           // templates can become images of it
  std::optional<bool> filters_calls;  // EngineFacts::filters_calls, once it is known
};

Capabilities engine_capabilities(const Dialect& dialect, const EngineTraits& engine);

// What a sandbox that names no runtime does not have, because the engine's own puts another kernel
// between, or may: see refuse_unseen() and check_sentry(). Whoever names another runtime of the
// engine's is refused the same; what only a named one does not have, the driver refuses by itself.
void limit_by_own_kernel(Capabilities& can, const KernelVerdict& own);

}  // namespace atl::container
