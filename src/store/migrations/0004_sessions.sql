-- Who holds which sandbox. How many hold one is counted from these rows.
CREATE TABLE session (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  owner TEXT NOT NULL,
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  sandbox TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  ttl_s INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
