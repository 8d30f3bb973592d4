-- Functions and views: the store's documented interface, version 1 (docs/sql.md).

CREATE FUNCTION interface_version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1';

-- ---------------------------------------------------------------------------------------------------- histograms

-- The midpoint of a bucket of scheme 1 (common/histogram.h), nanoseconds.
CREATE FUNCTION hist_midpoint(bucket integer) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN bucket < 128 THEN bucket::double precision
    WHEN bucket >= 2496 THEN 17592186044416.0
    ELSE ((64 + (bucket & 63))::bigint << ((bucket >> 6) - 1)) + ((1::bigint << ((bucket >> 6) - 1)) - 1) / 2.0
  END
$$;

-- The occupied buckets of an encoded histogram.
CREATE FUNCTION hist_decode(encoded bytea) RETURNS histogram LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  result lockstep.histogram := ROW(1, '{}', '{}');
  token bigint := 0;
  shift integer := 0;
  next_bucket integer := 0;
  byte integer;
BEGIN
  FOR i IN 0 .. length(encoded) - 1 LOOP
    byte := get_byte(encoded, i);
    token := token | ((byte & 127)::bigint << shift);
    IF byte >= 128 THEN
      shift := shift + 7;
      CONTINUE;
    END IF;
    IF token & 1 = 1 THEN
      next_bucket := next_bucket + (token >> 1)::integer;
    ELSE
      result.buckets := result.buckets || next_bucket;
      result.counts := result.counts || (token >> 1);
      next_bucket := next_bucket + 1;
    END IF;
    token := 0;
    shift := 0;
  END LOOP;
  RETURN result;
END $$;

CREATE FUNCTION hist_merge_all(list histogram[]) RETURNS histogram LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ROW(1, coalesce(array_agg(bucket ORDER BY bucket), '{}'), coalesce(array_agg(total ORDER BY bucket), '{}'))::lockstep.histogram
  FROM (SELECT bucket, sum(count)::bigint AS total
        FROM unnest(list) AS h, unnest(h.buckets, h.counts) AS b(bucket, count)
        GROUP BY bucket) merged
$$;

-- Adds histograms up, exactly.
CREATE AGGREGATE hist_merge(histogram) (
  SFUNC = array_append, STYPE = histogram[], INITCOND = '{}', FINALFUNC = hist_merge_all
);

CREATE FUNCTION hist_count(h histogram) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(sum(c), 0)::bigint FROM unnest(h.counts) c
$$;

