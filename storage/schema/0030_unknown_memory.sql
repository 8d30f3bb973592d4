-- A kernel need not tell how much memory is free, cached or dirty: NULL then, where 0 stood before.
ALTER TABLE host_samples ALTER COLUMN free_bytes DROP NOT NULL;
ALTER TABLE host_samples ALTER COLUMN cached_bytes DROP NOT NULL;
ALTER TABLE host_samples ALTER COLUMN dirty_bytes DROP NOT NULL;
ALTER TABLE host_rollups ALTER COLUMN free_bytes DROP NOT NULL;
ALTER TABLE host_rollups ALTER COLUMN dirty_bytes DROP NOT NULL;
ALTER TABLE host_rollups ALTER COLUMN dirty_bytes_max DROP NOT NULL;
