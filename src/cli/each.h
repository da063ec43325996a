// One action on several sandboxes: each is tried, and the first failure decides the exit code.
#pragma once

#include <functional>
#include <string>

#include "cli/client.h"

namespace atl::cli {

constexpr size_t kMostSandboxes = 10'000;

// Gives the JSON that stands for the sandbox afterwards.
using Action = std::function<Result<std::string>(Client& client, const std::string& sandbox)>;

// Prints each sandbox's name as it was given when its turn is over, or with --json one array at the
// end: what the action gave, or {"id":…,"ok":false,"error":{…}}.
Result<int> for_each(Context& context, Client& client, const std::vector<std::string>& sandboxes,
                     const Action& action);

}  // namespace atl::cli
