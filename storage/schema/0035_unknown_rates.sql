-- A workload that ended in the ramp has no rate: NULL then, where 0 stood before.
ALTER TABLE phase_figures ALTER COLUMN iops DROP NOT NULL;
ALTER TABLE phase_figures ALTER COLUMN bytes_per_second DROP NOT NULL;
