// Which engine a command line talks to: client/target.h has the rule; --url and --state are what is
// asked for.
#pragma once

#include "cli/args.h"
#include "client/target.h"

namespace atl::cli {

using client::check_that_nobody_was_meant;
using client::default_state_directory;
using client::Environment;
using client::find_variable;
using client::home_directory;
using client::kKeyFileName;
using client::kSocketName;
using client::no_daemon;
using client::Target;
using client::TargetSearch;

// --state, ATOLL_STATE, or the default.
Result<std::string> state_directory_from(const Args& args, const Environment& environment);

Result<TargetSearch> find_target(const Args& args, const Environment& environment);

}  // namespace atl::cli