-- The value at a percentile (0 to 100): the midpoint of the bucket that holds the value of that rank; within 0.8 % of
-- the exact one. NULL for an empty histogram.
CREATE FUNCTION hist_percentile(h histogram, percent double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT lockstep.hist_midpoint(bucket)
  FROM (SELECT bucket, sum(count) OVER (ORDER BY bucket) AS seen, sum(count) OVER () AS total
        FROM unnest(h.buckets, h.counts) AS b(bucket, count)) cumulative
  WHERE seen >= greatest(1, ceil(percent / 100 * total - 1e-9 * percent / 100 * total))
  ORDER BY bucket LIMIT 1
$$;

-- ------------------------------------------------------------------------------------------------------ fairness

CREATE FUNCTION jain_step(state double precision[], x double precision) RETURNS double precision[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN x IS NULL THEN state ELSE ARRAY[state[1] + 1, state[2] + x, state[3] + x * x] END
$$;
CREATE FUNCTION jain_final(state double precision[]) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN state[3] > 0 THEN state[2] * state[2] / (state[1] * state[3]) END
$$;
-- Jain's fairness index, (sum x)^2 / (n * sum x^2): 1 when all are equal, 1/n when one takes all (R. Jain, 1984).
CREATE AGGREGATE jain(double precision) (
  SFUNC = jain_step, STYPE = double precision[], INITCOND = '{0,0,0}', FINALFUNC = jain_final
);

-- --------------------------------------------------------------------------------------------------------- names

CREATE FUNCTION kind_name(kind integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce((ARRAY['read', 'write', 'trim', 'fsync'])[kind], 'kind ' || kind)
$$;

-- The run that was submitted last.
CREATE FUNCTION last_run() RETURNS uuid LANGUAGE sql STABLE AS $$
  SELECT run_id FROM lockstep.runs ORDER BY number DESC LIMIT 1
$$;

-- --------------------------------------------------------------------------------------------------------- views

CREATE VIEW run_overview AS
  SELECT r.number, r.run_id, j.name AS job, r.owner, r.labels, r.state, r.outcome, r.degraded, r.submitted_at, r.started_at, r.ended_at,
         (SELECT count(*) FROM run_workers w WHERE w.run_id = r.run_id) AS hosts
  FROM runs r JOIN jobs j USING (job_id);

-- The last attempt of each phase.
CREATE VIEW phase_overview AS
  SELECT DISTINCT ON (run_id, phase) run_id, phase, attempt, name, kind, state, reason, go_at, ended_at
  FROM phases ORDER BY run_id, phase, attempt DESC;

-- How long each worker's measured intervals lasted, seconds.
CREATE VIEW measured_seconds AS
  SELECT run_id, phase, attempt, worker_index, (max(end_ns) - min(begin_ns)) / 1e9 AS seconds
  FROM interval_counters WHERE interval_class = 2 GROUP BY run_id, phase, attempt, worker_index;

-- Throughput per run, phase, host, workload and kind over the measured time (ramp and drain excluded).
CREATE VIEW host_throughput AS
  SELECT r.run_id, r.phase, p.name AS phase_name, w.host, r.worker_index, l.name AS workload, kind_name(r.kind) AS kind,
         sum(r.operations)::bigint AS operations, sum(r.bytes)::bigint AS bytes, sum(r.errors)::bigint AS errors,
         sum(r.operations)::double precision / nullif(max(m.seconds), 0) AS iops,
         sum(r.bytes)::double precision / nullif(max(m.seconds), 0) / 1048576 AS mib_per_second
  FROM phase_results r
  JOIN phase_overview p USING (run_id, phase, attempt)
  JOIN run_workers w USING (run_id, worker_index)
  JOIN workloads l USING (run_id, phase, workload)
  JOIN measured_seconds m USING (run_id, phase, attempt, worker_index)
  WHERE r.interval_class = 2 AND r.metric = 1
  GROUP BY r.run_id, r.phase, p.name, w.host, r.worker_index, l.name, r.kind;

-- Latency per run, phase, workload and kind, merged over all hosts; milliseconds.
CREATE VIEW phase_latency AS
  SELECT run_id, phase, phase_name, workload, kind, metric, operations,
         hist_percentile(h, 50) / 1e6 AS p50_ms, hist_percentile(h, 95) / 1e6 AS p95_ms,
         hist_percentile(h, 99) / 1e6 AS p99_ms, hist_percentile(h, 99.9) / 1e6 AS p999_ms, max_ms, h AS latencies
  FROM (SELECT r.run_id, r.phase, p.name AS phase_name, l.name AS workload, kind_name(r.kind) AS kind, r.metric,
               sum(r.operations)::bigint AS operations, max(r.latency_max_ns) / 1e6 AS max_ms,
               hist_merge(r.latencies) AS h
        FROM phase_results r
        JOIN phase_overview p USING (run_id, phase, attempt)
        JOIN workloads l USING (run_id, phase, workload)
        WHERE r.interval_class = 2
        GROUP BY r.run_id, r.phase, p.name, l.name, r.kind, r.metric) merged;

-- Throughput of every interval and host.
CREATE VIEW host_timeline AS
  SELECT c.run_id, c.phase, p.name AS phase_name, c.interval, c.interval_class, w.host, c.worker_index, min(c.started_at) AS started_at,
         sum(c.operations)::double precision * 1e9 / nullif(max(c.end_ns - c.begin_ns), 0) AS iops,
         sum(c.bytes)::double precision * 1e9 / nullif(max(c.end_ns - c.begin_ns), 0) / 1048576 AS mib_per_second
  FROM interval_counters c
  JOIN phase_overview p USING (run_id, phase, attempt)
  JOIN run_workers w USING (run_id, worker_index)
  GROUP BY c.run_id, c.phase, p.name, c.interval, c.interval_class, w.host, c.worker_index;

-- Fairness of IOPS over the hosts of each phase.
CREATE VIEW phase_fairness AS
  SELECT run_id, phase, phase_name, count(*) AS hosts, jain(iops) AS jain_iops, max(iops) / nullif(min(iops), 0) AS max_over_min
  FROM (SELECT run_id, phase, phase_name, worker_index, sum(iops) AS iops FROM host_throughput
        GROUP BY run_id, phase, phase_name, worker_index) per_host
  GROUP BY run_id, phase, phase_name;

-- iostat -x over the measured time of a phase.
CREATE VIEW device_statistics AS
  SELECT d.run_id, d.phase, p.name AS phase_name, w.host, d.device,
         sum(d.reads) / s AS reads_per_second, sum(d.read_bytes) / s / 1048576 AS read_mib_per_second,
         sum(d.read_time_ms)::double precision / nullif(sum(d.reads), 0) AS read_await_ms,
         sum(d.writes) / s AS writes_per_second, sum(d.write_bytes) / s / 1048576 AS write_mib_per_second,
         sum(d.write_time_ms)::double precision / nullif(sum(d.writes), 0) AS write_await_ms,
         sum(d.flushes) / s AS flushes_per_second, sum(d.queue_time_ms) / s / 1000 AS queue_size,
         sum(d.busy_time_ms) / s / 1000 AS busy_ratio
  FROM (SELECT *, sum(end_ns - begin_ns) OVER (PARTITION BY run_id, phase, attempt, worker_index, device) / 1e9::double precision AS s
        FROM device_samples WHERE interval_class = 2) d
  JOIN phase_overview p USING (run_id, phase, attempt)
  JOIN run_workers w USING (run_id, worker_index)
  GROUP BY d.run_id, d.phase, p.name, w.host, d.device, s;

-- ---------------------------------------------------------------------------------------------- the reading role

-- Where the controller's own role may not create roles, the administrator makes this one and grants it.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lockstep_reader') THEN
    CREATE ROLE lockstep_reader LOGIN;
  END IF;
  ALTER ROLE lockstep_reader SET default_transaction_read_only = on;
  ALTER ROLE lockstep_reader SET search_path = lockstep;
  ALTER ROLE lockstep_reader SET statement_timeout = '10min';
EXCEPTION WHEN insufficient_privilege THEN
  RAISE NOTICE 'the role lockstep_reader is not set up: %', SQLERRM;
END $$;
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'lockstep_reader') THEN
    GRANT USAGE ON SCHEMA lockstep TO lockstep_reader;
    GRANT SELECT ON ALL TABLES IN SCHEMA lockstep TO lockstep_reader;
    ALTER DEFAULT PRIVILEGES IN SCHEMA lockstep GRANT SELECT ON TABLES TO lockstep_reader;
  END IF;
END $$;
