-- Views of runs and their phases. The views are in the files 2_*, which are applied in the
-- order of their names; docs/reference/sql.md describes them. Numbers in all of them are those
-- of proto/result.proto: kind 4 is fsync, class 2 measured, metric 1 service time and metric 2
-- response time.
--
-- A view over samples takes its `phase` from phase_overview. Samples have a smallint. If it were
-- converted, a condition on it could not use their index, and would read the whole run.

-- phases has a row for each attempt, and phase_verdicts one for each phase. Without NOT EXISTS the
-- reason of a phase that was attempted twice would be listed twice.
CREATE OR REPLACE VIEW run_overview AS
SELECT
  r.run_id,
  r.job,
  r.owner,
  r.labels,
  r.state,
  r.outcome,
  r.degraded,
  EXISTS(
    SELECT FROM phase_verdicts v
    WHERE v.run_id = r.run_id AND v.invalid
  ) AS invalid,
  coalesce((
    SELECT string_agg(p.name || ': ' || v.invalid_reason, '; ' ORDER BY v.phase)
    FROM phase_verdicts v JOIN phases p USING (run_id, phase)
    WHERE
      v.run_id = r.run_id AND v.invalid
      AND NOT EXISTS (
        SELECT FROM
          phases n
        WHERE
          n.run_id = p.run_id AND n.phase
          = p.phase AND n.attempt > p.attempt
      )
  ), '') AS invalid_reason,
  r.submitted_at,
  r.started_at,
  r.ended_at,
  (
    SELECT count(*) FROM run_workers w
    WHERE w.run_id = r.run_id
  ) AS hosts,
  coalesce(r.summary ->> 'conclusion', '') AS conclusion,
  coalesce(r.summary -> 'headline' ->> 'text', '') AS headline
FROM runs r;
COMMENT ON VIEW run_overview IS 'Runs';

-- The last attempt of each phase.
CREATE OR REPLACE VIEW phase_overview AS
SELECT
  p.run_id,
  p.phase,
  p.attempt,
  p.name,
  p.kind,
  p.state,
  p.reason,
  coalesce(
    v.invalid,
    false
  ) AS invalid,
  coalesce(v.invalid_reason, '') AS invalid_reason,
  p.go_at,
  p.ended_at,
  v.window_begin,
  v.window_end,
  v.workers,
  v.workers_lost,
  -- Two starts have a bound above 0. If fewer than two hosts began, both figures are stored as 0
  -- and neither is known.
  CASE
    WHEN v.start_skew_ns > 0 OR v.start_skew_bound_ns > 0 THEN v.start_skew_ns
  END AS start_skew_ns,
  CASE
    WHEN v.start_skew_ns > 0 OR v.start_skew_bound_ns > 0 THEN v.start_skew_bound_ns
  END AS start_skew_bound_ns,
  v.limited_by,
  v.remarks,
  p.point
FROM phases p LEFT JOIN phase_verdicts v USING (run_id, phase)
WHERE NOT EXISTS (
  SELECT FROM
    phases n
  WHERE
    n.run_id = p.run_id AND n.phase = p.phase
    AND n.attempt > p.attempt
);
COMMENT ON VIEW phase_overview IS 'Phases (the last attempt of each), and the verdicts on them';

-- Every attempt of every phase; phase_overview has the last ones. State `void`: begun again under
-- the next number.
CREATE OR REPLACE VIEW phase_attempts AS
SELECT
  run_id,
  phase,
  attempt,
  name,
  kind,
  state,
  reason,
  go_at,
  ended_at
FROM phases;
COMMENT ON VIEW phase_attempts IS 'Every attempt of every phase';
