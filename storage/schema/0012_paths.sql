-- The paths to devices, second by second, and when blocks were written that hosts verify.

ALTER TABLE device_samples
  ADD COLUMN paths integer,
  ADD COLUMN paths_running integer;
COMMENT ON COLUMN device_samples.paths IS
    'paths to the device at the interval''s end; NULL where it has one, or they are not known';
COMMENT ON COLUMN device_samples.paths_running IS 'those of them that I/O can take';

ALTER TABLE block_writes
  ADD COLUMN written_from timestamptz,
  ADD COLUMN written_until timestamptz;
COMMENT ON COLUMN block_writes.written_from IS
    'the writes were acknowledged from here on, by the worker''s wall clock; NULL if not known';
COMMENT ON COLUMN block_writes.written_until IS 'and before this';

CREATE VIEW device_paths AS
  SELECT d.run_id, d.phase::integer AS phase, p.name AS phase_name, w.host, d.device, d.interval,
         d.begin_ns / 1e9 AS begin_seconds, d.end_ns / 1e9 AS end_seconds, d.paths, d.paths_running
  FROM device_samples d
  JOIN phase_overview p USING (run_id, phase, attempt)
  JOIN run_workers w USING (run_id, worker_index)
  WHERE d.paths IS NOT NULL;

COMMENT ON VIEW device_paths IS
    'Paths to each device of several paths, and how many of them ran, per interval';
COMMENT ON COLUMN device_paths.run_id IS 'the run';
COMMENT ON COLUMN device_paths.phase IS 'number of the phase in the run, from 0';
COMMENT ON COLUMN device_paths.phase_name IS 'the phase''s name';
COMMENT ON COLUMN device_paths.host IS 'the host''s name';
COMMENT ON COLUMN device_paths.device IS 'the device''s name on it, as in /proc/diskstats';
COMMENT ON COLUMN device_paths.interval IS 'the interval''s number, from 0';
COMMENT ON COLUMN device_paths.begin_seconds IS 'its begin, seconds after the phase''s start';
COMMENT ON COLUMN device_paths.end_seconds IS 'its end';
COMMENT ON COLUMN device_paths.paths IS 'paths to the device, at the interval''s end';
COMMENT ON COLUMN device_paths.paths_running IS 'those of them that I/O can take';

COMMENT ON VIEW phase_findings IS
    'What the report concludes: stragglers, starvation, cross-checks, splits, queues, flushes, '
    'interference, lost paths';
COMMENT ON COLUMN phase_findings.kind IS
    'straggler, starvation, page cache, coalesced, amplified, not attributable, split, queue, '
    'flushes, interference, paths';

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'lockstep_reader') THEN
    GRANT SELECT ON device_paths TO lockstep_reader;
  END IF;
END $$;
