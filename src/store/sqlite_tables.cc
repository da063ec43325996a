#include "store/sqlite_tables.h"

#include <array>

namespace atl::store {
namespace {

#define SANDBOX_COLUMNS                                                                \
  "id, tenant, owner, name, user_id, state, lifecycle, driver, isolation, placement, " \
  "profile, labels, resources, spec, created_at_ms, expires_at_ms, expires_boot_us, "  \
  "boot_id, ttl_s, idle_s, last_active_ms, ended_at_ms, failure, generation"

constexpr std::array<std::string_view, 4> kIntentStates = {"pending", "done", "failed", "undone"};

std::string_view to_text(IntentState state) { return kIntentStates[static_cast<size_t>(state)]; }

IntentState to_intent_state(const std::string& text) {
  for (size_t i = 0; i < kIntentStates.size(); ++i) {
    if (kIntentStates[i] == text) return static_cast<IntentState>(i);
  }
  return IntentState::pending;
}

// OR ABORT is SQLite's default and what makes a name that is taken an error; the upsert is only for
// the same id.
Result<> apply(Connection& connection, const PutSandbox& put) {
  TRY(auto statement,
      connection.prepare(
          "INSERT INTO sandbox (" SANDBOX_COLUMNS
          ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
          "ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, owner = excluded.owner, "
          "name = excluded.name, user_id = excluded.user_id, state = excluded.state, "
          "lifecycle = excluded.lifecycle, driver = excluded.driver, "
          "isolation = excluded.isolation, placement = excluded.placement, "
          "profile = excluded.profile, labels = excluded.labels, "
          "resources = excluded.resources, spec = excluded.spec, "
          "created_at_ms = excluded.created_at_ms, expires_at_ms = excluded.expires_at_ms, "
          "expires_boot_us = excluded.expires_boot_us, boot_id = excluded.boot_id, "
          "ttl_s = excluded.ttl_s, idle_s = excluded.idle_s, "
          "last_active_ms = excluded.last_active_ms, ended_at_ms = excluded.ended_at_ms, "
          "failure = excluded.failure, generation = excluded.generation"));
  const auto& row = put.row;
  statement.bind(row.id).bind(row.tenant).bind(row.owner).bind(row.name).bind(row.user_id);
  statement.bind(row.state).bind(row.lifecycle).bind(row.driver).bind(row.isolation);
  statement.bind(row.placement).bind(row.profile).bind(row.labels).bind(row.resources);
  statement.bind(row.spec).bind(row.created_at_ms).bind(row.expires_at_ms);
  statement.bind(row.expires_boot_us).bind(row.boot_id).bind(row.ttl_s).bind(row.idle_s);
  statement.bind(row.last_active_ms).bind(row.ended_at_ms).bind(row.failure).bind(row.generation);
  return statement.run();
}

Result<> apply(Connection& connection, const PutIntent& put) {
  TRY(auto statement,
      connection.prepare("INSERT OR REPLACE INTO intent "
                         "(id, sandbox, generation, op, state, created_at_ms, error) "
                         "VALUES (?, ?, ?, ?, ?, ?, ?)"));
  const auto& row = put.row;
  statement.bind(row.id).bind(row.sandbox).bind(row.generation).bind(row.op);
  statement.bind(to_text(row.state)).bind(row.created_at_ms).bind(row.error);
  return statement.run();
}

Result<> apply(Connection& connection, const EndIntent& end) {
  TRY(auto statement, connection.prepare("UPDATE intent SET state = ?, error = ? WHERE id = ?"));
  return statement.bind(to_text(end.state)).bind(end.error).bind(end.id).run();
}

Result<> apply(Connection& connection, const PutIdempotency& put) {
  TRY(auto statement, connection.prepare("INSERT OR REPLACE INTO idempotency "
                                         "(tenant, key, request_hash, sandbox, expires_at_ms, "
                                         "expires_boot_us, boot_id) VALUES (?, ?, ?, ?, ?, ?, ?)"));
  const auto& row = put.row;
  statement.bind(row.tenant).bind(row.key).bind(row.request_hash).bind(row.sandbox);
  return statement.bind(row.expires_at_ms).bind(row.expires_boot_us).bind(row.boot_id).run();
}

Result<> apply(Connection& connection, const DropIdempotency& drop) {
  TRY(auto statement,
      connection.prepare("DELETE FROM idempotency WHERE tenant = ? AND key = ? AND sandbox = ?"));
  return statement.bind(drop.tenant).bind(drop.key).bind(drop.sandbox).run();
}

Result<> apply(Connection& connection, const PutSnapshot& put) {
  TRY(auto statement,
      connection.prepare("INSERT OR REPLACE INTO snapshot (id, tenant, owner, name, state, driver, "
                         "sandbox, facts, created_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  const auto& row = put.row;
  statement.bind(row.id).bind(row.tenant).bind(row.owner).bind(row.name).bind(row.state);
  statement.bind(row.driver).bind(row.sandbox).bind(row.facts).bind(row.created_at_ms);
  return statement.run();
}

Result<> apply(Connection& connection, const DropSnapshot& drop) {
  TRY(auto statement, connection.prepare("DELETE FROM snapshot WHERE id = ?"));
  return statement.bind(drop.id).run();
}

Result<> apply(Connection& connection, const PutPool& put) {
  TRY(auto statement, connection.prepare("INSERT OR REPLACE INTO pool (name, spec) VALUES (?, ?)"));
  return statement.bind(put.row.name).bind(put.row.spec).run();
}

Result<> apply(Connection& connection, const DropPool& drop) {
  TRY(auto statement, connection.prepare("DELETE FROM pool WHERE name = ?"));
  return statement.bind(drop.name).run();
}

Result<> apply(Connection& connection, const PutSession& put) {
  TRY(auto statement,
      connection.prepare("INSERT OR REPLACE INTO session (id, tenant, owner, scope, key, sandbox, "
                         "created_at_ms, expires_at_ms, expires_boot_us, boot_id, ttl_s) "
                         "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  const auto& row = put.row;
  statement.bind(row.id).bind(row.tenant).bind(row.owner).bind(row.scope).bind(row.key);
  statement.bind(row.sandbox)
      .bind(row.created_at_ms)
      .bind(row.expires_at_ms)
      .bind(row.expires_boot_us)
      .bind(row.boot_id)
      .bind(row.ttl_s);
  return statement.run();
}

Result<> apply(Connection& connection, const DropSession& drop) {
  TRY(auto statement, connection.prepare("DELETE FROM session WHERE id = ?"));
  return statement.bind(drop.id).run();
}

Result<> apply(Connection& connection, const PutKey& put) {
  TRY(auto statement,
      connection.prepare("INSERT INTO api_key (id, tenant, role, label, hash, created_at_ms, "
                         "expires_at_ms, last_used_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
                         "ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, "
                         "role = excluded.role, label = excluded.label, hash = excluded.hash, "
                         "created_at_ms = excluded.created_at_ms, "
                         "expires_at_ms = excluded.expires_at_ms, "
                         "last_used_at_ms = excluded.last_used_at_ms"));
  const auto& row = put.row;
  statement.bind(row.id).bind(row.tenant).bind(row.role).bind(row.label).bind(row.hash);
  return statement.bind(row.created_at_ms).bind(row.expires_at_ms).bind(row.last_used_at_ms).run();
}

Result<> apply(Connection& connection, const TouchKey& touch) {
  TRY(auto statement, connection.prepare("UPDATE api_key SET last_used_at_ms = ? WHERE id = ?"));
  return statement.bind(touch.last_used_at_ms).bind(touch.id).run();
}

Result<> apply(Connection& connection, const DropKey& drop) {
  TRY(auto statement, connection.prepare("DELETE FROM api_key WHERE id = ?"));
  return statement.bind(drop.id).run();
}

Result<> apply(Connection& connection, const Prune& prune) {
  TRY(auto old,
      connection.prepare("DELETE FROM sandbox WHERE ended_at_ms <> 0 AND ended_at_ms < ?"));
  TRY_OK(old.bind(prune.ended_before_ms).run());
  TRY(auto surplus,
      connection.prepare("DELETE FROM sandbox WHERE id IN (SELECT id FROM sandbox "
                         "WHERE ended_at_ms <> 0 ORDER BY ended_at_ms DESC LIMIT -1 OFFSET ?)"));
  TRY_OK(surplus.bind(prune.most_ended).run());
  TRY(auto intents,
      connection.prepare("DELETE FROM intent WHERE (state <> 'pending' AND created_at_ms < ?) "
                         "OR sandbox NOT IN (SELECT id FROM sandbox)"));
  TRY_OK(intents.bind(prune.ended_before_ms).run());
  TRY(auto keys, connection.prepare("DELETE FROM idempotency WHERE CASE boot_id WHEN ? "
                                    "THEN expires_boot_us <= ? ELSE expires_at_ms <= ? END"));
  return keys.bind(prune.boot_id).bind(prune.now_boot_us).bind(prune.now_ms).run();
}

SandboxRow read_row(const Statement& from) {
  SandboxRow row;
  int column = 0;
  for (std::string* text : {&row.id, &row.tenant, &row.owner, &row.name, &row.user_id, &row.state,
                            &row.lifecycle, &row.driver, &row.isolation, &row.placement,
                            &row.profile, &row.labels, &row.resources, &row.spec}) {
    *text = from.text(column++);
  }
  for (int64_t* number : {&row.created_at_ms, &row.expires_at_ms, &row.expires_boot_us}) {
    *number = from.number(column++);
  }
  row.boot_id = from.text(column++);
  for (int64_t* number : {&row.ttl_s, &row.idle_s, &row.last_active_ms, &row.ended_at_ms}) {
    *number = from.number(column++);
  }
  row.failure = from.text(column++);
  row.generation = from.number(column++);
  return row;
}

template <typename Row>
Result<std::vector<Row>> read_all(Connection& connection, std::string_view sql,
                                  Row (*read)(const Statement&)) {
  std::vector<Row> rows;
  TRY(auto statement, connection.prepare(sql));
  for (;;) {
    TRY(const bool more, statement.step());
    if (!more) return rows;
    rows.push_back(read(statement));
  }
}

IntentRow read_intent(const Statement& from) {
  return {.id = from.number(0),
          .sandbox = from.text(1),
          .generation = from.number(2),
          .op = from.text(3),
          .state = to_intent_state(from.text(4)),
          .created_at_ms = from.number(5),
          .error = from.text(6)};
}

IdempotencyRow read_idempotency(const Statement& from) {
  return {.tenant = from.text(0),
          .key = from.text(1),
          .request_hash = from.text(2),
          .sandbox = from.text(3),
          .expires_at_ms = from.number(4),
          .expires_boot_us = from.number(5),
          .boot_id = from.text(6)};
}

SnapshotRow read_snapshot(const Statement& from) {
  return {.id = from.text(0),
          .tenant = from.text(1),
          .owner = from.text(2),
          .name = from.text(3),
          .state = from.text(4),
          .driver = from.text(5),
          .sandbox = from.text(6),
          .facts = from.text(7),
          .created_at_ms = from.number(8)};
}

PoolRow read_pool(const Statement& from) { return {.name = from.text(0), .spec = from.text(1)}; }

SessionRow read_session(const Statement& from) {
  return {.id = from.text(0),
          .tenant = from.text(1),
          .owner = from.text(2),
          .scope = from.text(3),
          .key = from.text(4),
          .sandbox = from.text(5),
          .created_at_ms = from.number(6),
          .expires_at_ms = from.number(7),
          .expires_boot_us = from.number(8),
          .boot_id = from.text(9),
          .ttl_s = from.number(10)};
}

KeyRow read_key(const Statement& from) {
  return {.id = from.text(0),
          .tenant = from.text(1),
          .role = from.text(2),
          .label = from.text(3),
          .hash = from.text(4),
          .created_at_ms = from.number(5),
          .expires_at_ms = from.number(6),
          .last_used_at_ms = from.number(7)};
}

}  // namespace

Result<> apply_change(Connection& connection, const Change& change) {
  return std::visit([&](const auto& what) { return apply(connection, what); }, change);
}

Result<Contents> read_contents(Connection& connection) {
  Contents contents;
  TRY(contents.instance_id, connection.ask("SELECT value FROM meta WHERE name = 'instance_id'"));
  TRY(contents.live, read_all(connection,
                              "SELECT " SANDBOX_COLUMNS
                              " FROM sandbox WHERE ended_at_ms = 0 ORDER BY created_at_ms, id",
                              read_row));
  TRY(contents.pending,
      read_all(connection,
               "SELECT id, sandbox, generation, op, state, created_at_ms, error FROM intent "
               "WHERE state = 'pending' ORDER BY id",
               read_intent));
  TRY(contents.idempotency,
      read_all(connection,
               "SELECT tenant, key, request_hash, sandbox, expires_at_ms, expires_boot_us, boot_id "
               "FROM idempotency",
               read_idempotency));
  TRY(contents.keys, read_all(connection,
                              "SELECT id, tenant, role, label, hash, created_at_ms, expires_at_ms, "
                              "last_used_at_ms FROM api_key ORDER BY created_at_ms, id",
                              read_key));
  TRY(contents.snapshots,
      read_all(connection,
               "SELECT id, tenant, owner, name, state, driver, sandbox, facts, created_at_ms "
               "FROM snapshot ORDER BY created_at_ms, id",
               read_snapshot));
  TRY(contents.pools, read_all(connection, "SELECT name, spec FROM pool ORDER BY name", read_pool));
  TRY(contents.sessions,
      read_all(connection,
               "SELECT id, tenant, owner, scope, key, sandbox, created_at_ms, expires_at_ms, "
               "expires_boot_us, boot_id, ttl_s FROM session ORDER BY created_at_ms, id",
               read_session));
  TRY(auto highest, connection.prepare("SELECT coalesce(max(id), 0) FROM intent"));
  TRY([[maybe_unused]] const bool row, highest.step());
  contents.last_intent = highest.number(0);
  return contents;
}

Result<std::optional<SandboxRow>> read_sandbox(Connection& connection, const std::string& id) {
  TRY(auto statement, connection.prepare("SELECT " SANDBOX_COLUMNS " FROM sandbox WHERE id = ?"));
  TRY(const bool found, statement.bind(id).step());
  if (!found) return std::optional<SandboxRow>();
  return std::optional<SandboxRow>(read_row(statement));
}

}  // namespace atl::store
