// Reads what a profile says about its pool.
#pragma once

#include "json/value.h"
#include "policy/pool_settings.h"

namespace atl::policy {

// As it stands in the file. Errors begin with "pool".
Result<PoolAsk> read_pool(const json::Value& value);

}  // namespace atl::policy
