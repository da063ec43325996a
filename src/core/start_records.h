// How a sandbox began, from its record or, after its end, from the store.
#pragma once

#include "core/parts.h"

namespace atl {

// Code::not_found for what was never there, is forgotten, or is not the caller's to see.
Task<StartRecord> find_start_record(Parts& parts, Caller caller, std::string id_or_name);

}  // namespace atl
