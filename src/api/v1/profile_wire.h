// Profiles as JSON, for the API and for a command line without a daemon.
#pragma once

#include <string>

#include "policy/profiles.h"

namespace atl::api::v1 {

// {"profiles":[…]}, the highest version of each name first.
std::string encode_profiles(const policy::Profiles& profiles);
// With everything that it says, and which profile says it. Of variables only the names: their
// values may be secrets.
std::string encode_profile(const policy::KnownProfile& known);

}  // namespace atl::api::v1
