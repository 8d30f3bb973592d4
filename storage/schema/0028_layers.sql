-- Devices that lie on each other, all of them sampled.
ALTER TABLE device_samples ADD COLUMN nested boolean;
ALTER TABLE device_rollups ADD COLUMN nested boolean;
