// Run modes: named routes, as `run_mode` says them. src/core/run_mode.h tells what they mean.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/kinds.h"

namespace atl::config {

struct RunMode {
  std::string name;
  std::vector<std::string> drivers;  // in the order of asking; empty = any
};

// By name, or by a name or alias of a kind of sandbox. Nullopt for what is none, a hybrid among it.
std::optional<RunMode> find_run_mode(std::string_view word);
std::vector<std::string> run_mode_names();

// The weakest and the strongest that a sandbox of this mode can have, as far as its kinds tell; ""
// where that is a vendor's business.
std::string_view weakest_level(const RunMode& mode);
std::string_view strongest_level(const RunMode& mode);

}  // namespace atl::config
