-- Sessions and keys end by the clock of the boot, as sandboxes do. Those that were there are as of an earlier boot: what is left of them is
-- taken from the wall's clock once more.
ALTER TABLE session ADD COLUMN expires_boot_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN boot_id TEXT NOT NULL DEFAULT '';
ALTER TABLE idempotency ADD COLUMN expires_boot_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE idempotency ADD COLUMN boot_id TEXT NOT NULL DEFAULT '';
