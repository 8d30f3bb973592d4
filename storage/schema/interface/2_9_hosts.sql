-- Views of what hosts were, what was set and verified on them, and which were lost.

-- The hosts of each run: kernel, processor, queue settings of the devices.
CREATE OR REPLACE VIEW run_environment AS
SELECT
  f.run_id,
  w.host,
  f.worker_index,
  f.name,
  f.value
FROM environment_facts f JOIN
  run_workers w
  USING (run_id, worker_index);
COMMENT ON VIEW run_environment IS 'Facts about the hosts of a run';

-- Notes of people, with the phase that was in progress at that moment.
CREATE OR REPLACE VIEW run_notes AS
SELECT
  n.run_id,
  n.number,
  n.at,
  extract(EPOCH FROM n.at - r.started_at)::double precision AS seconds,
  p.phase,
  p.name AS phase_name,
  extract(EPOCH FROM n.at - p.go_at)::double precision AS phase_seconds,
  n.author,
  n.message,
  n.written_at
FROM notes n
JOIN runs r USING (run_id)
LEFT JOIN LATERAL (
  SELECT
    o.phase,
    o.name,
    o.go_at
  FROM phase_overview o
  WHERE o.run_id = n.run_id AND o.go_at <= n.at AND (o.ended_at IS null OR n.at <= o.ended_at)
  ORDER BY o.go_at DESC
  LIMIT 1
) p ON true
-- The last note's number is kept when that note is removed, in a row without a text.
WHERE n.message <> '';
COMMENT ON VIEW run_notes IS 'Notes of people about runs, and of which moment';

CREATE OR REPLACE VIEW phase_settings AS
SELECT
  r.run_id,
  r.phase,
  p.name AS phase_name,
  w.host,
  s.change ->> 'thing' AS thing,
  s.change ->> 'name' AS setting,
  coalesce(s.change ->> 'before', '') AS before,
  coalesce(s.change ->> 'value', '') AS value,
  coalesce(s.change ->> 'notRestored', '') AS not_restored
FROM worker_results r
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN run_workers w USING (run_id, worker_index)
CROSS JOIN LATERAL (
  SELECT jsonb_array_elements(CASE jsonb_typeof(r.result -> 'settings')
    WHEN 'array' THEN r.result -> 'settings' ELSE '[]'
  END) AS change
) s;
COMMENT ON VIEW phase_settings IS
'Settings that hosts had during a phase and no longer: schedulers, queues, mount options';

-- Findings of verification, per phase, host and workload.
CREATE OR REPLACE VIEW verification AS
SELECT
  r.run_id,
  r.phase,
  p.name AS phase_name,
  w.host,
  l.name AS workload,
  coalesce((
    v.found ->> 'checked'
  )::bigint, 0) AS checked,
  coalesce((
    v.found
    ->> 'notCheckable'
  )::bigint, 0) AS not_checkable,
  coalesce((
    v.found ->> 'corrupt'
  )::bigint, 0) AS corrupt,
  coalesce((
    v.found
    ->> 'stale'
  )::bigint, 0) AS stale,
  coalesce((
    v.found ->> 'misplaced'
  )::bigint, 0) AS misplaced,
  coalesce((
    v.found
    ->> 'torn'
  )::bigint, 0) AS torn,
  coalesce(
    (v.found ->> 'neverWritten')::bigint, 0
  ) AS never_written,
  coalesce(
    v.found
    -> 'mismatches', '[]'
  ) AS mismatches
FROM worker_results r
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN run_workers w USING (run_id, worker_index)
CROSS JOIN
  LATERAL (SELECT
    coalesce((e ->> 'workload')::integer, 0) AS workload,
    e
    -> 'verification' AS found
  FROM jsonb_array_elements(coalesce(r.result -> 'workloads', '[]')) e) v
JOIN workloads l ON l.run_id = r.run_id AND l.phase = r.phase AND l.workload = v.workload
WHERE v.found IS NOT null;
COMMENT ON VIEW verification IS 'Findings of verification';

-- Workers that were lost, and why.
CREATE OR REPLACE VIEW lost_workers AS
SELECT
  run_id,
  worker_index,
  host,
  lost AS reason
FROM run_workers
WHERE lost IS NOT null;
COMMENT ON VIEW lost_workers IS 'Workers that were lost, and why';
