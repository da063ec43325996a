// A quick look at whether an extension keeps to the protocol: what `atoll extension check` runs.
//
// It makes sandboxes and ends them. What it cannot show is how strong they are; doctor --attack
// tries that from inside.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/task.h"
#include "drivers/extension/grants.h"

namespace atl::extension {

struct CheckStep {
  std::string what;             // as a sentence that holds
  std::optional<Error> failed;  // absent = it does
};

struct CheckOptions {
  Grant grant;
  std::string directory;  // ours, and empty
  std::string agent;      // atoll-agent
  bool allows_root = false;
};

// In order, up to the first that makes the rest pointless.
Task<std::vector<CheckStep>> check_extension(asio::any_io_executor executor, CheckOptions options);

}  // namespace atl::extension
