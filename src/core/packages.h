// Installers of packages, as code runs and profiles call them.
//
// Packages are named after `--`, and none is an option: those could make an installer read and
// write elsewhere. Scripts that npm packages bring are not run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/preparation.h"
#include "policy/dependencies.h"

namespace atl {

// The command as far as it is the same for everybody: not where to, and not what.
std::vector<std::string> pip_install();
std::vector<std::string> npm_install();
// What either is told where there is no network, so that it does not try in vain.
std::map<std::string, std::string> pip_offline();
std::map<std::string, std::string> npm_offline();

// The commands that install what a profile depends on, in their order: system packages by root,
// python's into the user's own site, node's into the working directory.
std::vector<SetupCommand> installers_of(const policy::Dependencies& dependencies,
                                        const std::string& user, const std::string& cwd);

}  // namespace atl
