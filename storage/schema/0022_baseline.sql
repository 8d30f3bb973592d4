-- The tables of a store. Views, functions, comments and rights stand in interface/, which is
-- applied anew whenever it has changed. A change of a table is a file with the next number.
--
-- Operation kinds: 1 read, 2 write, 3 trim, 4 fsync. Interval classes: 1 ramp, 2 measured,
-- 3 drain. Metrics: 1 service time, 2 response time, 3 submission latency. As in
-- proto/result.proto.

-- Counts by bucket as one number, the sum of count * 10^(16 * bucket), so that SUM() merges
-- histograms bucket by bucket: see interface/1_functions.sql.
CREATE DOMAIN histogram AS numeric;

CREATE TABLE controller_epoch (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  epoch bigint NOT NULL,
  holder text NOT NULL,
  store_id uuid NOT NULL DEFAULT gen_random_uuid(),
  since timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE controller_epoch IS 'The active controller';

CREATE TABLE hosts (
  host_id uuid PRIMARY KEY,
  name text NOT NULL,
  kernel text NOT NULL,
  os text NOT NULL,
  cpu_model text NOT NULL,
  cpus integer NOT NULL,
  memory_bytes bigint NOT NULL,
  first_seen timestamptz NOT NULL DEFAULT now(),
  last_seen timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE hosts IS 'Machines';

CREATE TABLE workers (
  worker_id uuid PRIMARY KEY,
  host_id uuid NOT NULL REFERENCES hosts,
  boot_id text NOT NULL,
  version text NOT NULL,
  labels jsonb NOT NULL DEFAULT '{}',
  first_seen timestamptz NOT NULL DEFAULT now(),
  last_seen timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE workers IS 'Workers that ever attached';

CREATE TABLE devices (
  boot_id text NOT NULL,
  name text NOT NULL,
  host_id uuid NOT NULL REFERENCES hosts,
  identity text NOT NULL,
  size_bytes bigint NOT NULL,
  model text NOT NULL,
  scheduler text NOT NULL,
  rotational boolean NOT NULL,
  last_seen timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (boot_id, name)
);
COMMENT ON TABLE devices IS 'Block devices as hosts registered them';

CREATE TABLE runs (
  run_id uuid PRIMARY KEY,
  owner text NOT NULL,
  labels jsonb NOT NULL DEFAULT '{}',
  state text NOT NULL CHECK (
    state IN ('queued', 'running', 'done', 'failed', 'aborted', 'cancelled')
  ),
  outcome text NOT NULL DEFAULT '',
  degraded boolean NOT NULL DEFAULT false,
  seed numeric(20) NOT NULL,
  submitted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  started_at timestamptz,
  ended_at timestamptz,
  summary jsonb,
  ending_state text NOT NULL DEFAULT '',
  ending_reason text NOT NULL DEFAULT '',
  skip_cleanup boolean NOT NULL DEFAULT false,
  job text NOT NULL,
  spec jsonb NOT NULL,
  source text NOT NULL,
  figures_version integer NOT NULL DEFAULT 0,
  samples_pruned_at timestamptz,
  report bytea,
  confirm text,
  saved_report bytea
);
ALTER TABLE runs ALTER COLUMN report SET COMPRESSION lz4;
ALTER TABLE runs ALTER COLUMN saved_report SET COMPRESSION lz4;
CREATE INDEX runs_by_state ON runs (state) WHERE state IN ('queued', 'running');
CREATE INDEX runs_by_time ON runs (submitted_at, run_id);
CREATE INDEX runs_by_job ON runs (job, submitted_at);
CREATE INDEX runs_by_label ON runs USING gin (labels jsonb_path_ops);
CREATE INDEX runs_without_figures ON runs (figures_version) WHERE state NOT IN (
  'queued', 'running'
);
COMMENT ON TABLE runs IS 'Runs and their jobs';

CREATE TABLE run_workers (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  worker_index integer NOT NULL,
  worker_id uuid NOT NULL,
  host_id uuid NOT NULL,
  host text NOT NULL,
  boot_id text NOT NULL,
  inspection jsonb NOT NULL DEFAULT '{}',
  hello jsonb NOT NULL DEFAULT '{}',
  lost text,
  quarantine_ns bigint,
  PRIMARY KEY (run_id, worker_index)
);
CREATE INDEX run_workers_held ON run_workers (worker_id) WHERE quarantine_ns IS NOT null;
CREATE INDEX run_workers_by_host ON run_workers (host, run_id);
COMMENT ON TABLE run_workers IS 'Who took part in a run';

CREATE TABLE environment_facts (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  worker_index integer NOT NULL,
  name text NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (run_id, worker_index, name)
);
COMMENT ON TABLE environment_facts IS 'Facts about the hosts of a run';

CREATE TABLE phases (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  attempt integer NOT NULL,
  name text NOT NULL,
  kind text NOT NULL,
  state text NOT NULL,
  reason text NOT NULL DEFAULT '',
  go_at timestamptz,
  go_ns bigint,
  interval_ns bigint NOT NULL,
  ramp_ns bigint NOT NULL,
  ended_at timestamptz,
  spec jsonb,
  job_phase integer NOT NULL DEFAULT 0,
  step integer NOT NULL DEFAULT 0,
  figures jsonb NOT NULL DEFAULT '{}',
  end_of_load integer,
  point jsonb NOT NULL DEFAULT '{}',
  PRIMARY KEY (run_id, phase, attempt)
);
COMMENT ON TABLE phases IS 'Attempts of phases';

CREATE TABLE workloads (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  workload integer NOT NULL,
  name text NOT NULL,
  spec jsonb NOT NULL,
  PRIMARY KEY (run_id, phase, workload)
);
COMMENT ON TABLE workloads IS 'Workloads of phases';

CREATE TABLE events (
  run_id uuid REFERENCES runs ON DELETE CASCADE,
  at timestamptz NOT NULL DEFAULT now(),
  severity text NOT NULL CHECK (severity IN ('info', 'warning', 'error')),
  host text NOT NULL DEFAULT '',
  message text NOT NULL,
  stored_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX events_by_run ON events (run_id, stored_at);
COMMENT ON TABLE events IS 'What happened to a run, or to the fleet';

CREATE TABLE cursors (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  attempt integer NOT NULL,
  worker_index integer NOT NULL,
  sequence bigint NOT NULL DEFAULT 0,
  clock_offset_ns bigint NOT NULL,
  clock_bound_ns bigint NOT NULL,
  PRIMARY KEY (run_id, phase, attempt, worker_index)
);
COMMENT ON TABLE cursors IS 'How far each worker''s delivery has been committed';

CREATE TABLE device_samples (
  started_at timestamptz NOT NULL,
  run_id uuid NOT NULL,
  phase smallint NOT NULL,
  attempt smallint NOT NULL,
  worker_index integer NOT NULL,
  interval integer NOT NULL,
  interval_class smallint NOT NULL,
  begin_ns bigint NOT NULL,
  end_ns bigint NOT NULL,
  device text NOT NULL,
  reads bigint NOT NULL,
  read_merges bigint NOT NULL,
  read_bytes bigint NOT NULL,
  read_time_ms bigint NOT NULL,
  writes bigint NOT NULL,
  write_merges bigint NOT NULL,
  write_bytes bigint NOT NULL,
  write_time_ms bigint NOT NULL,
  discards bigint NOT NULL,
  discard_merges bigint NOT NULL,
  discard_bytes bigint NOT NULL,
  discard_time_ms bigint NOT NULL,
  flushes bigint NOT NULL,
  flush_time_ms bigint NOT NULL,
  busy_time_ms bigint NOT NULL,
  queue_time_ms bigint NOT NULL,
  paths integer,
  paths_running integer
) PARTITION BY RANGE (started_at);
CREATE INDEX device_samples_run_id_phase_attempt_idx ON device_samples (run_id, phase, attempt);
COMMENT ON TABLE device_samples IS '/proc/diskstats over an interval; partitioned by month';

CREATE TABLE host_samples (
  started_at timestamptz NOT NULL,
  run_id uuid NOT NULL,
  phase smallint NOT NULL,
  attempt smallint NOT NULL,
  worker_index integer NOT NULL,
  interval integer NOT NULL,
  interval_class smallint NOT NULL,
  begin_ns bigint NOT NULL,
  end_ns bigint NOT NULL,
  context_switches bigint NOT NULL,
  interrupts bigint NOT NULL,
  run_queue integer NOT NULL,
  blocked integer NOT NULL,
  user_ratio real NOT NULL,
  system_ratio real NOT NULL,
  idle_ratio real NOT NULL,
  iowait_ratio real NOT NULL,
  steal_ratio real NOT NULL,
  swap_in_pages bigint NOT NULL,
  swap_out_pages bigint NOT NULL,
  free_bytes bigint NOT NULL,
  cached_bytes bigint NOT NULL,
  dirty_bytes bigint NOT NULL,
  cpu_busy_ns bigint NOT NULL
) PARTITION BY RANGE (started_at);
CREATE INDEX host_samples_run_id_phase_attempt_idx ON host_samples (run_id, phase, attempt);
COMMENT ON TABLE host_samples IS 'vmstat over an interval; partitioned by month';

CREATE TABLE worker_results (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  attempt integer NOT NULL,
  worker_index integer NOT NULL,
  error text NOT NULL,
  result jsonb NOT NULL,
  PRIMARY KEY (run_id, phase, attempt, worker_index)
);
COMMENT ON TABLE worker_results IS
'Each worker''s result of a phase, without histograms and threads';

CREATE TABLE thread_results (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  attempt integer NOT NULL,
  worker_index integer NOT NULL,
  workload integer NOT NULL,
  thread integer NOT NULL,
  operations bigint NOT NULL,
  bytes bigint NOT NULL,
  errors bigint NOT NULL,
  execution_time_ns bigint NOT NULL,
  wait_time_ns bigint NOT NULL,
  fsync_time_ns bigint NOT NULL,
  rate_time_ns bigint NOT NULL,
  cpu_time_ns bigint NOT NULL,
  voluntary_context_switches bigint NOT NULL,
  involuntary_context_switches bigint NOT NULL,
  think_time_ns bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (run_id, phase, attempt, worker_index, workload, thread)
);
COMMENT ON TABLE thread_results IS 'What each thread did';

CREATE TABLE latency_rollups (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  attempt integer NOT NULL,
  workload integer NOT NULL,
  kind smallint NOT NULL,
  metric smallint NOT NULL,
  begin_ns bigint NOT NULL,
  operations bigint NOT NULL,
  bytes bigint NOT NULL,
  latencies histogram NOT NULL,
  PRIMARY KEY (run_id, phase, attempt, workload, kind, metric, begin_ns)
);
ALTER TABLE latency_rollups ALTER COLUMN latencies SET COMPRESSION lz4;
COMMENT ON TABLE latency_rollups IS 'Histograms of ten seconds over all workers';

CREATE TABLE controller_lock (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row)
);
COMMENT ON TABLE controller_lock IS 'What the active controller locks';

CREATE TABLE run_targets (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  worker_index integer NOT NULL,
  target integer NOT NULL,
  path text NOT NULL,
  device text NOT NULL,
  identity text NOT NULL,
  filesystem text NOT NULL,
  PRIMARY KEY (run_id, worker_index, target)
);
CREATE INDEX run_targets_by_identity ON run_targets (identity) WHERE identity <> '';
CREATE INDEX run_targets_by_device ON run_targets (device) WHERE device <> '';
COMMENT ON TABLE run_targets IS 'Each worker''s targets, and what lies underneath';

CREATE TABLE interval_operations (
  run_id uuid NOT NULL,
  started_at timestamptz NOT NULL,
  operations bigint NOT NULL,
  bytes bigint NOT NULL,
  latency_sum_ns bigint NOT NULL,
  interval integer NOT NULL,
  worker_index integer NOT NULL,
  phase smallint NOT NULL,
  attempt smallint NOT NULL,
  workload smallint NOT NULL,
  interval_class smallint NOT NULL,
  kind smallint NOT NULL,
  errors bigint,
  short_transfers bigint,
  begin_ns bigint,
  end_ns bigint,
  service_time bytea,
  response_time bytea,
  submission_latency bytea
) PARTITION BY RANGE (started_at);
ALTER TABLE interval_operations ALTER COLUMN service_time SET COMPRESSION lz4;
ALTER TABLE interval_operations ALTER COLUMN response_time SET COMPRESSION lz4;
ALTER TABLE interval_operations ALTER COLUMN submission_latency SET COMPRESSION lz4;
CREATE INDEX interval_operations_run_id_phase_attempt_idx ON interval_operations (
  run_id, phase, attempt
);
COMMENT ON TABLE interval_operations IS
'What a worker did in an interval, by workload and kind; partitioned by month';

CREATE TABLE phase_operations (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  attempt integer NOT NULL,
  worker_index integer NOT NULL,
  workload integer NOT NULL,
  interval_class smallint NOT NULL,
  kind smallint NOT NULL,
  operations bigint NOT NULL,
  bytes bigint NOT NULL,
  errors bigint NOT NULL,
  short_transfers bigint NOT NULL,
  latency_sum_ns numeric(20) NOT NULL,
  latency_min_ns bigint NOT NULL,
  latency_max_ns bigint NOT NULL,
  service_time histogram,
  response_time histogram,
  submission_latency histogram,
  PRIMARY KEY (run_id, phase, attempt, worker_index, workload, interval_class, kind)
);
ALTER TABLE phase_operations ALTER COLUMN service_time SET COMPRESSION lz4;
ALTER TABLE phase_operations ALTER COLUMN response_time SET COMPRESSION lz4;
ALTER TABLE phase_operations ALTER COLUMN submission_latency SET COMPRESSION lz4;
COMMENT ON TABLE phase_operations IS 'What a worker did in a phase, by workload, class and kind';

CREATE TABLE phase_figures (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  worker_index integer,
  host text,
  workload text NOT NULL,
  kind text NOT NULL,
  metric text NOT NULL,
  is_reported boolean NOT NULL,
  operations bigint NOT NULL,
  bytes bigint NOT NULL,
  errors bigint NOT NULL,
  iops double precision NOT NULL,
  bytes_per_second double precision NOT NULL,
  min_ns double precision,
  mean_ns double precision,
  max_ns double precision,
  p50_ns double precision,
  p90_ns double precision,
  p95_ns double precision,
  p99_ns double precision,
  p999_ns double precision,
  p9999_ns double precision
);
CREATE INDEX phase_figures_by_run ON phase_figures (run_id, phase, worker_index);
COMMENT ON TABLE phase_figures IS
'The report''s figures: of the fleet (worker_index NULL) and of each host, of a workload or of '
'all (empty), of a kind or of all I/Os (total)';

CREATE TABLE phase_verdicts (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  invalid boolean NOT NULL,
  invalid_reason text NOT NULL,
  workers integer NOT NULL,
  workers_lost integer NOT NULL,
  window_begin double precision NOT NULL,
  window_end double precision NOT NULL,
  start_skew_ns double precision NOT NULL,
  start_skew_bound_ns double precision NOT NULL,
  jain_iops double precision,
  max_over_min_iops double precision,
  limited_by text NOT NULL,
  remarks text[] NOT NULL,
  p99_spread_median double precision,
  p99_spread_worst double precision,
  PRIMARY KEY (run_id, phase)
);
COMMENT ON TABLE phase_verdicts IS 'The report''s verdicts on a phase';

CREATE TABLE findings (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  finding integer NOT NULL,
  kind text NOT NULL,
  hosts text[] NOT NULL,
  device text NOT NULL,
  begin_seconds double precision,
  end_seconds double precision,
  seconds double precision,
  share double precision,
  cause text NOT NULL,
  sentence text NOT NULL,
  PRIMARY KEY (run_id, phase, finding)
);
CREATE INDEX findings_by_kind ON findings (kind, run_id);
COMMENT ON TABLE findings IS 'The report''s findings, in its order';

CREATE TABLE block_writes (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  attempt integer NOT NULL,
  worker_index integer NOT NULL,
  sequence bigint NOT NULL,
  target_key bigint NOT NULL,
  block_size_bytes integer NOT NULL,
  runs bytea NOT NULL,
  written_from timestamptz,
  written_until timestamptz,
  PRIMARY KEY (run_id, phase, attempt, worker_index, sequence)
);
COMMENT ON TABLE block_writes IS
'What verifying workers said of blocks that they wrote, for those who read them';

CREATE TABLE fleet_intervals (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  attempt integer NOT NULL,
  interval integer NOT NULL,
  intervals integer NOT NULL,
  interval_class smallint NOT NULL,
  begin_ns bigint NOT NULL,
  end_ns bigint NOT NULL,
  hosts integer NOT NULL,
  operations bigint NOT NULL,
  bytes bigint NOT NULL,
  errors bigint NOT NULL,
  latency_sum_ns numeric(20) NOT NULL,
  latency_max_ns bigint NOT NULL,
  p50_ns double precision,
  p90_ns double precision,
  p99_ns double precision,
  p999_ns double precision,
  latencies bytea NOT NULL,
  host_iops real[] NOT NULL,
  jain double precision NOT NULL,
  device_seconds double precision NOT NULL,
  device_requests double precision NOT NULL,
  device_bytes double precision NOT NULL,
  device_time_ms double precision NOT NULL,
  device_queue_time_ms double precision NOT NULL,
  device_busy_ms double precision NOT NULL,
  PRIMARY KEY (run_id, phase, attempt, "interval")
);
ALTER TABLE fleet_intervals ALTER COLUMN latencies SET COMPRESSION lz4;
COMMENT ON TABLE fleet_intervals IS
'Each interval of a phase over all its workers, merged once; of long phases some in a row';

CREATE TABLE fleet_interval_kinds (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  attempt integer NOT NULL,
  interval integer NOT NULL,
  kind smallint NOT NULL,
  operations bigint NOT NULL,
  bytes bigint NOT NULL,
  errors bigint NOT NULL,
  PRIMARY KEY (run_id, phase, attempt, "interval", kind)
);
COMMENT ON TABLE fleet_interval_kinds IS 'The same by kind of operation';

CREATE TABLE host_spans (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  attempt integer NOT NULL,
  interval_class smallint[] NOT NULL,
  begin_ns bigint[] NOT NULL,
  end_ns bigint[] NOT NULL,
  PRIMARY KEY (run_id, phase, attempt)
);
COMMENT ON TABLE host_spans IS 'The spans of time that host_lines have a value for';

CREATE TABLE host_lines (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  attempt integer NOT NULL,
  worker_index integer NOT NULL,
  iops real[] NOT NULL,
  p99_ns real[] NOT NULL,
  PRIMARY KEY (run_id, phase, attempt, worker_index)
);
COMMENT ON TABLE host_lines IS 'What each worker did over time, one value for each of host_spans';

CREATE TABLE store_secret (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  secret text NOT NULL CHECK (secret ~ '^[0-9a-f]{64}$')
);
COMMENT ON TABLE store_secret IS
'Endorses workers'' keys and signs plans'' tokens; for controllers alone';

CREATE TABLE audit_log (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL,
  principal text NOT NULL,
  role text NOT NULL,
  peer text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  answer text NOT NULL,
  details text NOT NULL
);
CREATE INDEX audit_log_at ON audit_log (at);
COMMENT ON TABLE audit_log IS
'Who changed what, when, from where, with which answer; appended only, kept for 400 days';

CREATE TABLE host_bindings (
  host text PRIMARY KEY,
  certificate text NOT NULL CHECK (certificate <> ''),
  host_id uuid NOT NULL UNIQUE,
  worker_id uuid NOT NULL UNIQUE,
  since timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE host_bindings IS
'The certificate that a host''s name and ids belong to; for controllers alone';

CREATE TABLE device_stamps (
  number uuid PRIMARY KEY,
  device_key text NOT NULL,
  identity text NOT NULL,
  host text NOT NULL,
  path text NOT NULL,
  enrolled_by text NOT NULL,
  enrolled_at timestamptz NOT NULL,
  ended_by text,
  ended_at timestamptz,
  CHECK ((ended_by IS null) = (ended_at IS null))
);
CREATE INDEX device_stamps_live ON device_stamps (device_key) WHERE ended_at IS null;
COMMENT ON TABLE device_stamps IS 'Devices that were enrolled; ended ones are kept for 400 days';

INSERT INTO controller_epoch (epoch, holder) VALUES (0, '');
