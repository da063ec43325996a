// Which profiles an engine of ours has: those that are built in, those of the configuration, and
// those of --profiles.
#pragma once

#include <memory>
#include <vector>

#include "cli/configured.h"
#include "cli/program.h"
#include "cli/verb.h"
#include "policy/profiles.h"

namespace atl::cli {

// Of configuration files and --profiles, ATOLL_PROFILES; what is built in comes by itself.
Result<std::vector<policy::ProfileText>> profile_texts(const Args& args, Asking asking);
Result<std::shared_ptr<const policy::Profiles>> load_profiles(const Args& args, Asking asking);

// An engine in this process, with them if the request names a profile: else nobody reads them.
Result<std::unique_ptr<LocalEngine>> open_engine(Context& context);

// A daemon has profiles of its own: Code::invalid_argument if ours were typed.
Result<> check_no_own_profiles(const Context& context);

}  // namespace atl::cli
