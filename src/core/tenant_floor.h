// A tenant's floor (policy::Quota): what nothing of a tenant goes below, whoever asks for it. The
// router holds it for what is made on a route; this is for what is made from a sandbox that is
// there already, and may be from before the floor was set.
#pragma once

#include "core/sandbox_record.h"

namespace atl {

// Code::permission_denied for a sandbox below it.
Result<> check_floor(const policy::Quotas& quotas, const SandboxRecord& record,
                     std::string_view verb);

}  // namespace atl
