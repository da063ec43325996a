// What a project file may not say that was found, not named.
//
// Whoever steps into a directory has not vouched for it. A file in it may describe what its code
// needs, and may ask for more isolation; it may not take isolation away, show directories of the
// host beyond its own, write to them, hand over secrets, or choose a daemon or somebody else's
// machines. Naming the file (`--config FILE`, ATOLL_CONFIG) is vouching for it.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "config/settings.h"

namespace atl::config {

// Why a setting is refused; Code::permission_denied. `directory` is where the file is.
std::optional<Error> refuse_for_project(const Setting& setting, const std::string& directory);

// Why volumes are refused whoever wants them: they hold a socket that rules the host.
std::optional<Error> refuse_host_control(const Setting& setting, const std::string& directory);

// A path of a file's, absolute and with links resolved as far as it exists.
std::string resolve_path(const std::string& path, const std::string& directory);

}  // namespace atl::config
