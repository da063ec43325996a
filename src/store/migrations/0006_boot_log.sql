-- The number of the last entry of the boot log that these tables have taken. A daemon that does not know the log must not write here: the
-- next one that does would put what the log says over it.
CREATE TABLE boot_log (
  id INTEGER PRIMARY KEY CHECK (id = 0),
  taken INTEGER NOT NULL
) STRICT;
INSERT INTO boot_log VALUES (0, 0);
