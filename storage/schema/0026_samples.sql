-- The rest of what vmstat prints; NULL in samples of earlier versions.
ALTER TABLE host_samples
ADD COLUMN swap_used_bytes bigint,
ADD COLUMN buffers_bytes bigint,
ADD COLUMN slab_reclaimable_bytes bigint,
ADD COLUMN writeback_bytes bigint,
ADD COLUMN block_in_bytes bigint,
ADD COLUMN block_out_bytes bigint,
ADD COLUMN page_bytes integer;

-- What is left of the samples of devices and hosts when they are pruned (roll_up_samples()). Sums
-- are double precision: what hosts report must not overflow them.
CREATE TABLE device_rollups (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  attempt integer NOT NULL,
  worker_index integer NOT NULL,
  device text NOT NULL,
  interval integer NOT NULL,
  intervals integer NOT NULL,
  interval_class smallint NOT NULL,
  started_at timestamptz NOT NULL,
  begin_ns bigint NOT NULL,
  end_ns bigint NOT NULL,
  seconds double precision NOT NULL,
  reads double precision NOT NULL,
  read_merges double precision NOT NULL,
  read_bytes double precision NOT NULL,
  read_time_ms double precision NOT NULL,
  writes double precision NOT NULL,
  write_merges double precision NOT NULL,
  write_bytes double precision NOT NULL,
  write_time_ms double precision NOT NULL,
  discards double precision NOT NULL,
  discard_merges double precision NOT NULL,
  discard_bytes double precision NOT NULL,
  discard_time_ms double precision NOT NULL,
  flushes double precision NOT NULL,
  flush_time_ms double precision NOT NULL,
  busy_time_ms double precision NOT NULL,
  queue_time_ms double precision NOT NULL,
  PRIMARY KEY (run_id, phase, attempt, worker_index, device, "interval")
);
COMMENT ON TABLE device_rollups IS
'/proc/diskstats over some intervals in a row, of runs whose samples were pruned';

CREATE TABLE host_rollups (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  attempt integer NOT NULL,
  worker_index integer NOT NULL,
  interval integer NOT NULL,
  intervals integer NOT NULL,
  interval_class smallint NOT NULL,
  started_at timestamptz NOT NULL,
  begin_ns bigint NOT NULL,
  end_ns bigint NOT NULL,
  seconds double precision NOT NULL,
  context_switches double precision NOT NULL,
  interrupts double precision NOT NULL,
  run_queue double precision NOT NULL,
  blocked double precision NOT NULL,
  user_ratio double precision,
  system_ratio double precision,
  idle_ratio double precision,
  iowait_ratio double precision,
  steal_ratio double precision,
  swap_in_bytes double precision,
  swap_out_bytes double precision,
  block_in_bytes double precision,
  block_out_bytes double precision,
  swap_used_bytes double precision,
  free_bytes double precision NOT NULL,
  buffers_bytes double precision,
  cache_bytes double precision,
  dirty_bytes double precision NOT NULL,
  dirty_bytes_max double precision NOT NULL,
  writeback_bytes double precision,
  PRIMARY KEY (run_id, phase, attempt, worker_index, "interval")
);
COMMENT ON TABLE host_rollups IS
'vmstat over some intervals in a row, of runs whose samples were pruned';
