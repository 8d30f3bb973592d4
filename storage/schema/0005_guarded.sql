-- Whose workers are; what the reading role cannot do; partitions without waiting for readers; views that give what their names say.

-- The name in the certificate with which a worker was first seen; empty without TLS. Another one is refused (lockstep forget).
ALTER TABLE workers ADD COLUMN certificate text NOT NULL DEFAULT '';

-- The active controller's session holds a lock on this table (EXCLUSIVE), which needs a right that readers have not.
CREATE TABLE controller_lock (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row));

-- --------------------------------------------------------------------------------------------------- the partitions

-- Makes the sample tables' partitions for the months from `first` to `last`. Idempotent. Neither readers nor writers are waited for, nor
-- do they wait: a partition is made by itself and attached under a lock that only other attachers conflict with.
DROP FUNCTION ensure_partitions(timestamptz);
CREATE FUNCTION ensure_partitions(first timestamptz, last timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  parent text;
  part text;
  month timestamp;
BEGIN
  IF last > first + interval '20 years' THEN
    RAISE EXCEPTION 'partitions from % to % are more than samples can need', first, last;
  END IF;
  FOREACH parent IN ARRAY ARRAY['device_samples', 'host_samples', 'interval_counters', 'interval_histograms'] LOOP
    FOR month IN SELECT generate_series(date_trunc('month', first AT TIME ZONE 'UTC'), date_trunc('month', last AT TIME ZONE 'UTC'), interval '1 month') LOOP
      part := parent || to_char(month, '_YYYY_MM');
      CONTINUE WHEN EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass(format('lockstep.%I', part)));
      EXECUTE format('LOCK TABLE ONLY lockstep.%I IN SHARE UPDATE EXCLUSIVE MODE', parent);
      CONTINUE WHEN EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass(format('lockstep.%I', part)));
      EXECUTE format('CREATE TABLE IF NOT EXISTS lockstep.%I (LIKE lockstep.%I INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING COMPRESSION)', part, parent);
      EXECUTE format('ALTER TABLE lockstep.%I ATTACH PARTITION lockstep.%I FOR VALUES FROM (%L) TO (%L)', parent, part,
                     month::text || '+00', (month + interval '1 month')::text || '+00');
    END LOOP;
  END LOOP;
END $$;

-- -------------------------------------------------------------------------------------------------------- the views

DROP VIEW phase_fairness;
DROP VIEW host_throughput;
DROP VIEW host_timeline;
DROP VIEW phase_latency;

CREATE OR REPLACE FUNCTION interface_version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 2';

