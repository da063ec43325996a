// RegistryLogin: what an engine's user has told its client about registries (docker login), read
// when it is needed and kept nowhere.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "container/dialect.h"

namespace atl::container {

// The files in which credentials may be, the first that exists counts: DOCKER_CONFIG or
// REGISTRY_AUTH_FILE, then where the engine's client keeps them for this user.
std::vector<std::string> login_files(const Dialect& dialect);

// The value of X-Registry-Auth for this registry, "" = nobody has logged in to it. A file that
// makes no sense, or keeps passwords in a helper program, is Code::unsupported; no message has its
// content.
Result<std::string> find_login(const std::vector<std::string>& files, const std::string& registry);

}  // namespace atl::container
