-- A run's phases are planned one after the other, from the job and from what was measured so far: what a phase does, and
-- where it stands in the job, is kept with it.

ALTER TABLE phases
  ADD COLUMN spec jsonb,                           -- PhaseSpec, as it is run; NULL: the job's phase of this number
  ADD COLUMN job_phase integer NOT NULL DEFAULT 0, -- index in the job
  ADD COLUMN step integer NOT NULL DEFAULT 0,      -- the point of that phase's curve
  ADD COLUMN figures jsonb NOT NULL DEFAULT '{}',  -- PhaseFigures: what later phases may go by
  ADD COLUMN end_of_load integer;                  -- the interval at whose end the load was ended on all hosts, before its time
UPDATE phases SET job_phase = phase, figures = jsonb_build_object('iops', measured_iops);
ALTER TABLE phases DROP COLUMN measured_iops;
COMMENT ON COLUMN phases.phase IS 'number in the run, from 0';
