-- Settings of the hosts that phases change, and the confirmation of what runs overwrite.

ALTER TABLE runs ADD COLUMN confirm text;
COMMENT ON COLUMN runs.confirm IS
    'the token of the plan that its submitter has confirmed; NULL or empty where none was needed';

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
    GRANT SELECT ON phase_settings TO lockstep_reader;
  END IF;
END $$;