CREATE FUNCTION metric_name(metric integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce((ARRAY['service time', 'response time', 'submission latency'])[metric], 'metric ' || metric)
$$;

CREATE FUNCTION class_name(class integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce((ARRAY['ramp', 'measured', 'drain'])[class], 'class ' || class)
$$;

-- What every host did in the measured time, by kind of operation; syncs too (is_io is false: they are no I/Os).
CREATE VIEW host_operations AS
  SELECT r.run_id, r.phase, p.name AS phase_name, w.host, r.worker_index, l.name AS workload, kind_name(r.kind) AS kind, r.kind <> 4 AS is_io,
         sum(r.operations)::bigint AS operations, sum(r.bytes)::bigint AS bytes, sum(r.errors)::bigint AS errors,
         sum(r.operations)::double precision / nullif(max(m.seconds), 0) AS per_second,
         sum(r.bytes)::double precision / nullif(max(m.seconds), 0) / 1048576 AS mib_per_second
  FROM phase_results r
  JOIN phase_overview p USING (run_id, phase, attempt)
  JOIN run_workers w USING (run_id, worker_index)
  JOIN workloads l USING (run_id, phase, workload)
  JOIN measured_seconds m USING (run_id, phase, attempt, worker_index)
  WHERE r.interval_class = 2 AND r.metric = 1
  GROUP BY r.run_id, r.phase, p.name, w.host, r.worker_index, l.name, r.kind;

-- Throughput per run, phase, host, workload and kind of I/O over the measured time (ramp, drain and syncs left out).
CREATE VIEW host_throughput AS
  SELECT run_id, phase, phase_name, host, worker_index, workload, kind, operations, bytes, errors, per_second AS iops, mib_per_second
  FROM host_operations WHERE is_io;

-- Every latency of the measured time, merged over all hosts; milliseconds. is_io is false for syncs; is_reported is true for the metric
-- that the report gives: response time where the workload is an open loop, else service time.
CREATE VIEW phase_latency_all AS
  SELECT run_id, phase, phase_name, workload, kind, is_io, metric_name(metric) AS metric,
         metric = max(metric) FILTER (WHERE metric < 3) OVER (PARTITION BY run_id, phase, workload, kind) AS is_reported, operations,
         hist_percentile(h, 50) / 1e6 AS p50_ms, hist_percentile(h, 95) / 1e6 AS p95_ms,
         hist_percentile(h, 99) / 1e6 AS p99_ms, hist_percentile(h, 99.9) / 1e6 AS p999_ms, max_ms, h AS latencies
  FROM (SELECT r.run_id, r.phase, p.name AS phase_name, l.name AS workload, kind_name(r.kind) AS kind, r.kind <> 4 AS is_io, r.metric::integer AS metric,
               sum(r.operations)::bigint AS operations, max(r.latency_max_ns) / 1e6 AS max_ms,
               hist_merge(r.latencies) AS h
        FROM phase_results r
        JOIN phase_overview p USING (run_id, phase, attempt)
        JOIN workloads l USING (run_id, phase, workload)
        WHERE r.interval_class = 2
        GROUP BY r.run_id, r.phase, p.name, l.name, r.kind, r.metric) merged;

-- Latency per run, phase, workload and kind of I/O, as the report gives it.
CREATE VIEW phase_latency AS
  SELECT run_id, phase, phase_name, workload, kind, metric, operations, p50_ms, p95_ms, p99_ms, p999_ms, max_ms, latencies
  FROM phase_latency_all WHERE is_io AND is_reported;

-- Throughput of every interval and host, ramp and drain included: `class` says which it is. A drain interval is as long as the last I/O
-- took, so that its rate means little.
CREATE VIEW host_timeline_all AS
  SELECT c.run_id, c.phase, p.name AS phase_name, c.interval, class_name(c.interval_class) AS class, w.host, c.worker_index, min(c.started_at) AS started_at,
         max(c.end_ns - c.begin_ns) / 1e9 AS seconds,
         coalesce(sum(c.operations) FILTER (WHERE c.kind <> 4), 0)::double precision * 1e9 / nullif(max(c.end_ns - c.begin_ns), 0) AS iops,
         sum(c.bytes)::double precision * 1e9 / nullif(max(c.end_ns - c.begin_ns), 0) / 1048576 AS mib_per_second
  FROM interval_counters c
  JOIN phase_overview p USING (run_id, phase, attempt)
  JOIN run_workers w USING (run_id, worker_index)
  GROUP BY c.run_id, c.phase, p.name, c.interval, c.interval_class, w.host, c.worker_index;

-- Throughput of every measured interval and host.
CREATE VIEW host_timeline AS
  SELECT run_id, phase, phase_name, interval, host, worker_index, started_at, iops, mib_per_second FROM host_timeline_all WHERE class = 'measured';

-- Encoded latencies of every measured interval, of I/Os, in the report's metric.
CREATE VIEW interval_latency AS
  SELECT h.run_id, h.phase, p.name AS phase_name, h.interval, w.host, h.worker_index, l.name AS workload, kind_name(h.kind) AS kind, hist_decode(h.buckets) AS latencies
  FROM interval_histograms h
  JOIN phase_overview p USING (run_id, phase, attempt)
  JOIN run_workers w USING (run_id, worker_index)
  JOIN workloads l USING (run_id, phase, workload)
  WHERE h.interval_class = 2 AND h.kind <> 4 AND h.metric = CASE WHEN l.spec ? 'openLoop' THEN 2 ELSE 1 END;

-- Latencies of ten measured seconds of the whole fleet, of I/Os, in the report's metric.
CREATE VIEW rollup_latency AS
  SELECT u.run_id, u.phase, p.name AS phase_name, u.begin_ns / 1e9 AS begin_seconds, l.name AS workload, kind_name(u.kind) AS kind, u.operations, u.bytes, u.latencies
  FROM latency_rollups u
  JOIN phase_overview p USING (run_id, phase, attempt)
  JOIN workloads l USING (run_id, phase, workload)
  WHERE u.kind <> 4 AND u.metric = CASE WHEN l.spec ? 'openLoop' THEN 2 ELSE 1 END;

-- Fairness of IOPS over the hosts of each phase.
CREATE VIEW phase_fairness AS
  SELECT run_id, phase, phase_name, count(*) AS hosts, jain(iops) AS jain_iops, max(iops) / nullif(min(iops), 0) AS max_over_min
  FROM (SELECT run_id, phase, phase_name, worker_index, sum(iops) AS iops FROM host_throughput
        GROUP BY run_id, phase, phase_name, worker_index) per_host
  GROUP BY run_id, phase, phase_name;

-- ---------------------------------------------------------------------------------------------- the reading role

-- What the reading role begins with, put back where it changed it for itself (a role may), and sessions of its that have worked for too
-- long ended. The active controller calls this again and again.
CREATE FUNCTION guard_reader(limit_seconds integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  wanted CONSTANT text[] := ARRAY['default_transaction_read_only=on', 'search_path=lockstep', 'statement_timeout=10min', 'idle_in_transaction_session_timeout=1min'];
  reader oid := (SELECT oid FROM pg_roles WHERE rolname = 'lockstep_reader');
  setting record;
BEGIN
  IF reader IS NULL THEN RETURN; END IF;
  IF (SELECT array_agg(c ORDER BY c) FROM pg_db_role_setting s, unnest(s.setconfig) c WHERE s.setrole = reader AND s.setdatabase = 0) IS DISTINCT FROM (SELECT array_agg(c ORDER BY c) FROM unnest(wanted) c)
     OR EXISTS (SELECT FROM pg_db_role_setting s WHERE s.setrole = reader AND s.setdatabase <> 0) THEN
    FOR setting IN SELECT d.datname FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase WHERE s.setrole = reader LOOP
      EXECUTE format('ALTER ROLE lockstep_reader IN DATABASE %I RESET ALL', setting.datname);
    END LOOP;
    ALTER ROLE lockstep_reader RESET ALL;
    ALTER ROLE lockstep_reader SET default_transaction_read_only = on;
    ALTER ROLE lockstep_reader SET search_path = lockstep;
    ALTER ROLE lockstep_reader SET statement_timeout = '10min';
    ALTER ROLE lockstep_reader SET idle_in_transaction_session_timeout = '1min';
  END IF;
  PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE usesysid = reader AND state <> 'idle' AND xact_start < clock_timestamp() - make_interval(secs => limit_seconds);
EXCEPTION WHEN insufficient_privilege THEN
  RAISE NOTICE 'the role lockstep_reader is not guarded: %', SQLERRM;
END $$;
REVOKE EXECUTE ON FUNCTION guard_reader(integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION ensure_partitions(timestamptz, timestamptz) FROM PUBLIC;

-- Nobody but the owner makes temporary tables or large objects here, or fills the lock table with advisory locks. Where the owner may not
-- forbid it, an administrator does (docs/operations.md). In a cluster of Lockstep's own nobody but the owner enters another database, either.
DO $$
DECLARE
  maker regprocedure;
  other name;
BEGIN
  IF current_setting('lockstep.embedded', true) = 'on' THEN
    FOR other IN SELECT datname FROM pg_database WHERE datname <> current_database() LOOP
      EXECUTE format('REVOKE CONNECT, TEMPORARY ON DATABASE %I FROM PUBLIC', other);
    END LOOP;
  END IF;
  EXECUTE format('REVOKE TEMPORARY, CREATE ON DATABASE %I FROM PUBLIC', current_database());
  FOR maker IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace
               AND proname IN ('lo_creat', 'lo_create', 'lo_import', 'lo_export', 'lo_from_bytea', 'lo_put', 'lowrite', 'lo_open', 'lo_truncate', 'lo_truncate64', 'lo_unlink')
                    OR pronamespace = 'pg_catalog'::regnamespace AND proname LIKE 'pg%advisory%' LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', maker);
  END LOOP;
EXCEPTION WHEN insufficient_privilege THEN
  RAISE NOTICE 'temporary tables and large objects are not forbidden to the reading role: %', SQLERRM;
END $$;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'lockstep_reader') THEN
    GRANT SELECT ON ALL TABLES IN SCHEMA lockstep TO lockstep_reader;
    REVOKE ALL ON controller_lock FROM lockstep_reader;
    BEGIN
      ALTER ROLE lockstep_reader CONNECTION LIMIT 20;
    EXCEPTION WHEN insufficient_privilege THEN NULL;
    END;
  END IF;
END $$;
SELECT guard_reader(600);
