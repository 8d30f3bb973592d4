-- A result whose settings are no list takes no other run's away.

CREATE OR REPLACE VIEW phase_settings AS
  SELECT r.run_id, r.phase, p.name AS phase_name, w.host, s.change ->> 'thing' AS thing,
         s.change ->> 'name' AS setting, coalesce(s.change ->> 'before', '') AS before,
         coalesce(s.change ->> 'value', '') AS value,
         coalesce(s.change ->> 'notPutBack', '') AS not_put_back
  FROM worker_results r
  JOIN phase_overview p USING (run_id, phase, attempt)
  JOIN run_workers w USING (run_id, worker_index)
  CROSS JOIN LATERAL (
    SELECT jsonb_array_elements(CASE jsonb_typeof(r.result -> 'settings')
                                WHEN 'array' THEN r.result -> 'settings' ELSE '[]' END) AS change
  ) s;
