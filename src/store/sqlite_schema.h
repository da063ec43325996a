// Brings a SQLite file into a state that the store can rely on: pragmas, a health check,
// migrations.
#pragma once

#include <span>
#include <string_view>

#include "store/sqlite_connection.h"

namespace atl::store {

// A numbered .sql file of migrations/, embedded into the program.
struct Migration {
  int version = 0;
  std::string_view name;
  std::string_view sql;
};

// In order, numbered from 1 without gaps.
std::span<const Migration> all_migrations();

// Sets the pragmas, refuses a damaged file and one of a newer schema, and applies the migrations
// that are missing, each in its own transaction. A new file also gets its instance id.
Result<> prepare_schema(Connection& connection, std::span<const Migration> migrations);

}  // namespace atl::store
