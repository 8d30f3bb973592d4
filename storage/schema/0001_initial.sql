-- The store's first schema. Everything lies in the schema `lockstep`; docs/sql.md documents the views and functions,
-- which are the interface; tables may change between versions.

-- ------------------------------------------------------------------------------------------------ bookkeeping

-- The active controller. Every ingest transaction checks its epoch, so that a replaced controller is fenced.
CREATE TABLE controller_epoch (
  only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  epoch      bigint NOT NULL,
  holder     text NOT NULL,
  store_id   uuid NOT NULL DEFAULT gen_random_uuid(),  -- epochs compare only within one store
  since      timestamptz NOT NULL DEFAULT now()
);
INSERT INTO controller_epoch (epoch, holder) VALUES (0, '');

-- ---------------------------------------------------------------------------------------------------- the fleet

CREATE TABLE hosts (
  host_id      uuid PRIMARY KEY,
  name         text NOT NULL,
  kernel       text NOT NULL,
  os           text NOT NULL,
  cpu_model    text NOT NULL,
  cpus         integer NOT NULL,
  memory_bytes bigint NOT NULL,
  first_seen   timestamptz NOT NULL DEFAULT now(),
  last_seen    timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE workers (
  worker_id   uuid PRIMARY KEY,
  host_id     uuid NOT NULL REFERENCES hosts,
  boot_id     text NOT NULL,
  version     text NOT NULL,
  labels      jsonb NOT NULL DEFAULT '{}',
  first_seen  timestamptz NOT NULL DEFAULT now(),
  last_seen   timestamptz NOT NULL DEFAULT now()
);

-- Block devices as hosts registered them. One kernel's device is one row, whatever number of workers sees it.
CREATE TABLE devices (
  boot_id      text NOT NULL,
  name         text NOT NULL,
  host_id      uuid NOT NULL REFERENCES hosts,
  identity     text NOT NULL,
  size_bytes   bigint NOT NULL,
  model        text NOT NULL,
  scheduler    text NOT NULL,
  rotational   boolean NOT NULL,
  last_seen    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (boot_id, name)
);

-- ------------------------------------------------------------------------------------------------ jobs and runs

CREATE TABLE jobs (
  job_id       uuid PRIMARY KEY,
  name         text NOT NULL,
  spec         jsonb NOT NULL,     -- JobSpec, protobuf's JSON
  source       text NOT NULL,      -- the job file, as submitted
  submitted_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE runs (
  run_id       uuid PRIMARY KEY,
  job_id       uuid NOT NULL REFERENCES jobs,
  number       bigint GENERATED ALWAYS AS IDENTITY UNIQUE,  -- order of submission
  owner        text NOT NULL,
  labels       jsonb NOT NULL DEFAULT '{}',
  state        text NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'aborted', 'cancelled')),
  outcome      text NOT NULL DEFAULT '',   -- why it ended so, in words
  degraded     boolean NOT NULL DEFAULT false,
  seed         numeric(20) NOT NULL,
  submitted_at timestamptz NOT NULL DEFAULT now(),
  started_at   timestamptz,
  ended_at     timestamptz,
  summary      jsonb                       -- RunSummary, made when the run ended
);
CREATE INDEX runs_by_state ON runs (state) WHERE state IN ('queued', 'running');

-- Who took part, and with which number.
CREATE TABLE run_workers (
  run_id       uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  worker_index integer NOT NULL,
  worker_id    uuid NOT NULL,
  host_id      uuid NOT NULL,
  host         text NOT NULL,              -- its name then
  boot_id      text NOT NULL,
  inspection   jsonb NOT NULL DEFAULT '{}',  -- Inspection: targets and the devices underneath
  PRIMARY KEY (run_id, worker_index)
);

CREATE TABLE environment_facts (
  run_id       uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  worker_index integer NOT NULL,
  name         text NOT NULL,
  value        text NOT NULL,
  PRIMARY KEY (run_id, worker_index, name)
);

CREATE TABLE phases (
  run_id       uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase        integer NOT NULL,           -- index in the job
  attempt      integer NOT NULL,
  name         text NOT NULL,
  kind         text NOT NULL,              -- prepare, run, cleanup
  state        text NOT NULL,              -- arming, running, done, failed, aborted
  reason       text NOT NULL DEFAULT '',
  go_at        timestamptz,                -- T by the controller's wall clock: for people only
  go_ns        bigint,                     -- T by the controller's monotonic clock
  interval_ns  bigint NOT NULL,
  ramp_ns      bigint NOT NULL,
  ended_at     timestamptz,
  PRIMARY KEY (run_id, phase, attempt)
);

