-- The timelines are unions of samples and roll-ups. Where the two have phases of different types,
-- the union converts those of the samples, and a condition on the phase cannot use their index. The
-- interface makes the views again.
DROP VIEW IF EXISTS device_statistics, device_timeline, kernel_timeline, network_timeline,
nfs_timeline;
ALTER TABLE device_rollups
ALTER COLUMN phase TYPE smallint,
ALTER COLUMN attempt TYPE smallint;
ALTER TABLE host_rollups
ALTER COLUMN phase TYPE smallint,
ALTER COLUMN attempt TYPE smallint;
ALTER TABLE interface_rollups
ALTER COLUMN phase TYPE smallint,
ALTER COLUMN attempt TYPE smallint;
ALTER TABLE nfs_rollups
ALTER COLUMN phase TYPE smallint,
ALTER COLUMN attempt TYPE smallint;
-- The workers of one kernel, for the identities of its devices.
CREATE INDEX run_workers_by_kernel ON run_workers (run_id, boot_id);
