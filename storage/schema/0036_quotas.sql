-- The processor quota of each worker's control groups. A worker whose groups have none has no rows.
-- period_ns is NULL where the kernel does not say it.
CREATE TABLE quota_samples (
  started_at timestamptz NOT NULL,
  run_id uuid NOT NULL,
  phase smallint NOT NULL,
  attempt smallint NOT NULL,
  worker_index integer NOT NULL,
  interval integer NOT NULL,
  interval_class smallint NOT NULL,
  begin_ns bigint NOT NULL,
  end_ns bigint NOT NULL,
  periods bigint NOT NULL,
  throttled_periods bigint NOT NULL,
  period_ns bigint,
  throttled_time_ns bigint NOT NULL
) PARTITION BY RANGE (started_at);
CREATE INDEX quota_samples_run_id_phase_attempt_idx ON quota_samples (run_id, phase, attempt);
COMMENT ON TABLE quota_samples IS
'Processor quotas of workers over an interval; partitioned by month';

-- What is left of them when they are pruned (roll_up_samples()).
CREATE TABLE quota_rollups (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase smallint NOT NULL,
  attempt smallint NOT NULL,
  worker_index integer NOT NULL,
  interval integer NOT NULL,
  intervals integer NOT NULL,
  interval_class smallint NOT NULL,
  started_at timestamptz NOT NULL,
  begin_ns bigint NOT NULL,
  end_ns bigint NOT NULL,
  seconds double precision NOT NULL,
  periods double precision NOT NULL,
  throttled_periods double precision NOT NULL,
  throttled_seconds double precision NOT NULL,
  throttled_time_ns double precision NOT NULL,
  PRIMARY KEY (run_id, phase, attempt, worker_index, "interval")
);
COMMENT ON TABLE quota_rollups IS
'Processor quotas of workers over some intervals in a row, of runs whose samples were pruned';
