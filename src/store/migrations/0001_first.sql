-- Few indexes on purpose: every one is paid for in each transaction, and reading happens only at start.
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sandbox (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  user_id TEXT NOT NULL,
  state TEXT NOT NULL,
  lifecycle TEXT NOT NULL,
  driver TEXT NOT NULL,
  isolation TEXT NOT NULL,
  placement TEXT NOT NULL,
  profile TEXT NOT NULL,
  labels TEXT NOT NULL,
  resources TEXT NOT NULL,
  spec TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  expires_boot_us INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  ttl_s INTEGER NOT NULL,
  idle_s INTEGER NOT NULL,
  last_active_ms INTEGER NOT NULL,
  ended_at_ms INTEGER NOT NULL,
  failure TEXT NOT NULL,
  generation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX sandbox_live_name ON sandbox (tenant, name) WHERE ended_at_ms = 0 AND name <> '';

CREATE TABLE intent (
  id INTEGER PRIMARY KEY,
  sandbox TEXT NOT NULL,
  generation INTEGER NOT NULL,
  op TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'done', 'failed', 'undone')),
  created_at_ms INTEGER NOT NULL,
  error TEXT NOT NULL
) STRICT;

CREATE TABLE idempotency (
  tenant TEXT NOT NULL,
  key TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  sandbox TEXT NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_key (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  role TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  last_used_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
