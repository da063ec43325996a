#include "store/sqlite_schema.h"

#include <charconv>

#include "base/ids.h"

namespace atl::store {
namespace {

// "ATOL": tells our files from other SQLite files.
constexpr std::string_view kApplicationId = "1096044364";

// mmap_size=0 because a failed read of a mapped page is SIGBUS and not an error.
// locking_mode=EXCLUSIVE because one daemon owns its store. The checkpoint comes every 4,000 pages,
// not every 1,000: it waits for the disk, and whatever is queued behind it waits too; an idle
// writer checkpoints by itself.
constexpr const char* kPragmas =
    "PRAGMA busy_timeout=5000;"
    "PRAGMA locking_mode=EXCLUSIVE;"
    "PRAGMA trusted_schema=OFF;"
    "PRAGMA cell_size_check=ON;"
    "PRAGMA mmap_size=0;"
    // In KiB. Reads are of living sandboxes, which are few; SQLite's default would fill up with
    // ended ones.
    "PRAGMA cache_size=-1000;"
    "PRAGMA temp_store=MEMORY;"
    "PRAGMA foreign_keys=ON;"
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=FULL;"
    "PRAGMA wal_autocheckpoint=4000;"
    "PRAGMA journal_size_limit=67108864;";

Result<> check_health(Connection& connection) {
  TRY(const auto verdict, connection.ask("PRAGMA quick_check(1)"));
  if (verdict == "ok") return {};
  return Error(Code::internal, connection.path() + " is damaged: " + verdict)
      .with_hint("restore " + connection.path() +
                 " from a backup or move it away; Atoll never replaces it by itself");
}

Result<> check_owner(Connection& connection, int version) {
  TRY(const auto application, connection.ask("PRAGMA application_id"));
  TRY(const auto tables, connection.ask("SELECT count(*) FROM sqlite_schema"));
  if (application == kApplicationId || (version == 0 && tables == "0")) return {};
  return Error(Code::invalid_argument, connection.path() + " is a database, but not one of Atoll's")
      .with_hint("name another state directory");
}

Result<int> get_version(Connection& connection) {
  TRY(const auto text, connection.ask("PRAGMA user_version"));
  int version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

Result<> apply(Connection& connection, const Migration& migration) {
  TRY_OK(connection.execute("BEGIN IMMEDIATE"));
  auto applied = connection.execute(std::string(migration.sql) + "\nPRAGMA user_version=" +
                                    std::to_string(migration.version) + ";");
  if (applied) applied = connection.execute("COMMIT");
  if (applied) return {};
  if (connection.in_transaction()) static_cast<void>(connection.execute("ROLLBACK"));
  return std::move(applied).error().with("applying migration " + std::string(migration.name));
}

Result<> name_instance(Connection& connection) {
  return connection.execute("INSERT INTO meta (name, value) VALUES ('instance_id', '" +
                            random_name(20) + "') ON CONFLICT DO NOTHING");
}

}  // namespace

Result<> prepare_schema(Connection& connection, std::span<const Migration> migrations) {
  TRY_OK(connection.execute(kPragmas));
  TRY_OK(check_health(connection));
  TRY(const int version, get_version(connection));
  TRY_OK(check_owner(connection, version));
  if (version > static_cast<int>(migrations.size())) {
    return Error(Code::internal, connection.path() + " has schema version " +
                                     std::to_string(version) + ", this program knows " +
                                     std::to_string(migrations.size()))
        .with_hint("a newer Atoll wrote it; run that one, or name another state directory");
  }
  if (version == 0) {
    TRY_OK(connection.execute("PRAGMA application_id=" + std::string(kApplicationId)));
  }
  for (const auto& migration : migrations.subspan(static_cast<size_t>(version))) {
    TRY_OK(apply(connection, migration));
  }
  return name_instance(connection);
}

}  // namespace atl::store
