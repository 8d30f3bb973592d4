-- Settings of the hosts that phases change, the confirmation of what runs overwrite, and what of
-- verified blocks the fleet knows.

ALTER TABLE runs ADD COLUMN confirm text;
COMMENT ON COLUMN runs.confirm IS
    'the token of the plan that its submitter has confirmed; NULL or empty where none was needed';

-- What the fleet knows of blocks with headers: the last acknowledged writes of each worker.
CREATE TABLE block_writes (
  run_id           uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase            integer NOT NULL,
  attempt          integer NOT NULL,
  worker_index     integer NOT NULL,
  sequence         bigint NOT NULL,
  place            bigint NOT NULL,
  block_size_bytes integer NOT NULL,
  runs             bytea NOT NULL,
  PRIMARY KEY (run_id, phase, attempt, worker_index, sequence)
);
COMMENT ON TABLE block_writes IS
    'What verifying workers said of blocks that they wrote, for those who read them';
COMMENT ON COLUMN block_writes.run_id IS 'the run';
COMMENT ON COLUMN block_writes.phase IS 'number of the phase in the run, from 0';
COMMENT ON COLUMN block_writes.attempt IS 'from 1; a repeated phase has a higher one';
COMMENT ON COLUMN block_writes.worker_index IS 'the worker''s number in the run';
COMMENT ON COLUMN block_writes.sequence IS
    'number of the item among those that the worker delivered';
COMMENT ON COLUMN block_writes.place IS
    'XXH3 of the device''s identity or the file''s path, as in the blocks'' headers';
COMMENT ON COLUMN block_writes.block_size_bytes IS 'the blocks'' size, bytes';
COMMENT ON COLUMN block_writes.runs IS
    'block numbers and generations (measure/block_runs.h of the source)';

CREATE VIEW phase_settings AS
  SELECT r.run_id, r.phase, p.name AS phase_name, w.host, s.change ->> 'thing' AS thing,
         s.change ->> 'name' AS setting, coalesce(s.change ->> 'before', '') AS before,
         coalesce(s.change ->> 'value', '') AS value,
         coalesce(s.change ->> 'notPutBack', '') AS not_put_back
  FROM worker_results r
  JOIN phase_overview p USING (run_id, phase, attempt)
  JOIN run_workers w USING (run_id, worker_index)
  CROSS JOIN LATERAL (SELECT jsonb_array_elements(r.result -> 'settings') AS change) s;

COMMENT ON VIEW phase_settings IS
    'Settings that hosts had during a phase and no longer: schedulers, queues, mount options';
COMMENT ON COLUMN phase_settings.run_id IS 'the run';
COMMENT ON COLUMN phase_settings.phase IS 'number of the phase in the run, from 0';
COMMENT ON COLUMN phase_settings.phase_name IS 'the phase''s name';
COMMENT ON COLUMN phase_settings.host IS 'the host''s name';
COMMENT ON COLUMN phase_settings.thing IS
    'the device''s name on it, or where a file system is mounted';
COMMENT ON COLUMN phase_settings.setting IS
    'scheduler, nr_requests, read_ahead_kb, max_sectors_kb, write_cache, mount options';
COMMENT ON COLUMN phase_settings.before IS 'what it was before the phase, and is again';
COMMENT ON COLUMN phase_settings.value IS 'what it was during the phase, as read back';
COMMENT ON COLUMN phase_settings.not_put_back IS
    'why it is not what it was before; empty where it is';

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'lockstep_reader') THEN
    GRANT SELECT ON phase_settings, block_writes TO lockstep_reader;
  END IF;
END $$;