CREATE TABLE workloads (
  run_id       uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase        integer NOT NULL,
  workload     integer NOT NULL,           -- index in the phase
  name         text NOT NULL,
  spec         jsonb NOT NULL,             -- Workload
  PRIMARY KEY (run_id, phase, workload)
);

CREATE TABLE events (
  event_id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run_id       uuid REFERENCES runs ON DELETE CASCADE,
  at           timestamptz NOT NULL DEFAULT now(),
  severity     text NOT NULL CHECK (severity IN ('info', 'warning', 'error')),
  host         text NOT NULL DEFAULT '',
  message      text NOT NULL
);
CREATE INDEX events_by_run ON events (run_id, event_id);

-- --------------------------------------------------------------------------------------------------- the samples

-- How far each worker's delivery of a phase has been committed: the next sequence number.
CREATE TABLE cursors (
  run_id       uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase        integer NOT NULL,
  attempt      integer NOT NULL,
  worker_index integer NOT NULL,
  sequence     bigint NOT NULL DEFAULT 0,
  clock_offset_ns bigint NOT NULL,         -- worker's monotonic clock minus the controller's, at go
  clock_bound_ns  bigint NOT NULL,
  PRIMARY KEY (run_id, phase, attempt, worker_index)
);

-- Operation kinds: 1 read, 2 write, 3 trim, 4 fsync. Classes: 1 ramp, 2 measured, 3 drain. Metrics: 1 service time,
-- 2 response time, 3 submission latency. As in proto/result.proto.

CREATE TABLE interval_counters (
  started_at      timestamptz NOT NULL,    -- T + begin, by the controller's wall clock
  run_id          uuid NOT NULL,
  phase           smallint NOT NULL,
  attempt         smallint NOT NULL,
  worker_index    integer NOT NULL,
  workload        smallint NOT NULL,
  interval        integer NOT NULL,
  interval_class  smallint NOT NULL,
  begin_ns        bigint NOT NULL,         -- from T
  end_ns          bigint NOT NULL,
  kind            smallint NOT NULL,
  operations      bigint NOT NULL,
  bytes           bigint NOT NULL,
  errors          bigint NOT NULL,
  short_transfers bigint NOT NULL,
  latency_sum_ns  numeric(20) NOT NULL,
  latency_min_ns  bigint NOT NULL,
  latency_max_ns  bigint NOT NULL
) PARTITION BY RANGE (started_at);
CREATE INDEX ON interval_counters (run_id, phase, attempt);

CREATE TABLE interval_histograms (
  started_at      timestamptz NOT NULL,
  run_id          uuid NOT NULL,
  phase           smallint NOT NULL,
  attempt         smallint NOT NULL,
  worker_index    integer NOT NULL,
  workload        smallint NOT NULL,
  interval        integer NOT NULL,
  interval_class  smallint NOT NULL,
  kind            smallint NOT NULL,
  metric          smallint NOT NULL,
  scheme          smallint NOT NULL,
  buckets         bytea COMPRESSION lz4 NOT NULL  -- as common/histogram.h encodes them; hist_decode() reads it
) PARTITION BY RANGE (started_at);
CREATE INDEX ON interval_histograms (run_id, phase, attempt);

-- /proc/diskstats over an interval, one row per kernel and device.
CREATE TABLE device_samples (
  started_at       timestamptz NOT NULL,
  run_id           uuid NOT NULL,
  phase            smallint NOT NULL,
  attempt          smallint NOT NULL,
  worker_index     integer NOT NULL,       -- whose worker sampled it
  interval         integer NOT NULL,
  interval_class   smallint NOT NULL,
  begin_ns         bigint NOT NULL,
  end_ns           bigint NOT NULL,
  device           text NOT NULL,
  reads            bigint NOT NULL,
  read_merges      bigint NOT NULL,
  read_bytes       bigint NOT NULL,
  read_time_ms     bigint NOT NULL,
  writes           bigint NOT NULL,
  write_merges     bigint NOT NULL,
  write_bytes      bigint NOT NULL,
  write_time_ms    bigint NOT NULL,
  discards         bigint NOT NULL,
  discard_merges   bigint NOT NULL,
  discard_bytes    bigint NOT NULL,
  discard_time_ms  bigint NOT NULL,
  flushes          bigint NOT NULL,
  flush_time_ms    bigint NOT NULL,
  busy_time_ms     bigint NOT NULL,
  queue_time_ms    bigint NOT NULL
) PARTITION BY RANGE (started_at);
CREATE INDEX ON device_samples (run_id, phase, attempt);

