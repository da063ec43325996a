-- What is kept of sandboxes. One that is being made or dropped is here, too, so that neither can be forgotten.
CREATE TABLE snapshot (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  state TEXT NOT NULL,
  driver TEXT NOT NULL,
  sandbox TEXT NOT NULL,
  facts TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
