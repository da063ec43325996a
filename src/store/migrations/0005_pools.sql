-- Pools that were made over the API; those of profiles are in the profiles.
CREATE TABLE pool (
  name TEXT PRIMARY KEY,
  spec TEXT NOT NULL
) STRICT, WITHOUT ROWID;