-- vmstat over an interval, one row per kernel.
CREATE TABLE host_samples (
  started_at       timestamptz NOT NULL,
  run_id           uuid NOT NULL,
  phase            smallint NOT NULL,
  attempt          smallint NOT NULL,
  worker_index     integer NOT NULL,
  interval         integer NOT NULL,
  interval_class   smallint NOT NULL,
  begin_ns         bigint NOT NULL,
  end_ns           bigint NOT NULL,
  context_switches bigint NOT NULL,
  interrupts       bigint NOT NULL,
  run_queue        integer NOT NULL,
  blocked          integer NOT NULL,
  user_ratio       real NOT NULL,
  system_ratio     real NOT NULL,
  idle_ratio       real NOT NULL,
  iowait_ratio     real NOT NULL,
  steal_ratio      real NOT NULL,
  swap_in_pages    bigint NOT NULL,
  swap_out_pages   bigint NOT NULL,
  free_bytes       bigint NOT NULL,
  cached_bytes     bigint NOT NULL,
  dirty_bytes      bigint NOT NULL,
  cpu_busy_ns      bigint NOT NULL
) PARTITION BY RANGE (started_at);
CREATE INDEX ON host_samples (run_id, phase, attempt);

-- Makes the sample tables' partitions for the month of `at` and the next one. Idempotent.
CREATE FUNCTION ensure_partitions(at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  parent text;
  month timestamp;
BEGIN
  FOREACH parent IN ARRAY ARRAY['interval_counters', 'interval_histograms', 'device_samples', 'host_samples'] LOOP
    FOR month IN SELECT date_trunc('month', at AT TIME ZONE 'UTC') + make_interval(months => i) FROM generate_series(0, 1) i LOOP
      EXECUTE format('CREATE TABLE IF NOT EXISTS lockstep.%I PARTITION OF lockstep.%I FOR VALUES FROM (%L) TO (%L)',
                     parent || to_char(month, '_YYYY_MM'), parent,
                     month::text || '+00', (month + interval '1 month')::text || '+00');
    END LOOP;
  END LOOP;
END $$;

-- --------------------------------------------------------------------------------------------------- the results

-- One worker's part of a phase: PhaseResult without histograms and threads.
CREATE TABLE worker_results (
  run_id       uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase        integer NOT NULL,
  attempt      integer NOT NULL,
  worker_index integer NOT NULL,
  error        text NOT NULL,
  result       jsonb NOT NULL,             -- PhaseResult, protobuf's JSON, histograms and threads left out
  PRIMARY KEY (run_id, phase, attempt, worker_index)
);

CREATE TABLE thread_results (
  run_id            uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase             integer NOT NULL,
  attempt           integer NOT NULL,
  worker_index      integer NOT NULL,
  workload          integer NOT NULL,
  thread            integer NOT NULL,
  operations        bigint NOT NULL,
  bytes             bigint NOT NULL,
  errors            bigint NOT NULL,
  execution_time_ns bigint NOT NULL,
  wait_time_ns      bigint NOT NULL,
  fsync_time_ns     bigint NOT NULL,
  rate_time_ns      bigint NOT NULL,
  cpu_time_ns       bigint NOT NULL,
  voluntary_context_switches   bigint NOT NULL,
  involuntary_context_switches bigint NOT NULL,
  PRIMARY KEY (run_id, phase, attempt, worker_index, workload, thread)
);

-- A histogram in a form that SQL merges fast: ascending occupied buckets and their counts.
CREATE TYPE histogram AS (scheme smallint, buckets integer[], counts bigint[]);

-- Counters and histograms of a whole phase, by worker, workload, class and kind.
CREATE TABLE phase_results (
  run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase           integer NOT NULL,
  attempt         integer NOT NULL,
  worker_index    integer NOT NULL,
  workload        integer NOT NULL,
  interval_class  smallint NOT NULL,
  kind            smallint NOT NULL,
  metric          smallint NOT NULL,
  operations      bigint NOT NULL,
  bytes           bigint NOT NULL,
  errors          bigint NOT NULL,
  short_transfers bigint NOT NULL,
  latency_sum_ns  numeric(20) NOT NULL,
  latency_min_ns  bigint NOT NULL,
  latency_max_ns  bigint NOT NULL,
  latencies       histogram NOT NULL,
  PRIMARY KEY (run_id, phase, attempt, worker_index, workload, interval_class, kind, metric)
);

-- 10-second roll-ups over all workers of a workload.
CREATE TABLE latency_rollups (
  run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase           integer NOT NULL,
  attempt         integer NOT NULL,
  workload        integer NOT NULL,
  kind            smallint NOT NULL,
  metric          smallint NOT NULL,
  begin_ns        bigint NOT NULL,         -- from T; a multiple of 10 s
  operations      bigint NOT NULL,
  bytes           bigint NOT NULL,
  latencies       histogram NOT NULL,
  PRIMARY KEY (run_id, phase, attempt, workload, kind, metric, begin_ns)
);
