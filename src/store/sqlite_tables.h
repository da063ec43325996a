// Rows to SQL and back.
#pragma once

#include <optional>

#include "store/sqlite_connection.h"
#include "store/store.h"

namespace atl::store {

Result<> apply_change(Connection& connection, const Change& change);
Result<Contents> read_contents(Connection& connection);
Result<std::optional<SandboxRow>> read_sandbox(Connection& connection, const std::string& id);

}  // namespace atl::store
