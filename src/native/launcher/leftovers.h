// Removing what was left by others: processes of a sandbox whose agent died, and runs whose
// launcher was killed with everything else.
#pragma once

#include <functional>
#include <string>

namespace atl::native {

// Kills every process that still carries the sandbox's mark in its environment. Best effort: a
// process can shed it.
void kill_stragglers(const std::string& sandbox_id);

// Each embedded run holds a lock on its own directory beside the others. One that is not locked has
// nobody left to clean up after it; this ends its processes and removes it. `run_directory` is the
// caller's own; `remove_cgroups` is called for each sandbox found.
void reclaim_abandoned_runs(int run_directory,
                            const std::function<void(const std::string& id)>& remove_cgroups);

}  // namespace atl::native
