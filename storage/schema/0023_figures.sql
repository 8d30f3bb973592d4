CREATE TABLE latency_blocks (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  attempt integer NOT NULL,
  block integer NOT NULL,
  intervals integer NOT NULL,
  workload integer NOT NULL,
  kind smallint NOT NULL,
  latencies bytea NOT NULL,
  PRIMARY KEY (run_id, phase, attempt, block, workload, kind)
);
ALTER TABLE latency_blocks ALTER COLUMN latencies SET COMPRESSION lz4;
COMMENT ON TABLE latency_blocks IS
'Histograms over all workers of some measured intervals in a row, of which a phase has up to 128';

CREATE TABLE percentile_figures (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  workload text NOT NULL,
  kind text NOT NULL,
  percent double precision NOT NULL,
  above bigint NOT NULL,
  latency_ns double precision,
  low_ns double precision,
  high_ns double precision
);
CREATE INDEX percentile_figures_by_run ON percentile_figures (run_id, phase);
COMMENT ON TABLE percentile_figures IS
'The report''s percentiles of the fleet, of a workload or of all (empty), with the bounds of their '
'95 % confidence intervals';

CREATE TABLE time_figures (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  context_switches_per_second double precision,
  interrupts_per_second double precision,
  context_switches_per_io double precision,
  cpu_ns_per_io double precision,
  thread_switches_per_io double precision,
  wait_ratio double precision,
  fsync_ratio double precision,
  rate_ratio double precision,
  think_ratio double precision,
  amplification double precision,
  PRIMARY KEY (run_id, phase)
);
COMMENT ON TABLE time_figures IS 'Where the time of a phase''s load went, over all hosts';
