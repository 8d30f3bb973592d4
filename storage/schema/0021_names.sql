-- Names that say what they mean.

ALTER TABLE block_writes RENAME COLUMN place TO target_key;
ALTER TABLE run_workers RENAME COLUMN hold_ns TO quarantine_ns;

ALTER VIEW fleet_timeline RENAME COLUMN least_host_iops TO min_host_iops;
ALTER VIEW fleet_timeline RENAME COLUMN most_host_iops TO max_host_iops;

UPDATE worker_results SET result = replace(result::text, '"notPutBack"', '"notRestored"')::jsonb
  WHERE result::text LIKE '%"notPutBack"%';
ALTER VIEW phase_settings RENAME COLUMN not_put_back TO not_restored;
CREATE OR REPLACE VIEW phase_settings AS
  SELECT r.run_id, r.phase, p.name AS phase_name, w.host, s.change ->> 'thing' AS thing,
         s.change ->> 'name' AS setting, coalesce(s.change ->> 'before', '') AS before,
         coalesce(s.change ->> 'value', '') AS value,
         coalesce(s.change ->> 'notRestored', '') AS not_restored
  FROM worker_results r
  JOIN phase_overview p USING (run_id, phase, attempt)
  JOIN run_workers w USING (run_id, worker_index)
  CROSS JOIN LATERAL (
    SELECT jsonb_array_elements(CASE jsonb_typeof(r.result -> 'settings')
                                WHEN 'array' THEN r.result -> 'settings' ELSE '[]' END) AS change
  ) s;
COMMENT ON COLUMN phase_settings.not_restored IS
    'why the setting could not be restored; empty where it was';
COMMENT ON COLUMN run_workers.quarantine_ns IS
    'how long the targets of a lost worker stay locked after a restart; NULL where they are free';
