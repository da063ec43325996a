// A request with its profile worked in: what the request says, then what the profile says.
//
// Bounds meet instead: of two floors the higher holds, of two placements the nearer, and the host's
// directories may be shown no further than the profile allows. So no request leaves its profile.
#pragma once

#include "core/sandbox_record.h"
#include "policy/profiles.h"

namespace atl {

// Fills in what the request does not say. The same again changes nothing.
void merge_profile(CreateRequest& request, const policy::Profile& profile);

// Adds to what a request says the environment that the profile of a sandbox gives, in the version
// that the sandbox names, and then its image's. Without that version it is Code::not_found, unless
// the others give all that the sandbox has had.
Result<> add_known_env(std::map<std::string, std::string>& env, const SandboxRecord& record,
                       const std::map<std::string, std::string>& images,
                       const policy::Profiles& profiles);

// Finds the profile, merges it, and makes `request.profile` name the version. Code::not_found for
// one that is not there, Code::invalid_argument for what a request may not have with this one,
// Code::permission_denied for what only a profile opens.
Result<> settle_profile(CreateRequest& request, const policy::Profiles& profiles,
                        Lifecycle lifecycle);

// Of a run, whose profile an API may have worked in already: what that says of sandboxes that wait
// or come back is not the run's, which ends with its command.
void leave_out_ends(CreateRequest& request, const policy::Profiles& profiles);

// A request without one. Whoever reads no profiles saves the millisecond that this takes.
bool has_profile(const CreateRequest& request);
Result<> settle_without_profile(CreateRequest& request);

const policy::Profiles& profiles_of(const EngineOptions& options);

}  // namespace atl
