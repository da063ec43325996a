// What a judge is asked: who wants what, as a JSON object. docs/admission.md describes it for those
// who write policies.
//
// Names of environment variables, their values, files, commands and keys are not in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/driver_table.h"
#include "core/sandbox_record.h"

namespace atl {

// `action` is create or run; `route` the drivers that may make it, the first one first.
std::string to_question(const Caller& caller, std::string_view action, const CreateRequest& request,
                        const std::vector<DriverSlot*>& route);
// `action` is fork or resize; with the resources that are asked for.
std::string to_question(const Caller& caller, std::string_view action, const SandboxRecord& record,
                        const Resources& resources, size_t count);

}  // namespace atl
