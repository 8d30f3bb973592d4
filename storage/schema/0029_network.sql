-- The interfaces that carry the traffic of targets, and the NFS mounts of targets. Speeds are NULL
-- where the kernel does not know them.
CREATE TABLE interface_samples (
  started_at timestamptz NOT NULL,
  run_id uuid NOT NULL,
  phase smallint NOT NULL,
  attempt smallint NOT NULL,
  worker_index integer NOT NULL,
  interval integer NOT NULL,
  interval_class smallint NOT NULL,
  begin_ns bigint NOT NULL,
  end_ns bigint NOT NULL,
  interface text NOT NULL,
  received_bytes bigint NOT NULL,
  received_packets bigint NOT NULL,
  received_drops bigint NOT NULL,
  received_errors bigint NOT NULL,
  sent_bytes bigint NOT NULL,
  sent_packets bigint NOT NULL,
  sent_drops bigint NOT NULL,
  sent_errors bigint NOT NULL,
  receive_speed_bits_per_second bigint,
  send_speed_bits_per_second bigint
) PARTITION BY RANGE (started_at);
CREATE INDEX interface_samples_run_id_phase_attempt_idx
ON interface_samples (run_id, phase, attempt);
COMMENT ON TABLE interface_samples IS
'Network interfaces over an interval; partitioned by month';

CREATE TABLE nfs_samples (
  started_at timestamptz NOT NULL,
  run_id uuid NOT NULL,
  phase smallint NOT NULL,
  attempt smallint NOT NULL,
  worker_index integer NOT NULL,
  interval integer NOT NULL,
  interval_class smallint NOT NULL,
  begin_ns bigint NOT NULL,
  end_ns bigint NOT NULL,
  mount text NOT NULL,
  operation text NOT NULL,
  operations bigint NOT NULL,
  transmissions bigint NOT NULL,
  timeouts bigint NOT NULL,
  sent_bytes bigint NOT NULL,
  received_bytes bigint NOT NULL,
  queue_time_ms bigint NOT NULL,
  round_trip_ms bigint NOT NULL,
  execution_ms bigint NOT NULL
) PARTITION BY RANGE (started_at);
CREATE INDEX nfs_samples_run_id_phase_attempt_idx ON nfs_samples (run_id, phase, attempt);
COMMENT ON TABLE nfs_samples IS
'Operations of NFS mounts over an interval; partitioned by month';

-- What is left of them when they are pruned (roll_up_samples()).
CREATE TABLE interface_rollups (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  attempt integer NOT NULL,
  worker_index integer NOT NULL,
  interface text NOT NULL,
  interval integer NOT NULL,
  intervals integer NOT NULL,
  interval_class smallint NOT NULL,
  started_at timestamptz NOT NULL,
  begin_ns bigint NOT NULL,
  end_ns bigint NOT NULL,
  seconds double precision NOT NULL,
  received_bytes double precision NOT NULL,
  received_packets double precision NOT NULL,
  received_drops double precision NOT NULL,
  received_errors double precision NOT NULL,
  sent_bytes double precision NOT NULL,
  sent_packets double precision NOT NULL,
  sent_drops double precision NOT NULL,
  sent_errors double precision NOT NULL,
  receive_speed_bits_per_second double precision,
  send_speed_bits_per_second double precision,
  PRIMARY KEY (run_id, phase, attempt, worker_index, interface, "interval")
);
COMMENT ON TABLE interface_rollups IS
'Network interfaces over some intervals in a row, of runs whose samples were pruned';

CREATE TABLE nfs_rollups (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  attempt integer NOT NULL,
  worker_index integer NOT NULL,
  mount text NOT NULL,
  operation text NOT NULL,
  interval integer NOT NULL,
  intervals integer NOT NULL,
  interval_class smallint NOT NULL,
  started_at timestamptz NOT NULL,
  begin_ns bigint NOT NULL,
  end_ns bigint NOT NULL,
  seconds double precision NOT NULL,
  operations double precision NOT NULL,
  transmissions double precision NOT NULL,
  timeouts double precision NOT NULL,
  sent_bytes double precision NOT NULL,
  received_bytes double precision NOT NULL,
  queue_time_ms double precision NOT NULL,
  round_trip_ms double precision NOT NULL,
  execution_ms double precision NOT NULL,
  PRIMARY KEY (run_id, phase, attempt, worker_index, mount, operation, "interval")
);
COMMENT ON TABLE nfs_rollups IS
'Operations of NFS mounts over some intervals in a row, of runs whose samples were pruned';
