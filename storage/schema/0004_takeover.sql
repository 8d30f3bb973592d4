-- What a controller needs to know of the runs of the one that it replaces.

ALTER TABLE run_workers
  ADD COLUMN hello jsonb NOT NULL DEFAULT '{}',          -- Hello, without devices: what the planner goes by
  ADD COLUMN lost text,                                  -- why the worker was given up; NULL while it takes part
  ADD COLUMN hold_ns bigint;                             -- its targets are held for so long after a (re)start; NULL when they are not
CREATE INDEX run_workers_held ON run_workers (worker_id) WHERE hold_ns IS NOT NULL;

-- How a run is going to end, once that is known and while its workers are still stopping or cleaning up.
ALTER TABLE runs
  ADD COLUMN ending_state text NOT NULL DEFAULT '',
  ADD COLUMN ending_reason text NOT NULL DEFAULT '',
  ADD COLUMN skip_cleanup boolean NOT NULL DEFAULT false;

-- I/Os per second that the phase came to: what later phases' rates may be shares of.
ALTER TABLE phases ADD COLUMN measured_iops double precision NOT NULL DEFAULT 0;

-- Every attempt of every phase; phase_overview has the last ones. State `void`: begun again under the next number.
CREATE VIEW phase_attempts AS
  SELECT run_id, phase, attempt, name, kind, state, reason, go_at, ended_at FROM phases;

-- Workers that were given up, and why.
CREATE VIEW lost_workers AS
  SELECT run_id, worker_index, host, lost AS reason FROM run_workers WHERE lost IS NOT NULL;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'lockstep_reader') THEN
    GRANT SELECT ON ALL TABLES IN SCHEMA lockstep TO lockstep_reader;
  END IF;
END $$;
