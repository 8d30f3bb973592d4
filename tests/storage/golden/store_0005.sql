-- Ten short runs as a store of schema version 5 holds them: tests/storage/golden_report_test.cc.
--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: lockstep; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA lockstep;


--
-- Name: histogram; Type: TYPE; Schema: lockstep; Owner: -
--

CREATE TYPE lockstep.histogram AS (
	scheme smallint,
	buckets integer[],
	counts bigint[]
);


--
-- Name: class_name(integer); Type: FUNCTION; Schema: lockstep; Owner: -
--

CREATE FUNCTION lockstep.class_name(class integer) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT coalesce((ARRAY['ramp', 'measured', 'drain'])[class], 'class ' || class)
$$;


--
-- Name: ensure_partitions(timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: lockstep; Owner: -
--

CREATE FUNCTION lockstep.ensure_partitions(first timestamp with time zone, last timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
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


--
-- Name: guard_reader(integer); Type: FUNCTION; Schema: lockstep; Owner: -
--

CREATE FUNCTION lockstep.guard_reader(limit_seconds integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
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


--
-- Name: hist_count(lockstep.histogram); Type: FUNCTION; Schema: lockstep; Owner: -
--

CREATE FUNCTION lockstep.hist_count(h lockstep.histogram) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT coalesce(sum(c), 0)::bigint FROM unnest(h.counts) c
$$;


--
-- Name: hist_decode(bytea); Type: FUNCTION; Schema: lockstep; Owner: -
--

CREATE FUNCTION lockstep.hist_decode(encoded bytea) RETURNS lockstep.histogram
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
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


--
-- Name: hist_merge_all(lockstep.histogram[]); Type: FUNCTION; Schema: lockstep; Owner: -
--

CREATE FUNCTION lockstep.hist_merge_all(list lockstep.histogram[]) RETURNS lockstep.histogram
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT ROW(1, coalesce(array_agg(bucket ORDER BY bucket), '{}'), coalesce(array_agg(total ORDER BY bucket), '{}'))::lockstep.histogram
  FROM (SELECT bucket, sum(count)::bigint AS total
        FROM unnest(list) AS h, unnest(h.buckets, h.counts) AS b(bucket, count)
        GROUP BY bucket) merged
$$;


--
-- Name: hist_midpoint(integer); Type: FUNCTION; Schema: lockstep; Owner: -
--

CREATE FUNCTION lockstep.hist_midpoint(bucket integer) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT CASE
    WHEN bucket < 128 THEN bucket::double precision
    WHEN bucket >= 2496 THEN 17592186044416.0
    ELSE ((64 + (bucket & 63))::bigint << ((bucket >> 6) - 1)) + ((1::bigint << ((bucket >> 6) - 1)) - 1) / 2.0
  END
$$;


--
-- Name: hist_percentile(lockstep.histogram, double precision); Type: FUNCTION; Schema: lockstep; Owner: -
--

CREATE FUNCTION lockstep.hist_percentile(h lockstep.histogram, percent double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT lockstep.hist_midpoint(bucket)
  FROM (SELECT bucket, sum(count) OVER (ORDER BY bucket) AS seen, sum(count) OVER () AS total
        FROM unnest(h.buckets, h.counts) AS b(bucket, count)) cumulative
  WHERE seen >= greatest(1, ceil(percent / 100 * total - 1e-9 * percent / 100 * total))
  ORDER BY bucket LIMIT 1
$$;


--
-- Name: interface_version(); Type: FUNCTION; Schema: lockstep; Owner: -
--

CREATE FUNCTION lockstep.interface_version() RETURNS integer
    LANGUAGE sql IMMUTABLE
    AS $$SELECT 2$$;


--
-- Name: jain_final(double precision[]); Type: FUNCTION; Schema: lockstep; Owner: -
--

CREATE FUNCTION lockstep.jain_final(state double precision[]) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT CASE WHEN state[3] > 0 THEN state[2] * state[2] / (state[1] * state[3]) END
$$;


--
-- Name: jain_step(double precision[], double precision); Type: FUNCTION; Schema: lockstep; Owner: -
--

CREATE FUNCTION lockstep.jain_step(state double precision[], x double precision) RETURNS double precision[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT CASE WHEN x IS NULL THEN state ELSE ARRAY[state[1] + 1, state[2] + x, state[3] + x * x] END
$$;


--
-- Name: kind_name(integer); Type: FUNCTION; Schema: lockstep; Owner: -
--

CREATE FUNCTION lockstep.kind_name(kind integer) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT coalesce((ARRAY['read', 'write', 'trim', 'fsync'])[kind], 'kind ' || kind)
$$;


--
-- Name: last_run(); Type: FUNCTION; Schema: lockstep; Owner: -
--

CREATE FUNCTION lockstep.last_run() RETURNS uuid
    LANGUAGE sql STABLE
    AS $$
  SELECT run_id FROM lockstep.runs ORDER BY number DESC LIMIT 1
$$;


--
-- Name: metric_name(integer); Type: FUNCTION; Schema: lockstep; Owner: -
--

CREATE FUNCTION lockstep.metric_name(metric integer) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT coalesce((ARRAY['service time', 'response time', 'submission latency'])[metric], 'metric ' || metric)
$$;


--
-- Name: hist_merge(lockstep.histogram); Type: AGGREGATE; Schema: lockstep; Owner: -
--

CREATE AGGREGATE lockstep.hist_merge(lockstep.histogram) (
    SFUNC = array_append,
    STYPE = lockstep.histogram[],
    INITCOND = '{}',
    FINALFUNC = lockstep.hist_merge_all
);


--
-- Name: jain(double precision); Type: AGGREGATE; Schema: lockstep; Owner: -
--

CREATE AGGREGATE lockstep.jain(double precision) (
    SFUNC = lockstep.jain_step,
    STYPE = double precision[],
    INITCOND = '{0,0,0}',
    FINALFUNC = lockstep.jain_final
);


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: controller_epoch; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.controller_epoch (
    only_row boolean DEFAULT true NOT NULL,
    epoch bigint NOT NULL,
    holder text NOT NULL,
    store_id uuid DEFAULT gen_random_uuid() NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT controller_epoch_only_row_check CHECK (only_row)
);


--
-- Name: controller_lock; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.controller_lock (
    only_row boolean DEFAULT true NOT NULL,
    CONSTRAINT controller_lock_only_row_check CHECK (only_row)
);


--
-- Name: cursors; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.cursors (
    run_id uuid NOT NULL,
    phase integer NOT NULL,
    attempt integer NOT NULL,
    worker_index integer NOT NULL,
    sequence bigint DEFAULT 0 NOT NULL,
    clock_offset_ns bigint NOT NULL,
    clock_bound_ns bigint NOT NULL
);


--
-- Name: device_samples; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.device_samples (
    started_at timestamp with time zone NOT NULL,
    run_id uuid NOT NULL,
    phase smallint NOT NULL,
    attempt smallint NOT NULL,
    worker_index integer NOT NULL,
    "interval" integer NOT NULL,
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
    queue_time_ms bigint NOT NULL
)
PARTITION BY RANGE (started_at);


--
-- Name: device_samples_2026_11; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.device_samples_2026_11 (
    started_at timestamp with time zone NOT NULL,
    run_id uuid NOT NULL,
    phase smallint NOT NULL,
    attempt smallint NOT NULL,
    worker_index integer NOT NULL,
    "interval" integer NOT NULL,
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
    queue_time_ms bigint NOT NULL
);


--
-- Name: device_samples_2026_12; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.device_samples_2026_12 (
    started_at timestamp with time zone NOT NULL,
    run_id uuid NOT NULL,
    phase smallint NOT NULL,
    attempt smallint NOT NULL,
    worker_index integer NOT NULL,
    "interval" integer NOT NULL,
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
    queue_time_ms bigint NOT NULL
);


--
-- Name: phases; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.phases (
    run_id uuid NOT NULL,
    phase integer NOT NULL,
    attempt integer NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    go_at timestamp with time zone,
    go_ns bigint,
    interval_ns bigint NOT NULL,
    ramp_ns bigint NOT NULL,
    ended_at timestamp with time zone,
    measured_iops double precision DEFAULT 0 NOT NULL
);


--
-- Name: phase_overview; Type: VIEW; Schema: lockstep; Owner: -
--

CREATE VIEW lockstep.phase_overview AS
 SELECT DISTINCT ON (phases.run_id, phases.phase) phases.run_id,
    phases.phase,
    phases.attempt,
    phases.name,
    phases.kind,
    phases.state,
    phases.reason,
    phases.go_at,
    phases.ended_at
   FROM lockstep.phases
  ORDER BY phases.run_id, phases.phase, phases.attempt DESC;


--
-- Name: run_workers; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.run_workers (
    run_id uuid NOT NULL,
    worker_index integer NOT NULL,
    worker_id uuid NOT NULL,
    host_id uuid NOT NULL,
    host text NOT NULL,
    boot_id text NOT NULL,
    inspection jsonb DEFAULT '{}'::jsonb NOT NULL,
    hello jsonb DEFAULT '{}'::jsonb NOT NULL,
    lost text,
    hold_ns bigint
);


--
-- Name: device_statistics; Type: VIEW; Schema: lockstep; Owner: -
--

CREATE VIEW lockstep.device_statistics AS
 SELECT d.run_id,
    d.phase,
    p.name AS phase_name,
    w.host,
    d.device,
    ((sum(d.reads))::double precision / d.s) AS reads_per_second,
    (((sum(d.read_bytes))::double precision / d.s) / (1048576)::double precision) AS read_mib_per_second,
    ((sum(d.read_time_ms))::double precision / (NULLIF(sum(d.reads), (0)::numeric))::double precision) AS read_await_ms,
    ((sum(d.writes))::double precision / d.s) AS writes_per_second,
    (((sum(d.write_bytes))::double precision / d.s) / (1048576)::double precision) AS write_mib_per_second,
    ((sum(d.write_time_ms))::double precision / (NULLIF(sum(d.writes), (0)::numeric))::double precision) AS write_await_ms,
    ((sum(d.flushes))::double precision / d.s) AS flushes_per_second,
    (((sum(d.queue_time_ms))::double precision / d.s) / (1000)::double precision) AS queue_size,
    (((sum(d.busy_time_ms))::double precision / d.s) / (1000)::double precision) AS busy_ratio
   FROM ((( SELECT device_samples.started_at,
            device_samples.run_id,
            device_samples.phase,
            device_samples.attempt,
            device_samples.worker_index,
            device_samples."interval",
            device_samples.interval_class,
            device_samples.begin_ns,
            device_samples.end_ns,
            device_samples.device,
            device_samples.reads,
            device_samples.read_merges,
            device_samples.read_bytes,
            device_samples.read_time_ms,
            device_samples.writes,
            device_samples.write_merges,
            device_samples.write_bytes,
            device_samples.write_time_ms,
            device_samples.discards,
            device_samples.discard_merges,
            device_samples.discard_bytes,
            device_samples.discard_time_ms,
            device_samples.flushes,
            device_samples.flush_time_ms,
            device_samples.busy_time_ms,
            device_samples.queue_time_ms,
            ((sum((device_samples.end_ns - device_samples.begin_ns)) OVER (PARTITION BY device_samples.run_id, device_samples.phase, device_samples.attempt, device_samples.worker_index, device_samples.device))::double precision / ('1000000000'::numeric)::double precision) AS s
           FROM lockstep.device_samples
          WHERE (device_samples.interval_class = 2)) d
     JOIN lockstep.phase_overview p USING (run_id, phase, attempt))
     JOIN lockstep.run_workers w USING (run_id, worker_index))
  GROUP BY d.run_id, d.phase, p.name, w.host, d.device, d.s;


--
-- Name: devices; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.devices (
    boot_id text NOT NULL,
    name text NOT NULL,
    host_id uuid NOT NULL,
    identity text NOT NULL,
    size_bytes bigint NOT NULL,
    model text NOT NULL,
    scheduler text NOT NULL,
    rotational boolean NOT NULL,
    last_seen timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: environment_facts; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.environment_facts (
    run_id uuid NOT NULL,
    worker_index integer NOT NULL,
    name text NOT NULL,
    value text NOT NULL
);


--
-- Name: events; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.events (
    event_id bigint NOT NULL,
    run_id uuid,
    at timestamp with time zone DEFAULT now() NOT NULL,
    severity text NOT NULL,
    host text DEFAULT ''::text NOT NULL,
    message text NOT NULL,
    CONSTRAINT events_severity_check CHECK ((severity = ANY (ARRAY['info'::text, 'warning'::text, 'error'::text])))
);


--
-- Name: events_event_id_seq; Type: SEQUENCE; Schema: lockstep; Owner: -
--

ALTER TABLE lockstep.events ALTER COLUMN event_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME lockstep.events_event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: interval_counters; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.interval_counters (
    started_at timestamp with time zone NOT NULL,
    run_id uuid NOT NULL,
    phase smallint NOT NULL,
    attempt smallint NOT NULL,
    worker_index integer NOT NULL,
    workload smallint NOT NULL,
    "interval" integer NOT NULL,
    interval_class smallint NOT NULL,
    begin_ns bigint NOT NULL,
    end_ns bigint NOT NULL,
    kind smallint NOT NULL,
    operations bigint NOT NULL,
    bytes bigint NOT NULL,
    errors bigint NOT NULL,
    short_transfers bigint NOT NULL,
    latency_sum_ns numeric(20,0) NOT NULL,
    latency_min_ns bigint NOT NULL,
    latency_max_ns bigint NOT NULL
)
PARTITION BY RANGE (started_at);


--
-- Name: measured_seconds; Type: VIEW; Schema: lockstep; Owner: -
--

CREATE VIEW lockstep.measured_seconds AS
 SELECT interval_counters.run_id,
    interval_counters.phase,
    interval_counters.attempt,
    interval_counters.worker_index,
    (((max(interval_counters.end_ns) - min(interval_counters.begin_ns)))::numeric / '1000000000'::numeric) AS seconds
   FROM lockstep.interval_counters
  WHERE (interval_counters.interval_class = 2)
  GROUP BY interval_counters.run_id, interval_counters.phase, interval_counters.attempt, interval_counters.worker_index;


--
-- Name: phase_results; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.phase_results (
    run_id uuid NOT NULL,
    phase integer NOT NULL,
    attempt integer NOT NULL,
    worker_index integer NOT NULL,
    workload integer NOT NULL,
    interval_class smallint NOT NULL,
    kind smallint NOT NULL,
    metric smallint NOT NULL,
    operations bigint NOT NULL,
    bytes bigint NOT NULL,
    errors bigint NOT NULL,
    short_transfers bigint NOT NULL,
    latency_sum_ns numeric(20,0) NOT NULL,
    latency_min_ns bigint NOT NULL,
    latency_max_ns bigint NOT NULL,
    latencies lockstep.histogram NOT NULL
);


--
-- Name: workloads; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.workloads (
    run_id uuid NOT NULL,
    phase integer NOT NULL,
    workload integer NOT NULL,
    name text NOT NULL,
    spec jsonb NOT NULL
);


--
-- Name: host_operations; Type: VIEW; Schema: lockstep; Owner: -
--

CREATE VIEW lockstep.host_operations AS
 SELECT r.run_id,
    r.phase,
    p.name AS phase_name,
    w.host,
    r.worker_index,
    l.name AS workload,
    lockstep.kind_name((r.kind)::integer) AS kind,
    (r.kind <> 4) AS is_io,
    (sum(r.operations))::bigint AS operations,
    (sum(r.bytes))::bigint AS bytes,
    (sum(r.errors))::bigint AS errors,
    ((sum(r.operations))::double precision / (NULLIF(max(m.seconds), (0)::numeric))::double precision) AS per_second,
    (((sum(r.bytes))::double precision / (NULLIF(max(m.seconds), (0)::numeric))::double precision) / (1048576)::double precision) AS mib_per_second
   FROM ((((lockstep.phase_results r
     JOIN lockstep.phase_overview p USING (run_id, phase, attempt))
     JOIN lockstep.run_workers w USING (run_id, worker_index))
     JOIN lockstep.workloads l USING (run_id, phase, workload))
     JOIN lockstep.measured_seconds m USING (run_id, phase, attempt, worker_index))
  WHERE ((r.interval_class = 2) AND (r.metric = 1))
  GROUP BY r.run_id, r.phase, p.name, w.host, r.worker_index, l.name, r.kind;


--
-- Name: host_samples; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.host_samples (
    started_at timestamp with time zone NOT NULL,
    run_id uuid NOT NULL,
    phase smallint NOT NULL,
    attempt smallint NOT NULL,
    worker_index integer NOT NULL,
    "interval" integer NOT NULL,
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
)
PARTITION BY RANGE (started_at);


--
-- Name: host_samples_2026_11; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.host_samples_2026_11 (
    started_at timestamp with time zone NOT NULL,
    run_id uuid NOT NULL,
    phase smallint NOT NULL,
    attempt smallint NOT NULL,
    worker_index integer NOT NULL,
    "interval" integer NOT NULL,
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
);


--
-- Name: host_samples_2026_12; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.host_samples_2026_12 (
    started_at timestamp with time zone NOT NULL,
    run_id uuid NOT NULL,
    phase smallint NOT NULL,
    attempt smallint NOT NULL,
    worker_index integer NOT NULL,
    "interval" integer NOT NULL,
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
);


--
-- Name: host_throughput; Type: VIEW; Schema: lockstep; Owner: -
--

CREATE VIEW lockstep.host_throughput AS
 SELECT host_operations.run_id,
    host_operations.phase,
    host_operations.phase_name,
    host_operations.host,
    host_operations.worker_index,
    host_operations.workload,
    host_operations.kind,
    host_operations.operations,
    host_operations.bytes,
    host_operations.errors,
    host_operations.per_second AS iops,
    host_operations.mib_per_second
   FROM lockstep.host_operations
  WHERE host_operations.is_io;


--
-- Name: host_timeline_all; Type: VIEW; Schema: lockstep; Owner: -
--

CREATE VIEW lockstep.host_timeline_all AS
 SELECT c.run_id,
    c.phase,
    p.name AS phase_name,
    c."interval",
    lockstep.class_name((c.interval_class)::integer) AS class,
    w.host,
    c.worker_index,
    min(c.started_at) AS started_at,
    ((max((c.end_ns - c.begin_ns)))::numeric / '1000000000'::numeric) AS seconds,
    (((COALESCE(sum(c.operations) FILTER (WHERE (c.kind <> 4)), (0)::numeric))::double precision * ('1000000000'::numeric)::double precision) / (NULLIF(max((c.end_ns - c.begin_ns)), 0))::double precision) AS iops,
    ((((sum(c.bytes))::double precision * ('1000000000'::numeric)::double precision) / (NULLIF(max((c.end_ns - c.begin_ns)), 0))::double precision) / (1048576)::double precision) AS mib_per_second
   FROM ((lockstep.interval_counters c
     JOIN lockstep.phase_overview p USING (run_id, phase, attempt))
     JOIN lockstep.run_workers w USING (run_id, worker_index))
  GROUP BY c.run_id, c.phase, p.name, c."interval", c.interval_class, w.host, c.worker_index;


--
-- Name: host_timeline; Type: VIEW; Schema: lockstep; Owner: -
--

CREATE VIEW lockstep.host_timeline AS
 SELECT host_timeline_all.run_id,
    host_timeline_all.phase,
    host_timeline_all.phase_name,
    host_timeline_all."interval",
    host_timeline_all.host,
    host_timeline_all.worker_index,
    host_timeline_all.started_at,
    host_timeline_all.iops,
    host_timeline_all.mib_per_second
   FROM lockstep.host_timeline_all
  WHERE (host_timeline_all.class = 'measured'::text);


--
-- Name: hosts; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.hosts (
    host_id uuid NOT NULL,
    name text NOT NULL,
    kernel text NOT NULL,
    os text NOT NULL,
    cpu_model text NOT NULL,
    cpus integer NOT NULL,
    memory_bytes bigint NOT NULL,
    first_seen timestamp with time zone DEFAULT now() NOT NULL,
    last_seen timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: interval_counters_2026_11; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.interval_counters_2026_11 (
    started_at timestamp with time zone NOT NULL,
    run_id uuid NOT NULL,
    phase smallint NOT NULL,
    attempt smallint NOT NULL,
    worker_index integer NOT NULL,
    workload smallint NOT NULL,
    "interval" integer NOT NULL,
    interval_class smallint NOT NULL,
    begin_ns bigint NOT NULL,
    end_ns bigint NOT NULL,
    kind smallint NOT NULL,
    operations bigint NOT NULL,
    bytes bigint NOT NULL,
    errors bigint NOT NULL,
    short_transfers bigint NOT NULL,
    latency_sum_ns numeric(20,0) NOT NULL,
    latency_min_ns bigint NOT NULL,
    latency_max_ns bigint NOT NULL
);


--
-- Name: interval_counters_2026_12; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.interval_counters_2026_12 (
    started_at timestamp with time zone NOT NULL,
    run_id uuid NOT NULL,
    phase smallint NOT NULL,
    attempt smallint NOT NULL,
    worker_index integer NOT NULL,
    workload smallint NOT NULL,
    "interval" integer NOT NULL,
    interval_class smallint NOT NULL,
    begin_ns bigint NOT NULL,
    end_ns bigint NOT NULL,
    kind smallint NOT NULL,
    operations bigint NOT NULL,
    bytes bigint NOT NULL,
    errors bigint NOT NULL,
    short_transfers bigint NOT NULL,
    latency_sum_ns numeric(20,0) NOT NULL,
    latency_min_ns bigint NOT NULL,
    latency_max_ns bigint NOT NULL
);


--
-- Name: interval_histograms; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.interval_histograms (
    started_at timestamp with time zone NOT NULL,
    run_id uuid NOT NULL,
    phase smallint NOT NULL,
    attempt smallint NOT NULL,
    worker_index integer NOT NULL,
    workload smallint NOT NULL,
    "interval" integer NOT NULL,
    interval_class smallint NOT NULL,
    kind smallint NOT NULL,
    metric smallint NOT NULL,
    scheme smallint NOT NULL,
    buckets bytea NOT NULL
)
PARTITION BY RANGE (started_at);
ALTER TABLE ONLY lockstep.interval_histograms ALTER COLUMN buckets SET COMPRESSION lz4;


--
-- Name: interval_histograms_2026_11; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.interval_histograms_2026_11 (
    started_at timestamp with time zone NOT NULL,
    run_id uuid NOT NULL,
    phase smallint NOT NULL,
    attempt smallint NOT NULL,
    worker_index integer NOT NULL,
    workload smallint NOT NULL,
    "interval" integer NOT NULL,
    interval_class smallint NOT NULL,
    kind smallint NOT NULL,
    metric smallint NOT NULL,
    scheme smallint NOT NULL,
    buckets bytea NOT NULL
);
ALTER TABLE ONLY lockstep.interval_histograms_2026_11 ALTER COLUMN buckets SET COMPRESSION lz4;


--
-- Name: interval_histograms_2026_12; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.interval_histograms_2026_12 (
    started_at timestamp with time zone NOT NULL,
    run_id uuid NOT NULL,
    phase smallint NOT NULL,
    attempt smallint NOT NULL,
    worker_index integer NOT NULL,
    workload smallint NOT NULL,
    "interval" integer NOT NULL,
    interval_class smallint NOT NULL,
    kind smallint NOT NULL,
    metric smallint NOT NULL,
    scheme smallint NOT NULL,
    buckets bytea NOT NULL
);
ALTER TABLE ONLY lockstep.interval_histograms_2026_12 ALTER COLUMN buckets SET COMPRESSION lz4;


--
-- Name: interval_latency; Type: VIEW; Schema: lockstep; Owner: -
--

CREATE VIEW lockstep.interval_latency AS
 SELECT h.run_id,
    h.phase,
    p.name AS phase_name,
    h."interval",
    w.host,
    h.worker_index,
    l.name AS workload,
    lockstep.kind_name((h.kind)::integer) AS kind,
    lockstep.hist_decode(h.buckets) AS latencies
   FROM (((lockstep.interval_histograms h
     JOIN lockstep.phase_overview p USING (run_id, phase, attempt))
     JOIN lockstep.run_workers w USING (run_id, worker_index))
     JOIN lockstep.workloads l USING (run_id, phase, workload))
  WHERE ((h.interval_class = 2) AND (h.kind <> 4) AND (h.metric =
        CASE
            WHEN (l.spec ? 'openLoop'::text) THEN 2
            ELSE 1
        END));


--
-- Name: jobs; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.jobs (
    job_id uuid NOT NULL,
    name text NOT NULL,
    spec jsonb NOT NULL,
    source text NOT NULL,
    submitted_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: latency_rollups; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.latency_rollups (
    run_id uuid NOT NULL,
    phase integer NOT NULL,
    attempt integer NOT NULL,
    workload integer NOT NULL,
    kind smallint NOT NULL,
    metric smallint NOT NULL,
    begin_ns bigint NOT NULL,
    operations bigint NOT NULL,
    bytes bigint NOT NULL,
    latencies lockstep.histogram NOT NULL
);


--
-- Name: lost_workers; Type: VIEW; Schema: lockstep; Owner: -
--

CREATE VIEW lockstep.lost_workers AS
 SELECT run_workers.run_id,
    run_workers.worker_index,
    run_workers.host,
    run_workers.lost AS reason
   FROM lockstep.run_workers
  WHERE (run_workers.lost IS NOT NULL);


--
-- Name: phase_attempts; Type: VIEW; Schema: lockstep; Owner: -
--

CREATE VIEW lockstep.phase_attempts AS
 SELECT phases.run_id,
    phases.phase,
    phases.attempt,
    phases.name,
    phases.kind,
    phases.state,
    phases.reason,
    phases.go_at,
    phases.ended_at
   FROM lockstep.phases;


--
-- Name: phase_fairness; Type: VIEW; Schema: lockstep; Owner: -
--

CREATE VIEW lockstep.phase_fairness AS
 SELECT per_host.run_id,
    per_host.phase,
    per_host.phase_name,
    count(*) AS hosts,
    lockstep.jain(per_host.iops) AS jain_iops,
    (max(per_host.iops) / NULLIF(min(per_host.iops), (0)::double precision)) AS max_over_min
   FROM ( SELECT host_throughput.run_id,
            host_throughput.phase,
            host_throughput.phase_name,
            host_throughput.worker_index,
            sum(host_throughput.iops) AS iops
           FROM lockstep.host_throughput
          GROUP BY host_throughput.run_id, host_throughput.phase, host_throughput.phase_name, host_throughput.worker_index) per_host
  GROUP BY per_host.run_id, per_host.phase, per_host.phase_name;


--
-- Name: phase_latency_all; Type: VIEW; Schema: lockstep; Owner: -
--

CREATE VIEW lockstep.phase_latency_all AS
 SELECT merged.run_id,
    merged.phase,
    merged.phase_name,
    merged.workload,
    merged.kind,
    merged.is_io,
    lockstep.metric_name(merged.metric) AS metric,
    (merged.metric = max(merged.metric) FILTER (WHERE (merged.metric < 3)) OVER (PARTITION BY merged.run_id, merged.phase, merged.workload, merged.kind)) AS is_reported,
    merged.operations,
    (lockstep.hist_percentile(merged.h, (50)::double precision) / ('1000000'::numeric)::double precision) AS p50_ms,
    (lockstep.hist_percentile(merged.h, (95)::double precision) / ('1000000'::numeric)::double precision) AS p95_ms,
    (lockstep.hist_percentile(merged.h, (99)::double precision) / ('1000000'::numeric)::double precision) AS p99_ms,
    (lockstep.hist_percentile(merged.h, (99.9)::double precision) / ('1000000'::numeric)::double precision) AS p999_ms,
    merged.max_ms,
    merged.h AS latencies
   FROM ( SELECT r.run_id,
            r.phase,
            p.name AS phase_name,
            l.name AS workload,
            lockstep.kind_name((r.kind)::integer) AS kind,
            (r.kind <> 4) AS is_io,
            (r.metric)::integer AS metric,
            (sum(r.operations))::bigint AS operations,
            ((max(r.latency_max_ns))::numeric / '1000000'::numeric) AS max_ms,
            lockstep.hist_merge(r.latencies) AS h
           FROM ((lockstep.phase_results r
             JOIN lockstep.phase_overview p USING (run_id, phase, attempt))
             JOIN lockstep.workloads l USING (run_id, phase, workload))
          WHERE (r.interval_class = 2)
          GROUP BY r.run_id, r.phase, p.name, l.name, r.kind, r.metric) merged;


--
-- Name: phase_latency; Type: VIEW; Schema: lockstep; Owner: -
--

CREATE VIEW lockstep.phase_latency AS
 SELECT phase_latency_all.run_id,
    phase_latency_all.phase,
    phase_latency_all.phase_name,
    phase_latency_all.workload,
    phase_latency_all.kind,
    phase_latency_all.metric,
    phase_latency_all.operations,
    phase_latency_all.p50_ms,
    phase_latency_all.p95_ms,
    phase_latency_all.p99_ms,
    phase_latency_all.p999_ms,
    phase_latency_all.max_ms,
    phase_latency_all.latencies
   FROM lockstep.phase_latency_all
  WHERE (phase_latency_all.is_io AND phase_latency_all.is_reported);


--
-- Name: rollup_latency; Type: VIEW; Schema: lockstep; Owner: -
--

CREATE VIEW lockstep.rollup_latency AS
 SELECT u.run_id,
    u.phase,
    p.name AS phase_name,
    ((u.begin_ns)::numeric / '1000000000'::numeric) AS begin_seconds,
    l.name AS workload,
    lockstep.kind_name((u.kind)::integer) AS kind,
    u.operations,
    u.bytes,
    u.latencies
   FROM ((lockstep.latency_rollups u
     JOIN lockstep.phase_overview p USING (run_id, phase, attempt))
     JOIN lockstep.workloads l USING (run_id, phase, workload))
  WHERE ((u.kind <> 4) AND (u.metric =
        CASE
            WHEN (l.spec ? 'openLoop'::text) THEN 2
            ELSE 1
        END));


--
-- Name: runs; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.runs (
    run_id uuid NOT NULL,
    job_id uuid NOT NULL,
    number bigint NOT NULL,
    owner text NOT NULL,
    labels jsonb DEFAULT '{}'::jsonb NOT NULL,
    state text NOT NULL,
    outcome text DEFAULT ''::text NOT NULL,
    degraded boolean DEFAULT false NOT NULL,
    seed numeric(20,0) NOT NULL,
    submitted_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    summary jsonb,
    ending_state text DEFAULT ''::text NOT NULL,
    ending_reason text DEFAULT ''::text NOT NULL,
    skip_cleanup boolean DEFAULT false NOT NULL,
    CONSTRAINT runs_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'running'::text, 'done'::text, 'failed'::text, 'aborted'::text, 'cancelled'::text])))
);


--
-- Name: run_overview; Type: VIEW; Schema: lockstep; Owner: -
--

CREATE VIEW lockstep.run_overview AS
 SELECT r.number,
    r.run_id,
    j.name AS job,
    r.owner,
    r.labels,
    r.state,
    r.outcome,
    r.degraded,
    r.submitted_at,
    r.started_at,
    r.ended_at,
    ( SELECT count(*) AS count
           FROM lockstep.run_workers w
          WHERE (w.run_id = r.run_id)) AS hosts
   FROM (lockstep.runs r
     JOIN lockstep.jobs j USING (job_id));


--
-- Name: runs_number_seq; Type: SEQUENCE; Schema: lockstep; Owner: -
--

ALTER TABLE lockstep.runs ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME lockstep.runs_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: schema_migrations; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    digest text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: thread_results; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.thread_results (
    run_id uuid NOT NULL,
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
    think_time_ns bigint DEFAULT 0 NOT NULL
);


--
-- Name: thread_time; Type: VIEW; Schema: lockstep; Owner: -
--

CREATE VIEW lockstep.thread_time AS
 SELECT t.run_id,
    t.phase,
    p.name AS phase_name,
    w.host,
    l.name AS workload,
    t.thread,
    t.operations,
    ((t.execution_time_ns)::numeric / '1000000000'::numeric) AS execution_seconds,
    ((t.wait_time_ns)::double precision / (NULLIF(t.total, 0))::double precision) AS in_io,
    ((t.fsync_time_ns)::double precision / (NULLIF(t.total, 0))::double precision) AS in_fsync,
    ((t.think_time_ns)::double precision / (NULLIF(t.total, 0))::double precision) AS thinking,
    ((t.rate_time_ns)::double precision / (NULLIF(t.total, 0))::double precision) AS waiting_for_rate,
    ((t.cpu_time_ns)::double precision / (NULLIF(t.total, 0))::double precision) AS processor
   FROM (((( SELECT thread_results.run_id,
            thread_results.phase,
            thread_results.attempt,
            thread_results.worker_index,
            thread_results.workload,
            thread_results.thread,
            thread_results.operations,
            thread_results.bytes,
            thread_results.errors,
            thread_results.execution_time_ns,
            thread_results.wait_time_ns,
            thread_results.fsync_time_ns,
            thread_results.rate_time_ns,
            thread_results.cpu_time_ns,
            thread_results.voluntary_context_switches,
            thread_results.involuntary_context_switches,
            thread_results.think_time_ns,
            GREATEST(thread_results.execution_time_ns, (((thread_results.wait_time_ns + thread_results.fsync_time_ns) + thread_results.think_time_ns) + thread_results.rate_time_ns)) AS total
           FROM lockstep.thread_results) t
     JOIN lockstep.phase_overview p USING (run_id, phase, attempt))
     JOIN lockstep.run_workers w USING (run_id, worker_index))
     JOIN lockstep.workloads l USING (run_id, phase, workload));


--
-- Name: worker_results; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.worker_results (
    run_id uuid NOT NULL,
    phase integer NOT NULL,
    attempt integer NOT NULL,
    worker_index integer NOT NULL,
    error text NOT NULL,
    result jsonb NOT NULL
);


--
-- Name: verification; Type: VIEW; Schema: lockstep; Owner: -
--

CREATE VIEW lockstep.verification AS
 SELECT r.run_id,
    r.phase,
    p.name AS phase_name,
    w.host,
    l.name AS workload,
    COALESCE(((v.found ->> 'checked'::text))::bigint, (0)::bigint) AS checked,
    COALESCE(((v.found ->> 'notCheckable'::text))::bigint, (0)::bigint) AS not_checkable,
    COALESCE(((v.found ->> 'corrupt'::text))::bigint, (0)::bigint) AS corrupt,
    COALESCE(((v.found ->> 'stale'::text))::bigint, (0)::bigint) AS stale,
    COALESCE(((v.found ->> 'misplaced'::text))::bigint, (0)::bigint) AS misplaced,
    COALESCE(((v.found ->> 'torn'::text))::bigint, (0)::bigint) AS torn,
    COALESCE(((v.found ->> 'neverWritten'::text))::bigint, (0)::bigint) AS never_written,
    COALESCE((v.found -> 'mismatches'::text), '[]'::jsonb) AS mismatches
   FROM ((((lockstep.worker_results r
     JOIN lockstep.phase_overview p USING (run_id, phase, attempt))
     JOIN lockstep.run_workers w USING (run_id, worker_index))
     CROSS JOIN LATERAL ( SELECT COALESCE(((e.value ->> 'workload'::text))::integer, 0) AS workload,
            (e.value -> 'verification'::text) AS found
           FROM jsonb_array_elements(COALESCE((r.result -> 'workloads'::text), '[]'::jsonb)) e(value)) v)
     JOIN lockstep.workloads l ON (((l.run_id = r.run_id) AND (l.phase = r.phase) AND (l.workload = v.workload))))
  WHERE (v.found IS NOT NULL);


--
-- Name: workers; Type: TABLE; Schema: lockstep; Owner: -
--

CREATE TABLE lockstep.workers (
    worker_id uuid NOT NULL,
    host_id uuid NOT NULL,
    boot_id text NOT NULL,
    version text NOT NULL,
    labels jsonb DEFAULT '{}'::jsonb NOT NULL,
    first_seen timestamp with time zone DEFAULT now() NOT NULL,
    last_seen timestamp with time zone DEFAULT now() NOT NULL,
    certificate text DEFAULT ''::text NOT NULL
);


--
-- Name: device_samples_2026_11; Type: TABLE ATTACH; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.device_samples ATTACH PARTITION lockstep.device_samples_2026_11 FOR VALUES FROM ('2026-11-01 00:00:00+00') TO ('2026-12-01 00:00:00+00');


--
-- Name: device_samples_2026_12; Type: TABLE ATTACH; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.device_samples ATTACH PARTITION lockstep.device_samples_2026_12 FOR VALUES FROM ('2026-12-01 00:00:00+00') TO ('2027-01-01 00:00:00+00');


--
-- Name: host_samples_2026_11; Type: TABLE ATTACH; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.host_samples ATTACH PARTITION lockstep.host_samples_2026_11 FOR VALUES FROM ('2026-11-01 00:00:00+00') TO ('2026-12-01 00:00:00+00');


--
-- Name: host_samples_2026_12; Type: TABLE ATTACH; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.host_samples ATTACH PARTITION lockstep.host_samples_2026_12 FOR VALUES FROM ('2026-12-01 00:00:00+00') TO ('2027-01-01 00:00:00+00');


--
-- Name: interval_counters_2026_11; Type: TABLE ATTACH; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.interval_counters ATTACH PARTITION lockstep.interval_counters_2026_11 FOR VALUES FROM ('2026-11-01 00:00:00+00') TO ('2026-12-01 00:00:00+00');


--
-- Name: interval_counters_2026_12; Type: TABLE ATTACH; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.interval_counters ATTACH PARTITION lockstep.interval_counters_2026_12 FOR VALUES FROM ('2026-12-01 00:00:00+00') TO ('2027-01-01 00:00:00+00');


--
-- Name: interval_histograms_2026_11; Type: TABLE ATTACH; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.interval_histograms ATTACH PARTITION lockstep.interval_histograms_2026_11 FOR VALUES FROM ('2026-11-01 00:00:00+00') TO ('2026-12-01 00:00:00+00');


--
-- Name: interval_histograms_2026_12; Type: TABLE ATTACH; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.interval_histograms ATTACH PARTITION lockstep.interval_histograms_2026_12 FOR VALUES FROM ('2026-12-01 00:00:00+00') TO ('2027-01-01 00:00:00+00');


--
-- Data for Name: controller_epoch; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.controller_epoch VALUES
	(true, 1, 'vm:4416', 'f95799f3-cd2b-4594-836e-51ddee822cf0', '2026-11-22 06:44:43.9508+00');


--
-- Data for Name: controller_lock; Type: TABLE DATA; Schema: lockstep; Owner: -
--



--
-- Data for Name: cursors; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.cursors VALUES
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 0, 3, -1838, 30085),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 0, 4, 457, 77049),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 1, 4, 29792, 156905),
	('13fee125-b942-4f2a-a668-ddf85943e568', 0, 1, 0, 1, 7310, 28641),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 1, 3, 36613, 139457),
	('13fee125-b942-4f2a-a668-ddf85943e568', 0, 1, 1, 1, 5069, 34024),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 0, 3, 6549, 105232),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 0, 3, 3832, 93310),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 1, 3, 14732, 118807),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 1, 1, 6776, 34281),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, 4, 26972, 104858),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 4, 8452, 77024),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 0, 1, 1, 1, 40142, 78559),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 0, 1, 0, 1, -7717, 70061),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 6, 7827, 30007),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 1, 1, 2, 78, 68091),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 1, 0, 2, 4774, 51393),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 1, 1, 2, -2573, 45470),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 1, 0, 2, 10208, 35890),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 0, 1, 1, 1, 4754, 91593),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 0, 1, 0, 1, 7003, 36885),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 1, 1, 0, 1, 6282, 49572),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 1, 1, 1, 1, 12127, 54737),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 1, 4, 14543, 67477),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 0, 4, 7138, 41041),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 1, 1, 25978, 117836),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 0, 1, 1, 1, 5418, 39706),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 0, 1, 0, 1, 1986, 36291),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 4, 3351, 43910),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 1, 3, 6018, 50466),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 0, 3, 460, 39548),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 2, 1, 0, 1, -4226, 39417),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 2, 1, 1, 1, 14242, 42770),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 1, 3, 18634, 51111),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 4, 14225, 38160),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 1, 4, 4312, 88168),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 2, 1, 0, 1, 3816, 39536),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 2, 1, 1, 1, 29349, 91201),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 1, 4, 24589, 69966),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 0, 4, 6872, 29908);


--
-- Data for Name: device_samples_2026_11; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.device_samples_2026_11 VALUES
	('2026-11-22 06:44:52.261397+00', '11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 1, 0, 0, 2, 0, 901957, 'vda', 0, 0, 0, 0, 18, 110, 524288, 5, 0, 0, 0, 0, 0, 0, 4, 5),
	('2026-11-22 06:44:52.643146+00', '1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 1, 0, 0, 2, 0, 1355134, 'vda', 21, 107, 524288, 10, 1, 0, 4096, 0, 0, 0, 0, 0, 0, 0, 0, 11),
	('2026-11-22 06:44:55.07807+00', 'd844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 0, 0, 2, 0, 1000000000, 'vda', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('2026-11-22 06:44:56.07807+00', 'd844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 0, 1, 3, 1000000000, 1000411040, 'vda', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('2026-11-22 06:44:58.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 2, 0, 1000000000, 'vda', 55502, 0, 227708928, 8202, 24075, 0, 98611200, 3484, 0, 0, 0, 0, 0, 0, 884, 11685),
	('2026-11-22 06:44:59.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 1, 2, 1000000000, 2000000000, 'vda', 42217, 3, 172933120, 3955, 18485, 0, 75714560, 1649, 0, 0, 0, 0, 3, 0, 828, 5604),
	('2026-11-22 06:45:00.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 2, 2, 2000000000, 3000000000, 'vda', 43632, 1, 178720768, 3902, 18788, 0, 76955648, 1610, 0, 0, 0, 0, 3, 0, 768, 5513),
	('2026-11-22 06:45:01.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 3, 2, 3000000000, 4000000000, 'vda', 37668, 1, 154292224, 4089, 16068, 0, 65822720, 1663, 0, 0, 0, 0, 1, 0, 824, 5751),
	('2026-11-22 06:45:02.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 4, 3, 4000000000, 4000347688, 'vda', 0, 0, 0, 0, 3, 0, 12288, 0, 0, 0, 0, 0, 1, 1, 0, 1),
	('2026-11-22 06:45:03.304896+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 2, 0, 1000000000, 'vda', 55429, 0, 227663872, 8364, 23551, 0, 96464896, 3429, 0, 0, 0, 0, 1, 0, 908, 11793),
	('2026-11-22 06:45:04.304896+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 1, 2, 1000000000, 1077856804, 'vda', 3615, 0, 14872576, 447, 1478, 0, 6057984, 176, 0, 0, 0, 0, 4, 0, 64, 624),
	('2026-11-22 06:45:04.382753+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 2, 3, 1077856804, 1082151424, 'vda', 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0),
	('2026-11-22 06:45:04.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 2, 0, 1000000000, 'vda', 52580, 1, 215371776, 8475, 22458, 1, 91992064, 3497, 0, 0, 0, 0, 0, 0, 864, 11972),
	('2026-11-22 06:45:05.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 1, 2, 1000000000, 2000000000, 'vda', 54227, 0, 222113792, 8499, 22939, 0, 93966336, 3475, 0, 0, 0, 0, 2, 0, 840, 11975),
	('2026-11-22 06:45:06.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 2, 3, 2000000000, 2000345376, 'vda', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);


--
-- Data for Name: device_samples_2026_12; Type: TABLE DATA; Schema: lockstep; Owner: -
--



--
-- Data for Name: devices; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.devices VALUES
	('305fa0b0-00ce-4426-87f0-5d7274c1a72d', 'vda', '483a5050-3d0c-4a18-a5ea-450480c95e94', 'overlayblk', 274877906944, '', 'mq-deadline', true, '2026-11-22 06:45:04.382213+00');


--
-- Data for Name: environment_facts; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.environment_facts VALUES
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 'transparent_hugepage', 'always [madvise] never'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 'wall_clock.difference_ms', '0'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 'kernel.io_uring_disabled', '0'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 'clocksource', 'tsc'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 'vm.dirty_background_ratio', '10'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 'vm.swappiness', '60'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 'vm.dirty_ratio', '20'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 'clocksource', 'tsc'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 'vm.swappiness', '60'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 'wall_clock.difference_ms', '0'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 'kernel.io_uring_disabled', '0'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 'vm.dirty_background_ratio', '10'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 'transparent_hugepage', 'always [madvise] never'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 'vm.dirty_ratio', '20'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 'vm.dirty_ratio', '20'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 'transparent_hugepage', 'always [madvise] never'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 'kernel.io_uring_disabled', '0'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 'vm.swappiness', '60'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 'clocksource', 'tsc'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 'wall_clock.difference_ms', '0'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 'vm.dirty_background_ratio', '10'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 1, 'vm.dirty_ratio', '20'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 1, 'vm.dirty_background_ratio', '10'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 1, 'transparent_hugepage', 'always [madvise] never'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 1, 'clocksource', 'tsc'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 1, 'vm.swappiness', '60'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 1, 'wall_clock.difference_ms', '0'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 1, 'kernel.io_uring_disabled', '0'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 0, 'wall_clock.difference_ms', '0'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 0, 'clocksource', 'tsc'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 0, 'vm.dirty_background_ratio', '10'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 0, 'vm.swappiness', '60'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 0, 'vm.dirty_ratio', '20'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 0, 'kernel.io_uring_disabled', '0'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 0, 'transparent_hugepage', 'always [madvise] never'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 'vm.dirty_background_ratio', '10'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 'wall_clock.difference_ms', '0'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 'transparent_hugepage', 'always [madvise] never'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 'vm.dirty_ratio', '20'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 'clocksource', 'tsc'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 'vm.swappiness', '60'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 'kernel.io_uring_disabled', '0'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 'vm.dirty_background_ratio', '10'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 'transparent_hugepage', 'always [madvise] never'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 'vm.dirty_ratio', '20'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 'vm.swappiness', '60'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 'clocksource', 'tsc'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 'kernel.io_uring_disabled', '0'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 'wall_clock.difference_ms', '0'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 1, 'vm.dirty_ratio', '20');
INSERT INTO lockstep.environment_facts VALUES
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 1, 'transparent_hugepage', 'always [madvise] never'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 1, 'vm.swappiness', '60'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 1, 'kernel.io_uring_disabled', '0'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 1, 'clocksource', 'tsc'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 1, 'vm.dirty_background_ratio', '10'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 1, 'wall_clock.difference_ms', '0'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 'kernel.io_uring_disabled', '0'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 'vm.dirty_ratio', '20'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 'transparent_hugepage', 'always [madvise] never'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 'vm.dirty_background_ratio', '10'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 'clocksource', 'tsc'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 'vm.swappiness', '60'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 'wall_clock.difference_ms', '0'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 1, 'wall_clock.difference_ms', '0'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 1, 'vm.dirty_ratio', '20'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 1, 'vm.dirty_background_ratio', '10'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 1, 'vm.swappiness', '60'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 1, 'kernel.io_uring_disabled', '0'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 1, 'transparent_hugepage', 'always [madvise] never'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 1, 'clocksource', 'tsc'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 0, 'kernel.io_uring_disabled', '0'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 0, 'vm.dirty_background_ratio', '10'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 0, 'vm.dirty_ratio', '20'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 0, 'vm.swappiness', '60'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 0, 'transparent_hugepage', 'always [madvise] never'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 0, 'wall_clock.difference_ms', '0'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 0, 'clocksource', 'tsc'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 'clocksource', 'tsc'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 'vm.dirty_ratio', '20'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 'transparent_hugepage', 'always [madvise] never'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 'wall_clock.difference_ms', '0'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 'kernel.io_uring_disabled', '0'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 'vm.swappiness', '60'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 'vm.dirty_background_ratio', '10'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 'vm.dirty_ratio', '20'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 'transparent_hugepage', 'always [madvise] never'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 'clocksource', 'tsc'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 'vm.dirty_background_ratio', '10'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 'kernel.io_uring_disabled', '0'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 'wall_clock.difference_ms', '0'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 'vm.swappiness', '60'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 1, 'vm.swappiness', '60'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 1, 'wall_clock.difference_ms', '0'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 1, 'vm.dirty_ratio', '20'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 1, 'kernel.io_uring_disabled', '0'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 1, 'clocksource', 'tsc'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 1, 'transparent_hugepage', 'always [madvise] never'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 1, 'vm.dirty_background_ratio', '10'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 0, 'vm.dirty_ratio', '20'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 0, 'kernel.io_uring_disabled', '0');
INSERT INTO lockstep.environment_facts VALUES
	('13fee125-b942-4f2a-a668-ddf85943e568', 0, 'transparent_hugepage', 'always [madvise] never'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 0, 'clocksource', 'tsc'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 0, 'vm.dirty_background_ratio', '10'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 0, 'wall_clock.difference_ms', '0'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 0, 'vm.swappiness', '60'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 'vm.swappiness', '60'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 'clocksource', 'tsc'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 'transparent_hugepage', 'always [madvise] never'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 'vm.dirty_ratio', '20'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 'kernel.io_uring_disabled', '0'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 'vm.dirty_background_ratio', '10'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 'wall_clock.difference_ms', '0'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 0, 'wall_clock.difference_ms', '0'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 0, 'transparent_hugepage', 'always [madvise] never'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 0, 'vm.swappiness', '60'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 0, 'vm.dirty_ratio', '20'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 0, 'vm.dirty_background_ratio', '10'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 0, 'clocksource', 'tsc'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 0, 'kernel.io_uring_disabled', '0'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 'kernel.io_uring_disabled', '0'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 'wall_clock.difference_ms', '0'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 'transparent_hugepage', 'always [madvise] never'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 'vm.swappiness', '60'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 'vm.dirty_ratio', '20'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 'clocksource', 'tsc'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 'vm.dirty_background_ratio', '10'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 'vm.dirty_background_ratio', '10'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 'vm.dirty_ratio', '20'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 'kernel.io_uring_disabled', '0'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 'clocksource', 'tsc'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 'transparent_hugepage', 'always [madvise] never'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 'wall_clock.difference_ms', '0'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 'vm.swappiness', '60'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 1, 'vm.dirty_background_ratio', '10'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 1, 'wall_clock.difference_ms', '0'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 1, 'clocksource', 'tsc'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 1, 'kernel.io_uring_disabled', '0'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 1, 'transparent_hugepage', 'always [madvise] never'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 1, 'vm.dirty_ratio', '20'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 1, 'vm.swappiness', '60');


--
-- Data for Name: events; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.events OVERRIDING SYSTEM VALUE VALUES
	(1, '11b9aae9-4bd4-42c1-af97-13d3b854ab0d', '2026-11-22 06:44:51.613782+00', 'warning', '', 'target data lies on vda, where Lockstep''s own store writes too; for figures that count, use another device or --store'),
	(2, '1f71ce67-da0c-4f56-83ba-0d24c38d9288', '2026-11-22 06:44:52.324546+00', 'warning', '', 'target data lies on vda, where Lockstep''s own store writes too; for figures that count, use another device or --store'),
	(3, '9905e6c9-d64f-406a-8bad-27d39e513e0c', '2026-11-22 06:44:54.357979+00', 'warning', '', 'abort_if.p99: 1.14 ms in interval 0 (limit 10 µs)'),
	(4, 'd844efa8-7385-4d8f-921f-f115a38eb177', '2026-11-22 06:44:54.427312+00', 'warning', '', 'target data lies on vda, where Lockstep''s own store writes too; for figures that count, use another device or --store'),
	(5, '13fee125-b942-4f2a-a668-ddf85943e568', '2026-11-22 06:44:57.845138+00', 'warning', '', 'target data lies on vda, where Lockstep''s own store writes too; for figures that count, use another device or --store'),
	(6, '13fee125-b942-4f2a-a668-ddf85943e568', '2026-11-22 06:45:01.236124+00', 'error', 'node2', 'worker on node2 was lost in phase mix: its connection ended and did not come back for 2 s'),
	(7, '644090f1-0ccd-4b23-b206-1e72fea5a8ff', '2026-11-22 06:45:02.655454+00', 'warning', '', 'target data lies on vda, where Lockstep''s own store writes too; for figures that count, use another device or --store'),
	(8, '644090f1-0ccd-4b23-b206-1e72fea5a8ff', '2026-11-22 06:45:04.382239+00', 'error', 'node2', 'worker on node2 was lost in phase mix: its process ended; another one has taken its place'),
	(9, '644090f1-0ccd-4b23-b206-1e72fea5a8ff', '2026-11-22 06:45:04.382475+00', 'warning', '', 'phase mix is begun again: worker on node2 was lost in phase mix: its process ended; another one has taken its place'),
	(10, '644090f1-0ccd-4b23-b206-1e72fea5a8ff', '2026-11-22 06:45:04.393423+00', 'info', 'node2', 'the worker is back'),
	(11, '3ea8accc-8095-4360-94cb-d8e1d81155c8', '2026-11-22 06:45:08.480609+00', 'warning', '', 'stopped by local');


--
-- Data for Name: host_samples_2026_11; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.host_samples_2026_11 VALUES
	('2026-11-22 06:44:44.485619+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 0, 0, 2, 0, 1000000000, 4241, 2084, 1, 0, 0, 0.0102041, 0.989796, 0, 0, 0, 0, 24882393088, 251772928, 53960704, 20000000),
	('2026-11-22 06:44:45.485619+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 0, 1, 2, 1000000000, 2000000000, 4436, 2206, 3, 0, 0.0102041, 0.00510204, 0.984694, 0, 0, 0, 0, 24881360896, 251899904, 54009856, 30000000),
	('2026-11-22 06:44:46.485619+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 0, 2, 3, 2000000000, 2000604386, 10, 5, 3, 0, 0, 0, 1, 0, 0, 0, 0, 24881360896, 251899904, 54009856, 0),
	('2026-11-22 06:44:46.828769+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 0, 0, 2, 0, 1000000000, 4258, 2121, 2, 0, 0.00515464, 0, 0.994845, 0, 0, 0, 0, 24881360896, 252063744, 54075392, 10000000),
	('2026-11-22 06:44:47.828769+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 0, 1, 3, 1000000000, 1000289344, 12, 10, 5, 0, 0, 0, 1, 0, 0, 0, 0, 24881225728, 252063744, 54075392, 0),
	('2026-11-22 06:44:48.172922+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 0, 0, 2, 0, 1000000000, 4985, 3040, 2, 0, 0.00505051, 0.0151515, 0.974747, 0, 0.00505051, 0, 0, 24881233920, 250179584, 54075392, 40000000),
	('2026-11-22 06:44:49.172922+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 0, 1, 3, 1000000000, 1000258601, 10, 6, 3, 0, 0, 0, 1, 0, 0, 0, 0, 24881233920, 250179584, 54075392, 0),
	('2026-11-22 06:44:49.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 0, 2, 0, 1000000000, 3220, 1549, 5, 0, 0.00505051, 0.010101, 0.984848, 0, 0, 0, 0, 24879169536, 250671104, 54075392, 30000000),
	('2026-11-22 06:44:50.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 1, 2, 1000000000, 2000000000, 3403, 1682, 4, 0, 0.00510204, 0, 0.994898, 0, 0, 0, 0, 24878137344, 250671104, 54075392, 10000000),
	('2026-11-22 06:44:51.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 2, 3, 2000000000, 2000223972, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 24878137344, 250671104, 54075392, 0),
	('2026-11-22 06:44:52.261397+00', '11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 1, 0, 0, 2, 0, 901957, 36, 25, 6, 0, 0.2, 0, 0.8, 0, 0, 0, 0, 24874893312, 250785792, 54149120, 10000000),
	('2026-11-22 06:44:52.643146+00', '1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 1, 0, 0, 2, 0, 1355134, 35, 25, 5, 0, 0, 0, 0.8, 0.2, 0, 0, 0, 24873148416, 250896384, 4657152, 0),
	('2026-11-22 06:44:53.351746+00', '9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 0, 0, 2, 0, 1000000000, 4334, 2173, 1, 0, 0, 0.0102041, 0.989796, 0, 0, 0, 0, 24874287104, 243511296, 4685824, 20000000),
	('2026-11-22 06:44:54.351746+00', '9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 0, 1, 2, 1000000000, 1006737800, 192, 57, 6, 0, 0.166667, 0.166667, 0.666667, 0, 0, 0, 0, 24874287104, 243511296, 4685824, 20000000),
	('2026-11-22 06:44:54.358484+00', '9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 0, 2, 3, 1006737800, 1025825946, 4, 1, 8, 0, 0, 0, 0, 0, 0, 0, 0, 24874287104, 243511296, 4685824, 0),
	('2026-11-22 06:44:55.07807+00', 'd844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 0, 0, 2, 0, 1000000000, 895518, 5579, 6, 0, 0.08, 0.915, 0, 0.005, 0, 0, 0, 24874270720, 247885824, 8892416, 1990000000),
	('2026-11-22 06:44:56.07807+00', 'd844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 0, 1, 3, 1000000000, 1000411040, 51, 12, 5, 0, 0, 0, 1, 0, 0, 0, 0, 24874270720, 247885824, 8892416, 0),
	('2026-11-22 06:44:56.787256+00', '62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 0, 0, 2, 0, 1000000000, 4257, 2014, 1, 0, 0.00510204, 0.00510204, 0.989796, 0, 0, 0, 0, 24874172416, 243879936, 3747840, 20000000),
	('2026-11-22 06:44:57.787256+00', '62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 0, 1, 3, 1000000000, 1000739484, 9, 7, 5, 0, 0, 0, 1, 0, 0, 0, 0, 24874172416, 243879936, 3747840, 0),
	('2026-11-22 06:44:58.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 2, 0, 1000000000, 39865, 11060, 9, 0, 0.165829, 0.351759, 0.0854271, 0.396985, 0, 0, 0, 24870260736, 235679744, 3854336, 1030000000),
	('2026-11-22 06:44:59.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 1, 2, 1000000000, 2000000000, 35949, 13193, 2, 1, 0.0223464, 0.195531, 0.363128, 0.418994, 0, 0, 0, 24871043072, 235794432, 3936256, 390000000),
	('2026-11-22 06:45:00.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 2, 2, 2000000000, 3000000000, 36749, 13525, 1, 2, 0.0171429, 0.188571, 0.377143, 0.417143, 0, 0, 0, 24871043072, 235810816, 3948544, 360000000),
	('2026-11-22 06:45:01.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 3, 2, 3000000000, 4000000000, 31562, 11615, 2, 0, 0.021978, 0.181319, 0.384615, 0.412088, 0, 0, 0, 24871043072, 235810816, 3948544, 370000000),
	('2026-11-22 06:45:02.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 4, 3, 4000000000, 4000347688, 68, 17, 1, 0, 0, 0, 0, 0, 0, 0, 0, 24871043072, 235810816, 3948544, 0),
	('2026-11-22 06:45:03.304896+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 2, 0, 1000000000, 39532, 10979, 7, 2, 0.18593, 0.331658, 0.105528, 0.376884, 0, 0, 0, 24865275904, 230268928, 4038656, 1030000000),
	('2026-11-22 06:45:04.304896+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 1, 2, 1000000000, 1077856804, 3035, 1110, 2, 0, 0.352941, 0.411765, 0, 0.235294, 0, 0, 0, 24865275904, 230359040, 4038656, 130000000),
	('2026-11-22 06:45:04.382753+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 2, 3, 1077856804, 1082151424, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 24865275904, 230359040, 4038656, 0),
	('2026-11-22 06:45:04.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 2, 0, 1000000000, 38629, 11144, 7, 0, 0.010582, 0.253968, 0.216931, 0.518519, 0, 0, 0, 24867241984, 230522880, 4063232, 500000000),
	('2026-11-22 06:45:05.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 1, 2, 1000000000, 2000000000, 39740, 11362, 3, 0, 0.0113636, 0.215909, 0.1875, 0.585227, 0, 0, 0, 24867241984, 230522880, 4063232, 400000000),
	('2026-11-22 06:45:06.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 2, 3, 2000000000, 2000345376, 18, 12, 6, 0, 0, 0, 1, 0, 0, 0, 0, 24867241984, 230522880, 4063232, 0),
	('2026-11-22 06:45:07.41971+00', '3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 0, 0, 2, 0, 1000000000, 5357, 2842, 2, 0, 0.158974, 0.102564, 0.738462, 0, 0, 0, 0, 24875708416, 230584320, 4100096, 510000000),
	('2026-11-22 06:45:08.41971+00', '3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 0, 1, 2, 1000000000, 1061260801, 647, 259, 4, 0, 0.466667, 0.133333, 0.4, 0, 0, 0, 0, 24875573248, 230584320, 4100096, 90000000),
	('2026-11-22 06:45:08.48097+00', '3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 0, 2, 3, 1061260801, 1066157423, 11, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0, 24875573248, 230584320, 4100096, 0);


--
-- Data for Name: host_samples_2026_12; Type: TABLE DATA; Schema: lockstep; Owner: -
--



--
-- Data for Name: hosts; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.hosts VALUES
	('a905b8f4-bbc0-45ac-b8cc-8a858e88b2df', 'node1', 'Linux 6.18.44-fc-v769', 'Debian GNU/Linux 12 (bookworm)', 'Intel(R) Xeon(R) Processor', 2, 25276063744, '2026-11-22 06:44:44.033916+00', '2026-11-22 06:44:44.033916+00'),
	('483a5050-3d0c-4a18-a5ea-450480c95e94', 'node2', 'Linux 6.18.44-fc-v769', 'Debian GNU/Linux 12 (bookworm)', 'Intel(R) Xeon(R) Processor', 2, 25276063744, '2026-11-22 06:44:44.03027+00', '2026-11-22 06:45:04.382213+00');


--
-- Data for Name: interval_counters_2026_11; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.interval_counters_2026_11 VALUES
	('2026-11-22 06:44:44.485619+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 0, 0, 0, 2, 0, 1000000000, 1, 1916, 7847936, 0, 0, 1999645387, 1017662, 1345029),
	('2026-11-22 06:44:44.485619+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 1, 0, 0, 2, 0, 1000000000, 1, 1906, 7806976, 0, 0, 1998146403, 1018286, 1806896),
	('2026-11-22 06:44:45.485619+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 0, 0, 1, 2, 1000000000, 2000000000, 1, 1886, 7725056, 0, 0, 1998772874, 1020795, 1688152),
	('2026-11-22 06:44:46.485619+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 0, 0, 2, 3, 2000000000, 2000604386, 1, 2, 8192, 0, 0, 2057405, 1028641, 1028764),
	('2026-11-22 06:44:45.485619+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 1, 0, 1, 2, 1000000000, 2000000000, 1, 1930, 7905280, 0, 0, 1999477790, 1020478, 1701425),
	('2026-11-22 06:44:46.485619+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 1, 0, 2, 3, 2000000000, 2000191875, 1, 2, 8192, 0, 0, 2375994, 1187929, 1188065),
	('2026-11-22 06:44:46.828769+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 1, 0, 0, 2, 0, 999238794, 1, 477, 1953792, 0, 0, 534942138, 1056818, 2580914),
	('2026-11-22 06:44:47.828769+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 1, 0, 1, 3, 1000000000, 1005333426, 1, 0, 0, 0, 0, 0, 0, 0),
	('2026-11-22 06:44:46.828769+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 0, 0, 0, 2, 0, 1000000000, 1, 477, 1953792, 0, 0, 518936393, 1054698, 1257359),
	('2026-11-22 06:44:47.828769+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 0, 0, 1, 3, 1000000000, 1000289344, 1, 1, 4096, 0, 0, 1074890, 1074890, 1074890),
	('2026-11-22 06:44:48.172922+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 0, 0, 0, 2, 0, 1000000000, 1, 954, 3907584, 0, 0, 1006627082, 1025690, 1230165),
	('2026-11-22 06:44:49.172922+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 0, 0, 1, 3, 1000000000, 1000258601, 1, 1, 4096, 0, 0, 1044147, 1044147, 1044147),
	('2026-11-22 06:44:48.172922+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 1, 0, 0, 2, 0, 1000000000, 1, 954, 3907584, 0, 0, 1022704372, 1024572, 2539916),
	('2026-11-22 06:44:49.172922+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 1, 0, 1, 3, 1000000000, 1000779883, 1, 1, 4096, 0, 0, 1041732, 1041732, 1041732),
	('2026-11-22 06:44:49.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, 0, 0, 2, 0, 1000000000, 1, 100, 409600, 0, 0, 108171263, 1022142, 1160811),
	('2026-11-22 06:44:49.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, 2, 0, 2, 0, 1000000000, 1, 96, 393216, 0, 0, 104605344, 1025860, 1325935),
	('2026-11-22 06:44:49.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 0, 0, 2, 0, 1000000000, 1, 100, 409600, 0, 0, 103029362, 1017886, 1129516),
	('2026-11-22 06:44:49.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 1, 0, 2, 0, 1000000000, 1, 313, 1282048, 0, 0, 333797022, 1029612, 1220185),
	('2026-11-22 06:44:49.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 2, 0, 2, 0, 1000000000, 1, 96, 393216, 0, 0, 100601941, 1017049, 1130373),
	('2026-11-22 06:44:50.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, 0, 1, 2, 1000000000, 1991087764, 1, 100, 409600, 0, 0, 103547875, 1017726, 1124574),
	('2026-11-22 06:44:50.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, 2, 1, 2, 1000000000, 1991087764, 1, 94, 385024, 0, 0, 97800988, 1026526, 1128713),
	('2026-11-22 06:44:51.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, 0, 2, 3, 2000000000, 2000270181, 1, 0, 0, 0, 0, 0, 0, 0),
	('2026-11-22 06:44:51.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, 2, 2, 3, 2000000000, 2000270181, 1, 0, 0, 0, 0, 0, 0, 0),
	('2026-11-22 06:44:50.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 0, 1, 2, 1000000000, 2000000000, 1, 100, 409600, 0, 0, 104377131, 1023329, 1133302),
	('2026-11-22 06:44:50.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 1, 1, 2, 1000000000, 2000000000, 1, 309, 1265664, 0, 0, 338854686, 1039251, 1498373),
	('2026-11-22 06:44:50.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 2, 1, 2, 1000000000, 2000000000, 1, 94, 385024, 0, 0, 97810648, 1026073, 1145875),
	('2026-11-22 06:44:51.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 0, 2, 3, 2000000000, 2000223972, 1, 0, 0, 0, 0, 0, 0, 0),
	('2026-11-22 06:44:51.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 1, 2, 3, 2000000000, 2000223972, 1, 1, 4096, 0, 0, 1196296, 1196296, 1196296),
	('2026-11-22 06:44:51.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 2, 2, 3, 2000000000, 2000223972, 1, 0, 0, 0, 0, 0, 0, 0),
	('2026-11-22 06:44:52.261397+00', '11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 1, 1, 0, 0, 2, 0, 890028, 2, 64, 262144, 0, 0, 23772895, 191825, 594195),
	('2026-11-22 06:44:52.261397+00', '11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 1, 0, 0, 0, 2, 0, 901957, 2, 64, 262144, 0, 0, 23581644, 212869, 579751),
	('2026-11-22 06:44:52.643146+00', '1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 1, 1, 0, 0, 2, 0, 1434722, 1, 64, 262144, 0, 0, 39867984, 427914, 865341),
	('2026-11-22 06:44:52.643146+00', '1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 1, 0, 0, 0, 2, 0, 1355134, 1, 64, 262144, 0, 0, 37287422, 102874, 1250537),
	('2026-11-22 06:44:53.351746+00', '9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 1, 0, 0, 2, 0, 1000000000, 1, 1912, 7831552, 0, 0, 1998848891, 1020001, 3082021),
	('2026-11-22 06:44:53.351746+00', '9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 0, 0, 0, 2, 0, 1000000000, 1, 1918, 7856128, 0, 0, 1998890482, 1017020, 4850321),
	('2026-11-22 06:44:54.351746+00', '9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 1, 0, 1, 2, 1000000000, 1006670035, 1, 12, 49152, 0, 0, 12468815, 1022849, 1052855),
	('2026-11-22 06:44:54.358416+00', '9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 1, 0, 2, 3, 1006670035, 1025415073, 1, 2, 8192, 0, 0, 2151166, 1074860, 1076306),
	('2026-11-22 06:44:54.351746+00', '9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 0, 0, 1, 2, 1000000000, 1006737800, 1, 12, 49152, 0, 0, 12705790, 1022628, 1172518),
	('2026-11-22 06:44:54.358484+00', '9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 0, 0, 2, 3, 1006737800, 1025825946, 1, 2, 8192, 0, 0, 2485302, 1242439, 1242863),
	('2026-11-22 06:44:55.07807+00', 'd844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 1, 0, 0, 2, 0, 1000000000, 2, 633092, 2593144832, 0, 0, 7998599469, 1814, 44670958),
	('2026-11-22 06:44:56.07807+00', 'd844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 1, 0, 1, 3, 1000000000, 1000278271, 2, 8, 32768, 0, 0, 1396090, 36272, 312430),
	('2026-11-22 06:44:55.07807+00', 'd844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 0, 0, 0, 2, 0, 1000000000, 2, 742857, 3042742272, 0, 0, 7998498314, 2050, 88032025),
	('2026-11-22 06:44:56.07807+00', 'd844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 0, 0, 1, 3, 1000000000, 1000411040, 2, 8, 32768, 0, 0, 2065852, 57463, 464776),
	('2026-11-22 06:44:56.787256+00', '62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 0, 0, 0, 2, 0, 1000000000, 1, 1914, 7839744, 0, 0, 233585601252, 1051407, 235217024),
	('2026-11-22 06:44:57.787256+00', '62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 0, 0, 1, 3, 1000000000, 1000739484, 1, 2, 8192, 0, 0, 471270480, 235590901, 235679579),
	('2026-11-22 06:44:56.787256+00', '62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 1, 0, 0, 2, 0, 1000000000, 1, 1918, 7856128, 0, 0, 254105861312, 1056482, 260031058),
	('2026-11-22 06:44:57.787256+00', '62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 1, 0, 1, 3, 1000000000, 1000488333, 1, 2, 8192, 0, 0, 518909075, 259377134, 259531941),
	('2026-11-22 06:44:58.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 0, 2, 0, 1000000000, 1, 27621, 113135616, 0, 0, 5347467091, 26958, 5167405),
	('2026-11-22 06:44:58.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 0, 2, 0, 1000000000, 2, 12187, 49917952, 0, 0, 2618080157, 35220, 5173791),
	('2026-11-22 06:44:58.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 1, 0, 0, 2, 0, 1000000000, 1, 27773, 113758208, 0, 0, 5383132738, 19569, 3663099);
INSERT INTO lockstep.interval_counters_2026_11 VALUES
	('2026-11-22 06:44:58.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 1, 0, 0, 2, 0, 1000000000, 2, 11883, 48672768, 0, 0, 2582973803, 45720, 4631252),
	('2026-11-22 06:44:59.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 1, 2, 1000000000, 2000000000, 1, 41954, 171843584, 0, 0, 5464388707, 20873, 3999948),
	('2026-11-22 06:44:59.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 1, 2, 1000000000, 2000000000, 2, 18367, 75231232, 0, 0, 2473695741, 41535, 3287811),
	('2026-11-22 06:45:00.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 2, 2, 2000000000, 3000000000, 1, 43636, 178733056, 0, 0, 5487760104, 29652, 3034965),
	('2026-11-22 06:45:00.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 2, 2, 2000000000, 3000000000, 2, 18783, 76935168, 0, 0, 2447959779, 41203, 3067658),
	('2026-11-22 06:45:01.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 3, 2, 3000000000, 4000000000, 1, 37667, 154284032, 0, 0, 5520947326, 26181, 3440941),
	('2026-11-22 06:45:01.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 3, 2, 3000000000, 4000000000, 2, 16067, 65810432, 0, 0, 2415583417, 57567, 3440941),
	('2026-11-22 06:45:02.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 4, 3, 4000000000, 4000347688, 1, 7, 28672, 0, 0, 1504386, 118563, 436668),
	('2026-11-22 06:45:02.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 4, 3, 4000000000, 4000347688, 2, 1, 4096, 0, 0, 459955, 459955, 459955),
	('2026-11-22 06:45:03.304896+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 0, 2, 0, 1000000000, 1, 27590, 113008640, 0, 0, 5401367946, 28527, 3500147),
	('2026-11-22 06:45:03.304896+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 0, 2, 0, 1000000000, 2, 11799, 48328704, 0, 0, 2562963888, 51280, 3537304),
	('2026-11-22 06:45:03.304896+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 1, 0, 0, 2, 0, 1000000000, 1, 27652, 113262592, 0, 0, 5430605255, 25123, 3479585),
	('2026-11-22 06:45:03.304896+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 1, 0, 0, 2, 0, 1000000000, 2, 11738, 48078848, 0, 0, 2534815326, 32412, 3531690),
	('2026-11-22 06:45:04.304896+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 1, 2, 1000000000, 1077856804, 1, 2208, 9043968, 0, 0, 381648242, 51153, 2685676),
	('2026-11-22 06:45:04.304896+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 1, 2, 1000000000, 1077856804, 2, 871, 3567616, 0, 0, 235570632, 51781, 3009750),
	('2026-11-22 06:45:04.382753+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 2, 3, 1077856804, 1082151424, 1, 3, 12288, 0, 0, 623986, 190836, 242314),
	('2026-11-22 06:45:04.382753+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 2, 3, 1077856804, 1082151424, 2, 5, 20480, 0, 0, 3753045, 245913, 937426),
	('2026-11-22 06:45:04.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 1, 0, 0, 2, 0, 1000000000, 1, 26330, 107847680, 0, 0, 5502576923, 27011, 3530850),
	('2026-11-22 06:45:04.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 1, 0, 0, 2, 0, 1000000000, 2, 11234, 46014464, 0, 0, 2461585094, 66991, 3059483),
	('2026-11-22 06:45:04.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 0, 2, 0, 1000000000, 1, 26244, 107495424, 0, 0, 5499831945, 33019, 3450338),
	('2026-11-22 06:45:04.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 0, 2, 0, 1000000000, 2, 11221, 45961216, 0, 0, 2464797675, 58630, 3550773),
	('2026-11-22 06:45:05.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 1, 2, 1000000000, 2000000000, 1, 27162, 111255552, 0, 0, 5534928723, 26056, 3646134),
	('2026-11-22 06:45:05.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 1, 2, 1000000000, 2000000000, 2, 11418, 46768128, 0, 0, 2432254503, 29382, 3682329),
	('2026-11-22 06:45:06.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 2, 3, 2000000000, 2000345376, 1, 5, 20480, 0, 0, 1738898, 232544, 425196),
	('2026-11-22 06:45:06.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 2, 3, 2000000000, 2000345376, 2, 3, 12288, 0, 0, 885717, 228856, 424317),
	('2026-11-22 06:45:05.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 1, 0, 1, 2, 1000000000, 2000000000, 1, 27059, 110833664, 0, 0, 5489249975, 24662, 3816409),
	('2026-11-22 06:45:05.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 1, 0, 1, 2, 1000000000, 2000000000, 2, 11517, 47173632, 0, 0, 2477115205, 34119, 3819459),
	('2026-11-22 06:45:06.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 1, 0, 2, 3, 2000000000, 2000294483, 1, 8, 32768, 0, 0, 2744870, 299821, 399216),
	('2026-11-22 06:45:07.41971+00', '3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 0, 0, 0, 2, 0, 1000000000, 1, 1912, 7831552, 0, 0, 1998243910, 1011673, 3449742),
	('2026-11-22 06:45:07.41971+00', '3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 1, 0, 0, 2, 0, 1000000000, 1, 1904, 7798784, 0, 0, 1998133589, 1010816, 5223183),
	('2026-11-22 06:45:08.41971+00', '3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 1, 0, 1, 2, 1000000000, 1061357227, 1, 116, 475136, 0, 0, 123639497, 1019225, 2027274),
	('2026-11-22 06:45:08.481067+00', '3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 1, 0, 2, 3, 1061357227, 1065661686, 1, 2, 8192, 0, 0, 2047846, 1023603, 1024243),
	('2026-11-22 06:45:08.41971+00', '3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 0, 0, 1, 2, 1000000000, 1061260801, 1, 116, 475136, 0, 0, 122752042, 1016964, 1574587),
	('2026-11-22 06:45:08.48097+00', '3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 0, 0, 2, 3, 1061260801, 1066157423, 1, 2, 8192, 0, 0, 2068910, 1033729, 1035181);


--
-- Data for Name: interval_counters_2026_12; Type: TABLE DATA; Schema: lockstep; Owner: -
--



--
-- Data for Name: interval_histograms_2026_11; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.interval_histograms_2026_11 VALUES
	('2026-11-22 06:44:44.485619+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 0, 0, 0, 2, 1, 1, 1, '\xf90e208c09ae0c8a048c0166404a203024080808040b040304'),
	('2026-11-22 06:44:44.485619+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 1, 0, 0, 2, 1, 1, 1, '\xf90e26e609a2098203b402f8017c4638400e0c180803040d04070407042704'),
	('2026-11-22 06:44:45.485619+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 0, 0, 1, 2, 1, 1, 1, '\xf90e188405d602d2038807b005e2039c011a0c0308070408043304'),
	('2026-11-22 06:44:46.485619+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 0, 0, 2, 3, 1, 1, 1, '\xfb0e04'),
	('2026-11-22 06:44:45.485619+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 1, 0, 1, 2, 1, 1, 1, '\xf90e08a6099c1182032808040308090419042104'),
	('2026-11-22 06:44:46.485619+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 1, 0, 2, 3, 1, 1, 1, '\x910f04'),
	('2026-11-22 06:44:46.828769+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 1, 0, 0, 2, 1, 1, 1, '\xf90e0662ea028e01306a58342002030406030203041d02'),
	('2026-11-22 06:44:46.828769+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 1, 0, 0, 2, 1, 2, 1, '\x810f2ce4026e2638484a502e1006120c04040804021b025d02'),
	('2026-11-22 06:44:46.828769+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 0, 0, 0, 2, 1, 1, 1, '\xfb0e7a8204b0012e361a0c04'),
	('2026-11-22 06:44:46.828769+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 0, 0, 0, 2, 1, 2, 1, '\x810f54b8049801120a1c181e1a0a030202'),
	('2026-11-22 06:44:47.828769+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 0, 0, 1, 3, 1, 1, 1, '\xfd0e02'),
	('2026-11-22 06:44:47.828769+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 0, 0, 1, 3, 1, 2, 1, '\x830f02'),
	('2026-11-22 06:44:48.172922+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 0, 0, 0, 2, 1, 1, 1, '\xf50e06081ea4079e05ae011a200e0802040302'),
	('2026-11-22 06:44:48.172922+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 0, 0, 0, 2, 1, 2, 1, '\xfb0e6eac02cc0484056a3a080618140e12040602'),
	('2026-11-22 06:44:49.172922+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 0, 0, 1, 3, 1, 1, 1, '\xfb0e02'),
	('2026-11-22 06:44:49.172922+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 0, 0, 1, 3, 1, 2, 1, '\xff0e02'),
	('2026-11-22 06:44:48.172922+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 1, 0, 0, 2, 1, 1, 1, '\xf50e081e3e9a069c04de016e501216060402020411027702'),
	('2026-11-22 06:44:48.172922+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 1, 0, 0, 2, 1, 2, 1, '\xfb0e74de01b803b0048a01484046523e1a120c020406040902020d02630202'),
	('2026-11-22 06:44:49.172922+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 1, 0, 1, 3, 1, 1, 1, '\xfb0e02'),
	('2026-11-22 06:44:49.172922+00', '43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 1, 0, 1, 3, 1, 2, 1, '\xff0e02'),
	('2026-11-22 06:44:49.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, 0, 0, 2, 1, 1, 1, '\xf90e040e060814243c22080406'),
	('2026-11-22 06:44:49.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, 2, 0, 2, 1, 1, 1, '\xfb0e060a08122c341c060a02050202090202'),
	('2026-11-22 06:44:49.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 0, 0, 2, 1, 1, 1, '\xf90e0888013202020702'),
	('2026-11-22 06:44:49.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 1, 0, 2, 1, 1, 1, '\xf90e0af202b401220e040a030202'),
	('2026-11-22 06:44:49.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 1, 0, 2, 1, 2, 1, '\xfb0e0203108803a201100c08020206040202'),
	('2026-11-22 06:44:49.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 2, 0, 2, 1, 1, 1, '\xf90e0c5e1606020e18060c'),
	('2026-11-22 06:44:50.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, 0, 1, 2, 1, 1, 1, '\xf90e0252561802050202'),
	('2026-11-22 06:44:50.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, 2, 1, 2, 1, 1, 1, '\xfb0e2262240c02030204'),
	('2026-11-22 06:44:50.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 0, 1, 2, 1, 1, 1, '\xf90e04345c1a020403080a02'),
	('2026-11-22 06:44:50.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 1, 1, 2, 1, 1, 1, '\xf50e04020268a20282011c020306160604080702030207020202'),
	('2026-11-22 06:44:50.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 1, 1, 2, 1, 2, 1, '\xfd0e02035c9e028a0116060802080204040c0404020402020306040b0202'),
	('2026-11-22 06:44:50.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 2, 1, 2, 1, 1, 1, '\xfb0e2e542a060202030204'),
	('2026-11-22 06:44:51.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 1, 2, 3, 1, 1, 1, '\x8d0f02'),
	('2026-11-22 06:44:51.563751+00', '8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 1, 2, 3, 1, 2, 1, '\x930f02'),
	('2026-11-22 06:44:52.261397+00', '11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 1, 1, 0, 0, 2, 2, 1, 1, '\xbb0c0e0d102b100d101502471009100b101102070e'),
	('2026-11-22 06:44:52.261397+00', '11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 1, 0, 0, 0, 2, 2, 1, 1, '\xcf0c0e2f080807100710050231100b100b1029020e'),
	('2026-11-22 06:44:52.643146+00', '1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 1, 1, 0, 0, 2, 1, 1, 1, '\xd10d080310111013020e083110031003100f02090e'),
	('2026-11-22 06:44:52.643146+00', '1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 1, 0, 0, 0, 2, 1, 1, 1, '\xc90b02cf010c031010111003028901100310101b020c3502'),
	('2026-11-22 06:44:53.351746+00', '9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 1, 0, 0, 2, 1, 1, 1, '\xf90e18e806d809d609de01141c283c1410180202080b049b0104'),
	('2026-11-22 06:44:53.351746+00', '9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 0, 0, 0, 2, 1, 1, 1, '\xf90e18ca07a00ca208a801100803040805040f04f30104'),
	('2026-11-22 06:44:54.351746+00', '9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 1, 0, 1, 2, 1, 1, 1, '\xf90e0403080804'),
	('2026-11-22 06:44:54.358416+00', '9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 1, 0, 2, 3, 1, 1, 1, '\x830f04'),
	('2026-11-22 06:44:54.351746+00', '9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 0, 0, 1, 2, 1, 1, 1, '\xf90e04040404040d04'),
	('2026-11-22 06:44:54.358484+00', '9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 0, 0, 2, 3, 1, 1, 1, '\x970f04'),
	('2026-11-22 06:44:55.07807+00', 'd844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 1, 0, 0, 2, 2, 1, 1, '\xe30502410405020504030205040203040c2c1c3248483c6048544440282c262410283040788801f401d003bc049006dc07a80ac00b8a0dfc0ff021d22584258e21e61cac16f2148a10d00da80dac0ad80a8c0bd40bf00d840ff40ec80e8c0fd810b011c611ac14ca139e12c012b0109411ce119c14901a8422c42be0389841ac4ab850a853a4579854f852f84ef04ea04af042b840cc378c35f030cc2dd027d826a025dc2180228c22ec1ffc1fd81e941fcc23a42bec31dc4194c201f8b902fca103b4ce0384d103d09e03fc870388dc028cc502ec9e02d4e80180ba01fc9001f871c85cfc4ac845f045cc4bd050ec53d85dd464dc668867a06abc698c62ac59e850cc44f437a830f42ad422881e881dd81ed41ff020c822b821d821f022f81fe41f981fc41dc01ba41bf4179c179c13dc10ec0ea80db40b9c0db40ca80cf00bf00cb00ce40ce419f0189018e8168015f410c80fa40db80dc00c980c8c0ad808f8089008fc06a006d806d005fc04c805a005d804a404c403a4049004f402bc03e80380039c03fc02a0038403c003e003d002b403fa02f002d0028a0290029c02ae02d801b801b401a001c0019401e80188016c980198019c01c0019001ac01b401d801a801c004e006a206b007f008e409840ab409f807b409ec08c80884099c08c006e406e405ac048404b803f002f802c2029802f4019802fa01dc01e2018002da019401b4019001ac01a8017aa001880198016c6876747c78647460508001744c6654686c8001747c880188018401ca01f403cc049006b005840686068406e005ae05b404c404d802e402f602b002e001e001d001ec01a2019201ae019c016884017098017cac019c01789c01a4019c01ac01ac01f401e401ec01f801ec018002d001f401e80194028c02e001f401f001d8019c01bc01800290017c786834485e4c5448788401a801c4016ec001ec01c801c001b001b001940198015c50604440382c34604450606444343820282c202c242c1c1c203024242414141014201408240c2014180818181808180818041c14180c0c04180c1004080c040403040304070408030403040404030c0308040b0811040704040404040b0c04100407080403041b045b0807040413080808089301040408f10108f30110'),
	('2026-11-22 06:44:56.07807+00', 'd844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 1, 0, 1, 3, 2, 1, 1, '\x8d0a040504850308'),
	('2026-11-22 06:44:55.07807+00', 'd844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 0, 0, 0, 2, 2, 1, 1, '\x810602090203040702020702030807020b0404030602041018141c262838505e54604a44405458585aae01ce018c02e003b808d812ae1ba022a02bbc39ee43ac48f89701848f01fe7fd06ae656824ba23de2349c2f982da02ad82cb82f8c31a038c038ac3d8e42d444a045d644de429e42f041c83cb83df035f8368a339e31fc2fd037b83cdc40c445d446a44ef04a904de44cf0528254f05598519c50a44f90489c43a041b43dc03a8435dc33c236c4359833a837ec36a438d836a8358c37c03b9847a4bd01a48e02b0cf02c0ed0298f002b4e002e0e402d0df02fccb02d8ac02d4fa01cccb01f4a201f08301ec68c85fec51d850dc4b8649cc47984ea0508853ac53fc52fc4eb84ab445a83c9c38bc309e29f822e61da01be41b8c1bb01bd21cb01c941c881dcc1ef81ce01df01cd81c8c1ac418a017f814ea14a010b00d8c0dfc0bec098c0a900a880af20ac80aa40b8019dc189017b6149c128012de0e800fdc0eac0ff010c4109011f811ac148814fc12b813a412d811b40f800fb00dfc0ce80aec088009fc068806d005e404a004d003b403e0029002bc02f801e801e401c201e001a401dc01b801b401cc01a8018c018801c4018c01c001c401b401f401a402a402d402b402f0029804f4039804e808ac0cf80cf80df00eca0fd00ed00fbc0eb00d940ca00cbc0c8c0df00bfa0bec0a8c09fc07d806d005c404d4039c03ac02a402f001c401c401d6019801b00198019c01e001a0016ca0019001b001a001a0018801a0018001ac01b0019801ac01900180015454840160685c44504c4050442450545454800150488801b001a401bc01a001c801b0019001a8016ca00170647c7044441c304430504c30384c4c4c3854443c4440683c584854305c483c283838382c282c2c14342048201c3838286038183c101c242c24200440241414281010182008100c100314080804080c0c0804100c040c04100808040804080408080414040404030805140404240504040c0408030803040304030c0404080403080304040904040f041704050403048f0104048701082d0803080308750c04ef0308'),
	('2026-11-22 06:44:56.07807+00', 'd844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 0, 0, 1, 3, 2, 1, 1, '\xe10a0404f902040504'),
	('2026-11-22 06:44:56.787256+00', '62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 0, 0, 0, 2, 1, 1, 1, '\xf50e02032e8003e20ae40b8c0322180c100408040407045704'),
	('2026-11-22 06:44:56.787256+00', '62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 0, 0, 0, 2, 1, 2, 1, '\x810f04020502150221022b0209022d020304040502090205020205020204020d040302030209020302030202020203040403040402070202030405020205020302030203020209020302170203020b020d020902040207040203020506020c02020804020204020302050402020302030408040403040206040304070202020b040b02040203020605040506020604080a020406020306030805080504030204050204020302030402020302040203020202020202020404020c0608060803040304040306060e0e0a0e10160e14100c02060a0c0a120a0a0a0e140c1014180e080306100e0e0c020a06101010060204040206080606030404040206020a040a181a10260a182020200e12080a0a1626101c0808040a0e100a060c141a0c080608080c08061016140c0e0a0c040a0c0808120e0a0e0c0c160a0a121206140e3028100e1c2e285216162a3442381c24160e221442561a283e1a14163072181e283214100c182410403c24183a18281408');
INSERT INTO lockstep.interval_histograms_2026_11 VALUES
	('2026-11-22 06:44:57.787256+00', '62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 0, 0, 1, 3, 1, 1, 1, '\xff0e04'),
	('2026-11-22 06:44:57.787256+00', '62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 0, 0, 1, 3, 1, 2, 1, '\xe11604'),
	('2026-11-22 06:44:56.787256+00', '62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 1, 0, 0, 2, 1, 1, 1, '\xf70e02428003940de609de02221a1008080304'),
	('2026-11-22 06:44:56.787256+00', '62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 1, 0, 0, 2, 1, 2, 1, '\x810f0603020502350207020d02070207020d02050207020b02030203020b02020d0203020203021d0211021702020609040302040304070205020b040b0202110207020b020205020302020502060504030207040b020402050202030204020502040802060206020202040409040d040b04030202020504040404040a08040204040202040408061406020a050604020403020304020302020203040302020203020402020a0a0816080c100606020204030605040204080808060c0c030a060a060606080c03040204040c0a0a141220120a0403060204040308020406020208060c08020406080a04020a060204020204020802141a1a100c0c040810080416321a0e080a060e12060c141212080a0a080c060814160a080a0a0c0808160c0e0a160c081414140818120c1a2a3426161a12060c103250280e38242214582e1216220e281c161e121610100e24321a120c18260e2630202e160c2022101c242214241c181614204a1e302c182e1c1426'),
	('2026-11-22 06:44:57.787256+00', '62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 1, 0, 1, 3, 1, 1, 1, '\xff0e04'),
	('2026-11-22 06:44:57.787256+00', '62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 1, 0, 1, 3, 1, 2, 1, '\xf71604'),
	('2026-11-22 06:44:58.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 0, 2, 1, 1, 1, '\xd30902130223041502230207040207020402110202090402020702040206060203040402020a030a100a100a0c0e0a060c0c0410040e120c141e2814142424362a162414201e362c2e34364270525e80017c7084018801aa019a01a801b20182038c03a604e4048e06ae06fe06f606aa08f407800890099809a2099809fa09ac08da099a0ad809ca0ab80afc09a609d209e009e808be09d609b209a209d4089a09fc08ca08c607fa06fe06ec05be06f205be0598058c05ba04ee03fe03b003a003ae0396038203c8028002fe018a02f001e401dc01be01aa019601606aa801960182015e685c2c421a223a3e2018181a181612161c100e160406080a080812100a1204020a12040808100410020602020e060202060e03020208020206030404040808020c0306060c020a030202060306100708080402030608040b04020f040403060d0603040202030c060302030405060a0206170a03060b020f060604020e020204050402050603020302020b020202080304030406040202090207040607060202211403080902023d04'),
	('2026-11-22 06:44:58.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 0, 2, 2, 1, 1, '\x890a020f02170202190207020d020502170209020d020b02030404050402060302050203020608060c040a0a080c080c06060806040a10081a100c201c0a2a162a281e5a6c9e01c201fe01b002ba02f401ca02c60286039a03b403aa03d403dc03ca03fa039004a20498049204da04be048e059a049a04da03ee03a004aa04f603ce04ea03fe03e203cc03b803b803c403f402a403c402c802c402a402a40294028a02e001e201d401e001a801a40192018e015e7e686a504a4aa6018801645e403e2a2632201422121616100a0e0e0c1002060402030604030a060a0a0a060404040402020604030404070205040404050202030203060208020603020506030204060403020302020702040602020607020702020902030205020b04030203040304030602070803020406030406050203060409020304090207040b02020805060405020d040302020402070202070608050e0b08090204030402040702050211020502060902060702040904080302030202030203020302060f04'),
	('2026-11-22 06:44:58.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 1, 0, 0, 2, 1, 1, 1, '\x9909026d021302130213022302070203020b0202020406020202030203040202060204020a04060a040e0406140c0a0e0c160a060a0a0c14101624181c242422201a222a322e46304a4c54840186017e9c01a401aa01c6018a02b603ba03e804e004b606a8068007b2078a08ec08a4089608dc078808f808b809ea09c20ad00af209c409a20ac009980ac2099c0ae409bc09ec098a0aac098e0888098608be07c807e4069407ce06e405a4059006b205f204ee04a804f603a204ba03b803f0029003d402a402aa02cc02c001b201d801ba01bc01960186016ef201aa018401765a6e583c3c2c241a1416181e14261e0e0c0a0e140c10060604101a0a06160a060206040808040c07040a0603020a08040d040603040e0a080c050406060203060408040a060602040a080302020a020502040302030402020506030203040605020702040302020d020803040608030403020206030409040605040403020502110404020406020c040302040405080d0813080e0215080802020202060504021b0406080b06'),
	('2026-11-22 06:44:58.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 1, 0, 0, 2, 2, 1, 1, '\xb30a045702020203020d02030407040203020504040605020206080a03060403040204040c080608040e0e0c120a1e0c1c1e281e1e344c70c001be018a02f801c602c002d402ee02fa02f002fe029403ee028803e003f803ec038a04a204bc04ba048604be049c048004c404bc04bc04e00380049a04da03be03c6038e039c039c03fa0282038803dc02d202d802de02c002be02e0018202e001cc01a201ac01a00196016894015a820156685c4890017c70482c303428221a1e0e160c10061206120406060414080604050806060402040604040203040a020706040403040204040b0204020502050a030203040203020302040204020404080206050a0203020306040502040304050402020304040202110202050402050204030206020605040302020302090203080c020403040207040702040402030202060204060204020204070405040f040706020807020b04080506020f020f020304020e03040302030c0207020405060202090207020506'),
	('2026-11-22 06:44:59.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 1, 2, 1, 1, 1, '\xa309027d0207020d020302030604070205020206050203060202080308030a080e0608100618100c101e1e221e1430322c2e4e365a505e5e5c7a9401769a019e01ce019202b602bc02f802b803f003d2049c05fe05bc068e07e008ee08e609f209900b940cda0cf40d9c0da20fbe0eee0ef60ee00ebc0db80eb80dc00df20dac0ddc0dd60bc40b980bd80ace0a9a0ae40a8009f008b809c210ba10d80fc20e900e9e0ca00ba00be40ad209a009e008c80788078a06ea04e4049004cc038c03cc02fc01ee01f401b401a2018a01787852484a4c3656263a261c26343a242828261c14121e26161e0c12160e0c080a10160602100808080a06180c0a0b0403040a0304070606030202040603040604040304050402020d020508020706040f020502020302040206030203040302190219020d020d0406070205020205040f0206080203060904030603020304060211021f0204040c04060402070805020204080802020a0c05061f0803062d0a06'),
	('2026-11-22 06:44:59.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 1, 2, 2, 1, 1, '\xa30a0219020f020d020b020902030402040502060203080a061010140e1e1620101c161818241c423e5c4a7698018c01ca018002ce01de01d602e60280038203a603f003e603da04f0049805ba05b0059205be05a005d005a005ba05cc05d605a005c4059c05da048005a405cc049205d404b004ce04ca04de04a009fc079608fa079e07fa05f005be05bc05d804a0049204d2039e03aa038e03c802bc02a402f601f801d601ae0192018401765e4a44423c34362016161a1a28121a1c0e101c0e160a100c0a0a0a0c080e080408020a0403040604040206080a040807040203060e0403040202030203020902040209020604020207020207020d0609040502020502050202020702021b020302030202110204170219020f040203020b04030207021504022106020602021308080506060502021f0202040302'),
	('2026-11-22 06:45:00.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 2, 2, 1, 1, 1, '\xe70902020d021f02050211040704090404020203060804020308020406030608020202020c0c02060a030a0a0c16102436201c36283042284a5e4a547c6e748801a201c601d001f0018202f402d003ca03be04fa04ea05e406d6068e08e009fe0ae20b900de20dba0eb00f9810ae11e612a8138613e4118c12aa12e8108a11e20fb80fc80ec00de00dd40b8c0bb20be609840ad609c809f209ee08fa07ac09d80fc20ee40c820c840bd60a9009ee08ea06aa06b405c204e803d203e002ec02ea02d402ca028602ba01ae01a00194017a8201603a4a34282e30282a1a141e180e1c0c161612021a0e0e0e100204080c0410040808080802030608060a03040606020602080a060306020304020304020c101820201a362e26202e36302220162c220c0a242c1c1c12161a161e1c18060c080c060e060606040c050602020304030407040223025b0206040e110206040302070204060f0406020d0404020402070804130c0302060506030615020a'),
	('2026-11-22 06:45:00.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 2, 2, 2, 1, 1, '\xa10a0221020202030205020302020702020504050202070604060304020a060404080e0a1614141c161c221c28201e3e60527a9801aa019a01b201f001a202dc02f602f003d803f803e004de04a405c006c605ce06c606fc06f406a006f206b207c006c006ae06ec05ca058a068c05f604c804d004f004ca04e2048005ec04cc04a204b8048e08d008ee07a207b806a806e8048604fa038c039003a802a402a802fa01d401ce019a01b2018201aa018c017e54544e201c2c222a281218121a1810060c081202040808080a060604060204020402080c03040802040208040202040208070205020206020403020302060404060c0a1c1416100e18141210121818100a0a0c080e04020806040e0a0304020a060306040a040407020202020402350217040205040237020215020b020211040f040702060603041504050809041904'),
	('2026-11-22 06:45:01.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 3, 2, 1, 1, 1, '\xcd09023902130202430203020502090409020202030402040204080402080a0c0a06160a12160e122216161a202a2e2a24384050345c5a5c74629c018a01a001d401c8019202ba02dc0282038e03f803de04ca05c806d606d6068008c608a409900a9a0b820cca0cc00eb81d8c22b022f8229e22dc1f961cfa19ec15ea14bc128811900ef00c960bea09e808c206ca0686058004ae03ca029e0296028e01a60194017c7c6454543c48483e301e242e26221c242a161412081614101a120c0c100a08120e040e08040a200c06061a08060206080304040304040204060606040404040205020604020904040d02090411020302090203020f060306040304050209040d023d04080302310408030806110a0806030a140a19040a0203020a030203021702060a25020802'),
	('2026-11-22 06:45:01.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 3, 2, 2, 1, 1, '\xe10a021302020702090205020203060204020302040202020304040203020404040c0a0e040e0e1226120e2820321c2a564a585e92019201aa01a201ec019202b802ca02f602a203ac03f203e203b004d404a805dc0aa80cb00dd60c800cc60c9a0ba40a94098609e2089208ba07ae07d606ec06f2058405d004ee03fe02b602f601c801d0017c7666525854322a2e301e281e28181e262612080a0e08080a12120812080408030802020602060c060804080204060206020406060804050203020204020806020402030204050402030211020207021302290223020904050207022102390405021104020708030221040704190a04270202'),
	('2026-11-22 06:45:02.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 4, 3, 1, 1, 1, '\xe70b020f0403020902cd010202'),
	('2026-11-22 06:45:02.502922+00', '13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 4, 3, 2, 1, 1, '\xe10d02'),
	('2026-11-22 06:45:03.304896+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 0, 2, 1, 1, 1, '\xdf090245020d02022702020b0211020506020304040302020302030404060a0402030608080a0a080404060c040614101c181a161410161a1814101e18263222202a40362632524e6254648a01789001c001f402b403fa038605c005e405d006940796088a09a209a209d00a820acc0a9a0be20aba0afa0ada0bc40b900bd00ae609ce0aea09d609ce08e609d208fe08bc088008ea07f607a607fa06b406d405f005ea04de04ee04b204fe03f803e80386038203d602d002e401a602ee01de01aa01a0017c9e017a7292016c48ae016472584c2e3e342a2224140e202c1c1c1e181c1a1a0c18140e0606100608080a180e0e182014101610260c20241c0e161a282a241a14262e26261c34121a1c342024121a280c0e1c180e040e060304060404060202060302050208020502040a040603080405020803020202030203020402030203020b020603080706020302050411060202020304021d04050403020b020403080e0205041d0412020f040c03020a030611040904'),
	('2026-11-22 06:45:03.304896+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 0, 2, 2, 1, 1, '\xc90a02090209042b020402030219020702090203040306040306020c040502040402080404061408140c0a04100816141a161442587880018601d4018c02c802a4029603fe029a03ac03ac03da03da03ca039404de048c04fe03ca0480049604b804c004cc04c0049804c004cc0482049c049c04ee03de03da03d403b003f802fe02c002a602a00296029a028e02aa02e001ea01ce01d00198018c0178667460665a464a4e3c80015a483c341e2a221c180a0e0a0e0a0e100a0c1208120a0c0e0208080606060a04030402060804040c080c0a0c04020a0a0a060e12160a0e0c141208120c0c0e10121e0a140a120c160c080a0202020404020402020302020403020302060502040302030202040504020702030203020405040202040f0205040207020202050402030205060204020803021302090a020202040502050403060402060405060203060404040407020402020308040502050204040a0504040209020704090408'),
	('2026-11-22 06:45:03.304896+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 1, 0, 0, 2, 1, 1, 1, '\xc5090237022f0213021d020207020b0203020502020304020202050604070202060608040606100a10040808040a0814140c08100a140612101624141c1610222824322a362c3036505054687a7a86017aa401dc02fc02e6038205b405ec06f006ea07e608da088a0aba09c009ac0abe0aec09f40ab40b840cac0bf20a900a940bf609920ad809aa098c09d809c008fa089209f807d407a007e007c007dc06ac068605bc05bc049205e004a2048404c203aa03e2029203b402cc028202d6018801a4018e019a017a62767a5e447e88017c584a303c3e2e242a14180c18140e1206120418020a0e100a1c0810040610080c08180c121614101026261c2020282418202c362a342c2e261c3012282022242c1a2c1c0c160e120e0a0c18030a020302040404030203060306060202020a04030206020902020602050609060f020514090803020402170a080227020202030205020408020402060504060209021102060316020302090602060411020a0b0204'),
	('2026-11-22 06:45:03.304896+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 1, 0, 0, 2, 2, 1, 1, '\xfd09024f0235020502020302090404020b040302050204020502050202060304020202020402030402080608140e100e0a0a080416160a0a1a143a5e5ea601ae01ea01a402b402e002fa02fe02f8028603bc03be03a0039604f003ec038c04a404b804d404c204ba04c204cc04cc04e40494048404b6049a0496048a04c803aa03ac03a003ce02e402d602c602b2028c02fa018e02f001ce01ce01dc01d6019e018c017a6a820178644e384242345e6a4c323c2e241c1e182010160c10100c100814040c0804020408030e0808040a04040804020a04020608040a0e08080e1616080c140e1612140e1216160a0c121a0e140c180c040e100804020c06040802030206090204030602060403060502060304070209020502020706050203020302080205060b0402030403020504080304060502070206050205040504050205020204020502060302030206020306070204020207040202050204020302060702040806030809020502040304090202'),
	('2026-11-22 06:45:04.304896+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 1, 2, 1, 1, 1, '\xc70a023502020203040206040304040403060406080c0808081006061212080604080e06080a0c1010120e1416060e0a161e261a161e30282a28302e36241a32362e2a2a2c32443e443e323c4432384e4242785e4c363e4c4c5a50506a304a3a52663e346e4e542a322c36222a181c200a1e1a0a1814080c0606020a0408020a021008020408061006040a06080402040404020405020708021f02030204020502030204040902021f0207040405020502050605020213020502060b0205043b020d02030203026f0204'),
	('2026-11-22 06:45:04.304896+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 1, 2, 2, 1, 1, '\xcb0a0239020209040203020302050208040302050406040702030404020804020406060a0a03060a0208020c0e080e06080e0c040a0a100a1804141814141a0c100e1e2224242228262c2628222830162a1e1c161a20141c1c1a1620160e160c12140c0c0e06160e120c040a06020206040202040202020304030204070402080203040902020902020b020d02070203020d020d0203020302070202110203040306020d020504062502020502023302020f020203040203020b02040902020b0207020b02020402020b0205040906050403020902090602020308'),
	('2026-11-22 06:45:04.382753+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 2, 3, 1, 1, 1, '\xbb0c043102'),
	('2026-11-22 06:45:04.382753+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 2, 3, 2, 1, 1, '\xf10c02d3010205021904'),
	('2026-11-22 06:45:04.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 1, 0, 0, 2, 1, 1, 1, '\xd3090219021702550219020b020702020902050403020a050404090402060604020218030206060804080e020608040606080c0a080408060c0c0c1210161c14201e3a5e7eae01b401e201e2018602d802da02a603b80388048c058e05c805c806a007de08cc08ec09c40ada0bb80bd60c900c8c0cec0bdc0bb00cb60be20a880aa60ab2098609a609f608f208d008c6089a08f2068e078007da05b205b8059205a2059c04b804f2038c04ae03ae03d4029002f601d601b8018c018a019601e601f601860150543c3442283c1e221816120a0e08060e08060e0606060a08020a0822121a20181c14181c2024121c142028242210161016262e1a2c0c10181c18141c281a2e16141c060406030202790203060302020403020407040b020604020603040204020e030209040206040f02030813040404040405080606061702081d020608'),
	('2026-11-22 06:45:04.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 1, 0, 0, 2, 2, 1, 1, '\x830b0203020702040302020902030402030207040502040203040205020405020902070202070407060308020404121a0c120c18182a423852726aa001be01bc01d6018402aa02a4028203a403b003c2039204e003aa048a049404ac04e004e804b20480058205ee04e604f204a604c804c604c804de03ce03fa03ac03a6039e03e602a203b002b402ee018c028c02f601c401c401c00186018401960196018c01f4018601a8015e5e5e36262414261810041006040a06020606080802020402040308060e0e04080610080806080c080e0e16080a060e0c08121c0a0a0a060e060a100e10100a0a1804020202020402830104021302090203020304030202110204170603020b04040405040402030202021d0204'),
	('2026-11-22 06:45:04.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 0, 2, 1, 1, 1, '\x810a021102090223020b020d0413020302020d06040502050209020f0605020404030403020402030202080302040602030802030a02020606040e0a040a121014100a18180e4854629e01a401e401f401f201ba02e602ec02ee03ca048805ce05a406f4068c088408be08aa09ba0af60af40ae00ba80cfc0be40bd00baa0bfc0bd80ac20bdc09920ae409f208c608e8078c08c407c8079c07f607ac06c006e6058006a805fa04f604c404ec03ba039c038003e202ec028e028e02cc01a60194015cd001c201a40172604e302c203826281228180a06060a04060c06080a0c0a060c040c0e160a14120e1e262216221a2e2c28242c201e1828141e24140e0c0a1614181418102e22260a12160a12060203061304023f020b020f02060708030a210402020604020202020308070804050202020d0204021104040e030403060408030c02190a02170408'),
	('2026-11-22 06:45:04.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 0, 2, 2, 1, 1, '\xe50a022702040d020f020d02040203020902030204030204030203020b06020603040206020202060e0c181020123c322a5262728601a001ce01ea01fa018002da02a0039c039c03b603e003c203ba04a204fc04fc04be04ca0498059e05a205e804b0049e0592059e04b604ce04f803ce03a603cc03e402de02de02c402c602900292028c02e801e601cc01aa019e01b201b2018c0188015ae201a80192018c0152464632141a2622141e18140a08040606080a04020203020302030202080208080408060a0c101010040a16100e1810120e0c0a060a10060c040a0a1414100e0e04040604020203022d0227042f040f020d0202060403040f020302040302110a0f04050206030203020205021b041d020302'),
	('2026-11-22 06:45:05.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 1, 2, 1, 1, 1, '\xcb0902190205021d021102330207020d0202070217020306020704040502040504020202040203060604020203020406020e080408020e0a060606080c0404060c1208120e140c1a062822160e264056669001b801d801dc018c02d602fe029203da03c804e6049006e406e806e608a209b60ae80aa60c940cd00ca60dda0cda0cde0cce0cf60cb00caa0cd00ba40bbc0bb60bc20ab40a9a09c8089c08b808e6079407fa06be069606b205ca05b405be04fa03b4039003b402ca029402d201ac01b201940162584c9001785a3e3238302636260e16100c160a08060a08030a0603040a0802030a0203020603040209040402030404080302020502020407020207060302030203021102024902030603061f0204130403060f0605020205020504030c080c09060204020d08090205040e0208030408050203020606050808020603060205040d0206080f020604'),
	('2026-11-22 06:45:05.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 1, 2, 2, 1, 1, '\xe5090235023b0221020b020b020d020b0202020202070204030406040405060206020204030404020202030804020302030402040a040806101e0e0a201a1a36403e2e4a78789e01ba01ce018002aa02f002ac03aa03e003ec03be048005e004e204a404a205c2048805ec059205f8058a05fc04c205ea04a80490058804ca04f403e603ac03f002fe02f002fe02b40294028602e201e401ee01b201a201c801b401a0019201820174900192018c016624283218160a1a1e0c0c161404041002020602040304080702030203040404020207040504070202090209020202050202050419024f0225020d0203060f060d020904020211021b0203020602040207060b0202040407020302250202'),
	('2026-11-22 06:45:06.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 2, 3, 1, 1, 1, '\xe30c020302650204'),
	('2026-11-22 06:45:06.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 2, 3, 2, 1, 1, '\xdf0c0203026b02'),
	('2026-11-22 06:45:05.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 1, 0, 1, 2, 1, 1, 1, '\xc10902330253040f0209021f021d0202040203020206050404030404030604020a0a020e040406020604020608060404060c04061006100c10140a241a54587086018c01c201e2019a02e6029c02a603d803fe03f8049605dc069a07e8078809e609f00aaa0b820d820daa0eea0ede0cf40c920ee40c920d860cca0ba00ba60bf20aea09aa0ad6098a098c088408ce08f8068207c606d605da059405c404b404c003ce03ee02c4028802fc01cc01b001940182019a016e728c016e70602e3a322e1c1c1e08140e12100c060c080a0406060408020a060404040205020b08060406080704060203020504090207060611024502250205041b0402040f040206110402050604040404060203020d0802030402030a0906030a03040b0404020302100605080211040a15020405020304'),
	('2026-11-22 06:45:05.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 1, 0, 1, 2, 2, 1, 1, '\x850a0237025f040902040f0203020502030403020302040b0405040304020604020402080406040c041008081610202424303a46486a7cac01ea01d401ee01b8028a038403dc03fe03b204aa04e604ee04b605a40592058805ba05dc05a005ea05fe04d405a405bc04f204b804ca0482049204e803bc039003f602e402c802a20280029a02dc01b001ca018a016c86018c018401a6016c7ebe0176764e6252362c1a0e10140c12160a0c08020c100a0a0c04020302040304040403020b02020203020702030404020302050207020302030202090277020613020b02040d020302130a0902020202030403040d0203020502020502040603020904020607020206020b04020b022104'),
	('2026-11-22 06:45:06.71969+00', '644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 1, 0, 2, 3, 1, 1, 1, '\x930d0204021d0203040902'),
	('2026-11-22 06:45:07.41971+00', '3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 0, 0, 0, 2, 1, 1, 1, '\xf70e0c9004ec0c94088a029a013c10100a0a0508040b04040702060304040d04030417040d04045f040704'),
	('2026-11-22 06:45:07.41971+00', '3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 1, 0, 0, 2, 1, 1, 1, '\xf70e16c403940ebe07e601aa01400c100408050404041104040407040708070437041d042b0427043104'),
	('2026-11-22 06:45:08.41971+00', '3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 1, 0, 1, 2, 1, 1, 1, '\xf90e363e2e1a10080508190409044904'),
	('2026-11-22 06:45:08.481067+00', '3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 1, 0, 2, 3, 1, 1, 1, '\xf90e0202'),
	('2026-11-22 06:45:08.41971+00', '3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 0, 0, 1, 2, 1, 1, 1, '\xf90e34461e1818040c0d04030413041504'),
	('2026-11-22 06:45:08.48097+00', '3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 0, 0, 2, 3, 1, 1, 1, '\xfd0e04');


--
-- Data for Name: interval_histograms_2026_12; Type: TABLE DATA; Schema: lockstep; Owner: -
--



--
-- Data for Name: jobs; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.jobs VALUES
	('ead0fe38-d59d-4d94-bd3d-e3db6f0934e2', 'nothing', '{"name": "nothing", "hosts": {"count": 2}, "phases": [{"run": {"workloads": [{"name": "a", "direct": true, "engine": "ENGINE_NULL", "pattern": {"random": {}}, "targets": ["none"], "threads": 1, "readRatio": 1, "closedLoop": {}, "queueDepth": 2, "blockSizeBytes": "4096"}], "durationNs": "2000000000"}, "name": "full"}, {"run": {"workloads": [{"name": "w0", "direct": true, "engine": "ENGINE_NULL", "pattern": {"random": {}}, "targets": ["none"], "threads": 1, "openLoop": {"arrival": "ARRIVAL_FIXED", "measured": {"phase": "full", "shareRatio": 0.25}}, "readRatio": 1, "queueDepth": 8, "blockSizeBytes": "4096"}], "durationNs": "1000000000"}, "name": "curve 25 %"}, {"run": {"workloads": [{"name": "w0", "direct": true, "engine": "ENGINE_NULL", "pattern": {"random": {}}, "targets": ["none"], "threads": 1, "openLoop": {"arrival": "ARRIVAL_FIXED", "measured": {"phase": "full", "shareRatio": 0.5}}, "readRatio": 1, "queueDepth": 8, "blockSizeBytes": "4096"}], "durationNs": "1000000000"}, "name": "curve 50 %"}], "targets": [{"name": "none", "null": {"device": "NULL_DEVICE_NOP", "latencyNs": "1000000", "sizeBytes": "1073741824"}, "sharing": "SHARING_OVERLAPPED"}], "minHosts": 1, "deadlines": {"armNs": "60000000000", "drainNs": "60000000000", "rejoinNs": "60000000000", "prepareNs": "3600000000000"}, "intervalNs": "1000000000", "onWorkerLoss": "LOSS_POLICY_ABORT", "storeFilesystem": true}', 'name: nothing
hosts: {count: 2}
targets:
  - name: none
    null: {latency: 1ms}
phases:
  - name: full
    run:
      duration: 2s
      workloads:
        - {name: a, engine: null, queue_depth: 2}
  - name: curve
    run:
      duration: 1s
      curve: {share: [25%, 50%]}
      workloads:
        - {engine: null, queue_depth: 8, open_loop: {measured: {phase: full}, arrival: fixed}}
', '2026-11-22 06:44:44.149476+00'),
	('7eeb6f2d-3ac5-4eb0-a3a2-f21eecaaee1f', 'nothing', '{"name": "nothing", "hosts": {"count": 2}, "phases": [{"run": {"workloads": [{"name": "a", "direct": true, "engine": "ENGINE_NULL", "maxIops": 200, "pattern": {"random": {}}, "targets": ["none"], "threads": 1, "readRatio": 1, "closedLoop": {}, "queueDepth": 2, "blockSizeBytes": "4096"}, {"name": "b", "hosts": {"names": ["node1"]}, "direct": true, "engine": "ENGINE_NULL", "pattern": {"random": {}}, "targets": ["none"], "threads": 1, "openLoop": {"ratePerSecond": 300}, "readRatio": 1, "queueDepth": 4, "blockSizeBytes": "4096"}, {"name": "c", "direct": true, "engine": "ENGINE_NULL", "pattern": {"random": {}}, "targets": ["none"], "threads": 2, "readRatio": 1, "closedLoop": {}, "queueDepth": 1, "thinkTimeNs": "20000000", "blockSizeBytes": "4096"}], "durationNs": "2000000000"}, "name": "full"}], "targets": [{"name": "none", "null": {"device": "NULL_DEVICE_NOP", "latencyNs": "1000000", "sizeBytes": "1073741824"}, "sharing": "SHARING_OVERLAPPED"}], "minHosts": 1, "deadlines": {"armNs": "60000000000", "drainNs": "60000000000", "rejoinNs": "60000000000", "prepareNs": "3600000000000"}, "intervalNs": "1000000000", "onWorkerLoss": "LOSS_POLICY_ABORT", "storeFilesystem": true}', 'name: nothing
hosts: {count: 2}
targets:
  - name: none
    null: {latency: 1ms}
phases:
  - name: full
    run:
      duration: 2s
      workloads:
        - {name: a, engine: null, queue_depth: 2, max_iops: 200}
        - {name: b, engine: null, queue_depth: 4, open_loop: {rate: 300}, hosts: {names: [node1]}}
        - {name: c, engine: null, threads: 2, think_time: 20ms}
', '2026-11-22 06:44:49.230389+00'),
	('7c6fb52d-4326-4672-87a5-dccfabed5172', 'write', '{"name": "write", "phases": [{"name": "prepare", "prepare": {"targets": ["data"]}}, {"name": "precondition", "precondition": {"verify": true, "targets": ["data"], "blockSizeBytes": "4096"}}], "targets": [{"file": {"path": "/srv/data/{host}/kept", "count": 1, "sizeBytes": "262144"}, "name": "data", "sharing": "SHARING_PRIVATE"}], "minHosts": 1, "deadlines": {"armNs": "60000000000", "drainNs": "60000000000", "rejoinNs": "60000000000", "prepareNs": "3600000000000"}, "intervalNs": "1000000000", "onWorkerLoss": "LOSS_POLICY_ABORT", "storeFilesystem": true}', 'name: write
targets: [{name: data, file: {path: "/srv/data/{host}/kept", size: 256KiB}}]
phases:
  - prepare:
  - precondition: {block_size: 4KiB, verify: true}
', '2026-11-22 06:44:51.606761+00'),
	('b9c5c1df-a3b5-4e86-b235-c3ea5f040bef', 'check', '{"name": "check", "phases": [{"name": "verify", "verify": {"anyRun": true, "targets": ["data"], "blockSizeBytes": "4096"}}, {"name": "cleanup", "cleanup": {"targets": ["data"]}}], "targets": [{"file": {"path": "/srv/data/{host}/kept", "count": 1, "sizeBytes": "262144"}, "name": "data", "sharing": "SHARING_PRIVATE"}], "minHosts": 1, "deadlines": {"armNs": "60000000000", "drainNs": "60000000000", "rejoinNs": "60000000000", "prepareNs": "3600000000000"}, "intervalNs": "1000000000", "onWorkerLoss": "LOSS_POLICY_ABORT", "storeFilesystem": true}', 'name: check
targets: [{name: data, file: {path: "/srv/data/{host}/kept", size: 256KiB}}]
phases:
  - verify: {any_run: true}
  - cleanup:
', '2026-11-22 06:44:52.318371+00'),
	('4839c533-3a39-4d33-9faf-8a6f3dfe82e1', 'nothing', '{"name": "nothing", "hosts": {"count": 2}, "phases": [{"run": {"abortIf": {"p99Ns": "10000"}, "workloads": [{"name": "a", "direct": true, "engine": "ENGINE_NULL", "pattern": {"random": {}}, "targets": ["none"], "threads": 1, "readRatio": 1, "closedLoop": {}, "queueDepth": 2, "blockSizeBytes": "4096"}], "durationNs": "5000000000"}, "name": "full"}], "targets": [{"name": "none", "null": {"device": "NULL_DEVICE_NOP", "latencyNs": "1000000", "sizeBytes": "1073741824"}, "sharing": "SHARING_OVERLAPPED"}], "minHosts": 1, "deadlines": {"armNs": "60000000000", "drainNs": "60000000000", "rejoinNs": "60000000000", "prepareNs": "3600000000000"}, "intervalNs": "1000000000", "onWorkerLoss": "LOSS_POLICY_ABORT", "storeFilesystem": true}', 'name: nothing
hosts: {count: 2}
targets:
  - name: none
    null: {latency: 1ms}
phases:
  - name: full
    run:
      duration: 5s
      abort_if: {p99: 10us}
      workloads:
        - {name: a, engine: null, queue_depth: 2}
', '2026-11-22 06:44:53.026951+00'),
	('63c9b6d3-52cd-4835-a4d8-305312638435', 'small', '{"name": "small", "hosts": {"count": 2}, "phases": [{"name": "prepare", "prepare": {"targets": ["data"]}}, {"run": {"workloads": [{"name": "mixed", "direct": false, "engine": "ENGINE_IO_URING", "pattern": {"random": {}}, "targets": ["data"], "threads": 2, "readRatio": 0, "closedLoop": {}, "queueDepth": 4, "blockSizeBytes": "4096"}], "durationNs": "1000000000"}, "name": "mix"}, {"name": "cleanup", "cleanup": {"targets": ["data"]}}], "targets": [{"file": {"path": "/srv/data/{host}/file", "count": 1, "sizeBytes": "2097152"}, "name": "data", "sharing": "SHARING_PRIVATE"}], "minHosts": 1, "deadlines": {"armNs": "60000000000", "drainNs": "60000000000", "rejoinNs": "60000000000", "prepareNs": "3600000000000"}, "intervalNs": "1000000000", "onWorkerLoss": "LOSS_POLICY_ABORT", "storeFilesystem": true}', 'name: small
hosts: {count: 2}

targets:
  - name: data
    file: {path: "/srv/data/{host}/file", size: 2MiB}
phases:
  - prepare:
  - name: mix
    run:
      duration: 1s
      workloads:
        - {name: mixed, block_size: 4KiB, read: 0%, queue_depth: 4, threads: 2, direct: false}
  - cleanup:
', '2026-11-22 06:44:54.420191+00'),
	('8770abee-df54-4209-b851-8e01be21c729', 'nothing', '{"name": "nothing", "hosts": {"count": 2}, "phases": [{"run": {"workloads": [{"name": "a", "direct": true, "engine": "ENGINE_NULL", "pattern": {"random": {}}, "targets": ["none"], "threads": 1, "openLoop": {"ratePerSecond": 5000}, "readRatio": 1, "queueDepth": 2, "blockSizeBytes": "4096"}], "durationNs": "1000000000"}, "name": "full"}], "targets": [{"name": "none", "null": {"device": "NULL_DEVICE_NOP", "latencyNs": "1000000", "sizeBytes": "1073741824"}, "sharing": "SHARING_OVERLAPPED"}], "minHosts": 1, "deadlines": {"armNs": "60000000000", "drainNs": "60000000000", "rejoinNs": "60000000000", "prepareNs": "3600000000000"}, "intervalNs": "1000000000", "onWorkerLoss": "LOSS_POLICY_ABORT", "storeFilesystem": true}', 'name: nothing
hosts: {count: 2}
targets:
  - name: none
    null: {latency: 1ms}
phases:
  - name: full
    run:
      duration: 1s
      workloads:
        - {name: a, engine: null, queue_depth: 2, open_loop: {rate: 5000}}
', '2026-11-22 06:44:56.459512+00'),
	('dc39469f-5763-4deb-84ae-33fe0449ba4f', 'small', '{"name": "small", "hosts": {"count": 2}, "phases": [{"name": "prepare", "prepare": {"targets": ["data"]}}, {"run": {"workloads": [{"name": "mixed", "direct": true, "engine": "ENGINE_IO_URING", "pattern": {"random": {}}, "targets": ["data"], "threads": 2, "readRatio": 0.70000000000000007, "closedLoop": {}, "queueDepth": 4, "blockSizeBytes": "4096"}], "durationNs": "4000000000"}, "name": "mix"}], "targets": [{"file": {"path": "/srv/data/{host}/file", "count": 1, "sizeBytes": "2097152"}, "name": "data", "sharing": "SHARING_PRIVATE"}], "minHosts": 1, "deadlines": {"armNs": "60000000000", "drainNs": "60000000000", "rejoinNs": "60000000000", "prepareNs": "3600000000000"}, "intervalNs": "1000000000", "onWorkerLoss": "LOSS_POLICY_CONTINUE", "storeFilesystem": true}', 'name: small
hosts: {count: 2}
on_worker_loss: continue
targets:
  - name: data
    file: {path: "/srv/data/{host}/file", size: 2MiB}
phases:
  - prepare:
  - name: mix
    run:
      duration: 4s
      workloads:
        - {name: mixed, block_size: 4KiB, read: 70%, queue_depth: 4, threads: 2}
', '2026-11-22 06:44:57.836549+00'),
	('b6c30a6d-ec60-4806-8842-50c48629a6c2', 'small', '{"name": "small", "hosts": {"count": 2}, "phases": [{"name": "prepare", "prepare": {"targets": ["data"]}}, {"run": {"workloads": [{"name": "mixed", "direct": true, "engine": "ENGINE_IO_URING", "pattern": {"random": {}}, "targets": ["data"], "threads": 2, "readRatio": 0.70000000000000007, "closedLoop": {}, "queueDepth": 4, "blockSizeBytes": "4096"}], "durationNs": "2000000000"}, "name": "mix"}, {"name": "cleanup", "cleanup": {"targets": ["data"]}}], "targets": [{"file": {"path": "/srv/data/{host}/file", "count": 1, "sizeBytes": "2097152"}, "name": "data", "sharing": "SHARING_PRIVATE"}], "minHosts": 1, "deadlines": {"armNs": "60000000000", "drainNs": "60000000000", "rejoinNs": "60000000000", "prepareNs": "3600000000000"}, "intervalNs": "1000000000", "onWorkerLoss": "LOSS_POLICY_RETRY", "storeFilesystem": true}', 'name: small
hosts: {count: 2}
on_worker_loss: retry
targets:
  - name: data
    file: {path: "/srv/data/{host}/file", size: 2MiB}
phases:
  - prepare:
  - name: mix
    run:
      duration: 2s
      workloads:
        - {name: mixed, block_size: 4KiB, read: 70%, queue_depth: 4, threads: 2}
  - cleanup:
', '2026-11-22 06:45:02.647284+00'),
	('845f770b-4aa9-4dea-b659-44dd85c35a82', 'nothing', '{"name": "nothing", "hosts": {"count": 2}, "phases": [{"run": {"workloads": [{"name": "a", "direct": true, "engine": "ENGINE_NULL", "pattern": {"random": {}}, "targets": ["none"], "threads": 1, "readRatio": 1, "closedLoop": {}, "queueDepth": 2, "blockSizeBytes": "4096"}], "durationNs": "30000000000"}, "name": "full"}], "targets": [{"name": "none", "null": {"device": "NULL_DEVICE_NOP", "latencyNs": "1000000", "sizeBytes": "1073741824"}, "sharing": "SHARING_OVERLAPPED"}], "minHosts": 1, "deadlines": {"armNs": "60000000000", "drainNs": "60000000000", "rejoinNs": "60000000000", "prepareNs": "3600000000000"}, "intervalNs": "1000000000", "onWorkerLoss": "LOSS_POLICY_ABORT", "storeFilesystem": true}', 'name: nothing
hosts: {count: 2}
targets:
  - name: none
    null: {latency: 1ms}
phases:
  - name: full
    run:
      duration: 30s
      workloads:
        - {name: a, engine: null, queue_depth: 2}
', '2026-11-22 06:45:07.095934+00');


--
-- Data for Name: latency_rollups; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.latency_rollups VALUES
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 0, 1, 1, 0, 7638, 31285248, '(1,"{956,957,958,959,960,961,962,963,964,965,966,967,968,969,970,971,972,973,976,978,982,986,999,1006}","{51,2126,2657,880,696,523,337,150,61,62,25,14,16,10,2,4,4,2,2,4,4,2,4,2}")'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 0, 1, 1, 0, 954, 3907584, '(1,"{956,957,958,959,960,961,962,963,964,965,967,968,970,972,987}","{3,110,438,159,47,80,57,32,18,1,2,3,1,2,1}")'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 0, 1, 2, 0, 954, 3907584, '(1,"{960,961,962,963,964,965,966,967,968,969,970,971,972,973,974,975,976,977,991,1038}","{64,462,131,28,33,50,49,55,36,13,3,10,7,2,2,4,2,1,1,1}")'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 0, 1, 1, 0, 1908, 7815168, '(1,"{954,955,956,957,958,959,960,961,962,963,964,965,966,967,968,977,1037}","{7,19,46,863,605,198,68,56,16,15,4,4,1,2,2,1,1}")'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 0, 1, 2, 0, 1908, 7815168, '(1,"{957,958,959,960,961,962,963,964,965,966,967,968,969,970,971,972,973,978,979,986,1036,1037}","{113,261,514,602,122,65,36,38,53,41,20,18,8,4,3,3,2,1,1,1,1,1}")'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 1, 1, 0, 400, 1638400, '(1,"{956,957,958,959,960,961,962,963,964,965,966}","{9,142,117,30,13,20,30,22,11,3,3}")'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, 1, 1, 0, 622, 2547712, '(1,"{954,955,956,957,958,959,960,961,962,963,964,965,966,967,971,973,977,978,979}","{2,1,6,237,235,82,21,3,5,3,12,4,2,4,1,1,1,1,1}")'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, 1, 2, 0, 622, 2547712, '(1,"{957,958,959,960,961,962,963,964,965,966,967,968,969,970,971,972,973,974,975,976,977,979,980,986,987}","{1,1,8,242,224,77,17,7,5,2,7,3,3,3,6,2,2,1,2,1,1,3,2,1,1}")'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 2, 1, 1, 0, 380, 1556480, '(1,"{956,957,958,959,960,961,962,963,964,965,966,969,970,975,976}","{6,90,107,46,19,31,39,18,12,7,1,1,1,1,1}")'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 1, 0, 2, 1, 0, 128, 524288, '(1,"{797,804,807,826,831,832,833,836,840,843,844,868,874,880,885,891,900,901,902,904}","{7,8,7,8,4,4,8,8,8,1,1,8,8,16,8,8,1,1,7,7}")'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 1, 0, 1, 1, 0, 128, 524288, '(1,"{740,844,846,847,856,858,872,874,883,893,894,895,920,922,924,927,929,930,932,937,944,945,972}","{1,6,8,8,8,1,4,8,8,1,7,4,8,8,8,8,8,8,1,7,1,6,1}")'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 0, 1, 1, 0, 3854, 15785984, '(1,"{956,957,958,959,960,961,962,963,964,965,966,967,968,969,970,976,1054,1098}","{28,923,1410,1154,199,18,18,20,32,14,8,14,3,1,4,4,2,2}")'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 0, 2, 1, 0, 1375949, 5635887104, '(1,"{369,384,389,391,395,396,400,402,405,406,408,410,412,413,414,415,416,417,418,419,420,421,422,423,424,425,426,427,428,429,430,431,432,433,434,435,436,437,438,439,440,441,442,443,444,445,446,447,448,449,450,451,452,453,454,455,456,457,458,459,460,461,462,463,464,465,466,467,468,469,470,471,472,473,474,475,476,477,478,479,480,481,482,483,484,485,486,487,488,489,490,491,492,493,494,495,496,497,498,499,500,501,502,503,504,505,506,507,508,509,510,511,512,513,514,515,516,517,518,519,520,521,522,523,524,525,526,527,528,529,530,531,532,533,534,535,536,537,538,539,540,541,542,543,544,545,546,547,548,549,550,551,552,553,554,555,556,557,558,559,560,561,562,563,564,565,566,567,568,569,570,571,572,573,574,575,576,577,578,579,580,581,582,583,584,585,586,587,588,589,590,591,592,593,594,595,596,597,598,599,600,601,602,603,604,605,606,607,608,609,610,611,612,613,614,615,616,617,618,619,620,621,622,623,624,625,626,627,628,629,630,631,632,633,634,635,636,637,638,639,640,641,642,643,644,645,646,647,648,649,650,651,652,653,654,655,656,657,658,659,660,661,662,663,664,665,666,667,668,669,670,671,672,673,674,675,676,677,678,679,680,681,682,683,684,685,686,687,688,689,690,691,692,693,694,695,696,697,698,699,700,701,702,703,704,705,706,707,708,709,710,711,712,713,714,715,716,717,718,719,720,721,722,723,724,725,726,727,728,729,730,731,732,733,734,735,736,737,738,739,740,741,742,743,744,745,746,747,748,749,750,751,752,753,754,755,756,757,758,759,760,761,762,763,764,765,766,767,768,769,770,771,772,773,774,775,776,777,778,779,780,781,782,783,784,785,786,787,788,789,790,791,792,793,794,795,796,797,798,799,800,801,802,803,804,805,806,807,808,809,810,811,812,813,814,815,816,817,818,819,820,821,822,823,824,825,826,827,828,829,830,831,832,833,834,835,836,837,838,839,840,841,842,843,844,845,847,848,849,850,851,853,854,855,856,858,859,860,861,862,864,865,870,871,880,882,884,885,886,887,888,894,895,896,897,901,902,904,918,959,960,964,968,969,979,980,981,982,1028,1051,1053,1055,1056,1057,1058,1114,1115,1179,1301,1363}","{1,1,1,2,1,1,1,6,1,1,2,1,2,4,1,3,3,8,30,26,35,50,55,50,76,76,89,76,80,57,56,51,60,52,64,69,119,163,202,362,772,1482,2143,2686,3428,4414,5180,5652,11892,11563,10561,8943,7398,6231,5258,4406,3894,3744,3366,3544,3746,3888,4488,4578,4880,5163,5360,5500,5507,5394,5541,5469,5043,5116,4496,4614,4396,4445,4742,5738,6654,7774,8622,9280,10158,10124,10522,10302,10612,10429,10544,9948,9414,9198,8174,7700,7304,6848,6280,5870,5694,5647,5602,5458,5578,5556,5566,5494,5690,6296,6998,8762,24540,37390,48214,52986,53326,49090,47918,44780,42052,37602,30932,24934,19704,15732,12634,10914,9690,9636,9684,9835,9948,11000,11578,11890,11930,12110,11804,11042,10160,9032,7988,6680,5731,4982,4125,3668,3638,3698,3778,3937,4028,3942,4016,4190,3896,3938,3844,3726,3430,3316,3018,2826,2563,2110,1806,1690,1496,1476,1440,1436,1404,1521,1468,1540,3250,3174,3024,2767,2510,2234,1939,1810,1802,1782,1860,1704,1652,1720,1822,1730,1614,1672,1530,1450,1342,1296,1156,1104,918,840,840,632,610,604,498,478,422,426,370,360,398,292,334,303,281,280,215,246,234,241,210,176,160,148,194,144,212,166,144,198,222,224,266,226,270,358,358,352,852,1222,1229,1364,1520,1623,1578,1602,1434,1458,1344,1332,1376,1364,1176,1199,1064,860,768,648,544,478,395,346,272,286,245,208,211,235,185,162,166,150,198,164,115,160,140,164,134,132,127,138,126,146,138,134,134,112,128,100,80,117,90,104,100,98,98,100,100,108,100,119,290,336,434,386,450,427,422,436,431,364,384,252,278,275,224,196,166,184,174,131,135,143,112,86,80,80,110,86,126,116,84,106,120,116,124,114,164,148,148,158,150,180,134,166,152,180,158,158,158,150,128,106,122,156,94,82,82,74,36,62,63,74,58,50,88,94,104,146,83,108,148,108,110,106,110,92,92,48,72,66,44,42,48,30,34,60,50,44,56,56,42,26,38,20,24,24,20,28,24,26,16,22,22,26,24,20,26,14,14,10,14,18,14,6,22,10,18,20,14,6,14,12,16,4,12,14,14,4,32,10,12,8,8,8,14,10,8,6,4,8,2,4,8,2,4,4,2,6,4,2,4,2,2,2,2,8,4,2,2,4,2,2,2,4,2,4,2,6,2,8,2,4,2,2,2,2,2,4,2,2,4,4,4,4,4,4,4,4,2,2,4,6,2,4,8,4}")'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 0, 1, 1, 0, 3832, 15695872, '(1,"{954,955,956,957,958,959,960,961,962,963,964,965,966,967,968,972,1016}","{1,1,56,384,1531,1381,373,34,25,14,12,6,4,4,2,2,2}")'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 0, 1, 2, 0, 3832, 15695872, '(1,"{960,961,962,964,965,975,992,996,1003,1007,1011,1014,1018,1019,1021,1025,1031,1033,1035,1041,1042,1044,1045,1048,1049,1051,1052,1053,1054,1056,1057,1060,1061,1062,1063,1069,1070,1072,1074,1078,1079,1081,1083,1084,1085,1086,1088,1089,1090,1091,1092,1093,1097,1098,1099,1100,1102,1103,1104,1106,1107,1109,1111,1113,1114,1115,1119,1121,1122,1131,1133,1135,1141,1142,1145,1147,1148,1151,1152,1153,1154,1155,1157,1159,1160,1161,1162,1165,1166,1167,1168,1169,1170,1171,1172,1173,1174,1175,1176,1177,1180,1181,1182,1183,1184,1185,1186,1187,1188,1189,1190,1191,1192,1193,1194,1196,1200,1201,1202,1203,1208,1209,1211,1212,1213,1214,1215,1216,1217,1218,1219,1220,1221,1222,1223,1224,1225,1226,1227,1228,1229,1230,1231,1232,1233,1234,1235,1236,1238,1239,1240,1241,1242,1244,1246,1247,1249,1250,1251,1252,1253,1254,1255,1256,1257,1258,1259,1260,1261,1262,1263,1264,1265,1266,1267,1268,1269,1270,1271,1272,1273,1274,1275,1276,1277,1278,1279,1280,1281,1282,1283,1284,1285,1286,1287,1288,1289,1290,1291,1292,1293,1294,1295,1296,1297,1298,1299,1300,1301,1302,1303,1304,1305,1306,1307,1308,1309,1310,1311,1312,1313,1314,1315,1316,1317,1318,1319,1320,1321,1322,1323,1324,1325,1326,1327,1328,1329,1330,1331,1332,1333,1334,1335,1336,1337,1338,1339,1340,1341,1342,1343,1344,1345,1346,1347,1348,1349,1350,1351,1352,1353,1354,1355,1356,1357,1358,1359,1360,1361,1362,1363,1364,1365,1366,1367,1368,1369,1370,1371,1372,1373,1374,1375,1376,1377,1378,1379,1380,1381,1382,1383,1384,1385,1386,1387,1388,1389,1390,1391,1392,1393,1394,1395,1396,1397,1398,1399,1400,1401,1402,1403,1404,1405,1406,1407,1408,1409,1410,1411,1412,1413,1414,1415,1416,1417,1418,1419,1420,1421,1422,1423,1424,1425,1426,1427,1428,1429,1430,1431,1432,1433,1434,1435,1436,1437,1438,1439,1440,1441,1442,1443,1444,1445,1446,1447,1448,1449,1450,1451,1452,1453,1454,1455,1456,1457,1458,1459,1460,1461,1462,1463,1464,1465,1466,1467}","{5,1,1,1,1,1,2,1,1,1,1,1,1,1,1,1,1,1,1,1,2,2,2,1,1,1,1,1,1,1,1,1,1,2,1,1,2,1,1,1,1,1,1,1,1,1,2,2,1,3,5,1,3,1,1,4,2,1,1,1,1,2,1,1,1,2,1,2,1,1,1,2,2,1,1,1,2,1,3,1,2,3,1,2,1,2,1,3,1,7,3,2,4,2,2,2,2,2,2,2,3,3,5,1,4,1,5,5,3,3,2,4,1,3,2,4,1,1,1,2,2,2,1,1,1,1,2,3,2,3,5,2,5,6,2,1,5,3,4,3,6,7,5,5,13,4,1,8,4,3,2,5,2,3,3,3,1,2,3,1,2,1,1,3,2,1,1,3,3,2,5,6,5,12,5,7,9,4,5,3,2,8,3,7,3,4,2,3,2,6,6,4,6,9,13,7,10,10,13,14,10,13,12,12,1,5,6,8,7,15,10,10,15,16,26,15,13,12,12,10,5,2,5,8,11,8,8,4,6,4,12,11,14,7,2,4,5,5,8,6,4,8,3,3,4,3,2,5,2,9,3,15,25,26,16,25,11,14,20,24,20,9,20,29,18,12,15,24,11,21,13,7,8,15,16,17,9,8,11,14,19,9,8,13,15,9,10,9,8,14,15,14,17,13,12,11,13,11,10,14,14,19,11,17,16,12,19,32,31,24,20,22,12,13,13,32,45,48,27,21,51,38,58,21,55,44,35,44,45,21,38,25,18,32,19,44,51,21,27,49,38,23,20,30,69,31,22,39,49,26,31,17,18,34,25,40,44,36,29,39,30,34,22,15,10,16,37,15,24,22,12,23,14,10,19}")'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 1, 1, 0, 178651, 731754496, '(1,"{588,593,614,617,627,628,635,643,645,651,653,654,656,660,663,667,669,671,672,673,674,675,676,677,678,679,680,681,682,683,684,685,686,687,688,689,690,691,692,693,694,695,696,697,698,699,700,701,702,703,704,705,706,707,708,709,710,711,712,713,714,715,716,717,718,719,720,721,722,723,724,725,726,727,728,729,730,731,732,733,734,735,736,737,738,739,740,741,742,743,744,745,746,747,748,749,750,751,752,753,754,755,756,757,758,759,760,761,762,763,764,765,766,767,768,769,770,771,772,773,774,775,776,777,778,779,780,781,782,783,784,785,786,787,788,789,790,791,792,793,794,795,796,797,798,799,800,801,802,803,804,805,806,807,808,809,810,811,812,813,814,815,816,817,818,819,820,821,822,823,824,825,826,827,828,829,830,831,832,833,834,835,836,837,838,839,840,841,842,843,844,845,846,847,848,849,850,851,852,853,854,855,856,857,858,859,860,861,862,863,864,865,866,867,868,869,870,871,872,873,874,875,876,877,878,879,880,881,882,883,884,885,886,887,888,889,890,891,892,893,894,895,896,897,898,899,900,901,902,903,904,905,906,907,908,909,910,911,912,913,914,915,916,917,918,919,920,921,922,923,924,925,926,928,930,931,932,935,937,938,939,940,942,943,945,947,948,949,950,951,952,953,955,956,957,958,959,960,961,962,963,964,965,966,967,968,969,971,972,973,974,975,976,977,978,980,981,982,983,984,986,987,988,989,990,992,993,994,995,996,997,998,999,1000,1001,1002,1003,1004,1005,1006,1007,1008,1009,1010,1012,1013,1014,1015,1016,1017,1018,1019,1020,1021,1022,1023,1024,1025,1026,1027,1028,1029,1030,1031,1032,1033,1034,1035,1036,1037,1038,1039,1040,1041,1042,1043,1044,1045,1046,1048,1049,1051,1052,1056,1058,1063,1064,1065,1070,1071,1081,1082,1102}","{1,1,1,1,2,1,1,2,2,1,2,2,2,1,3,3,1,3,4,3,2,1,1,3,6,4,2,3,4,2,5,4,3,4,6,5,2,6,1,12,11,10,6,10,10,8,19,15,18,18,35,44,36,36,40,50,54,58,48,80,79,88,89,123,108,114,149,170,177,200,217,250,352,403,407,504,561,655,763,795,940,1077,1203,1373,1458,1570,1623,1768,1901,2018,2204,2176,2312,2199,2242,2296,2217,2168,2170,2098,2098,2124,2171,2122,1969,2000,1983,1996,2021,2059,2207,2074,2065,2352,4357,4583,4605,4544,4603,4307,4002,3864,3575,3427,3162,3048,2714,2618,2440,2361,2214,2145,2149,1905,1802,1753,1610,1586,1516,1495,1390,1376,1408,1375,1297,1175,1273,1166,1128,1035,949,963,838,829,778,797,723,684,643,564,544,516,454,461,425,415,359,297,300,318,237,219,231,201,200,172,121,116,220,170,143,131,108,109,84,85,53,45,49,51,35,26,28,33,25,37,28,22,22,18,18,33,21,25,26,27,22,42,45,35,30,47,37,28,25,28,15,34,28,17,13,26,23,17,17,16,22,16,13,25,24,21,3,7,8,12,4,8,8,7,5,7,15,10,8,10,9,2,6,9,11,5,8,3,4,7,11,5,10,13,1,4,5,8,5,3,2,5,4,6,2,2,2,2,5,2,1,3,1,1,4,5,3,1,1,1,2,3,1,3,3,4,6,3,1,2,4,3,5,7,7,8,3,3,1,1,3,2,1,3,5,4,4,13,5,5,2,2,1,3,4,3,4,5,6,4,3,4,7,7,2,9,5,2,8,7,4,8,6,8,10,8,4,1,1,3,2,2,8,3,6,3,4,9,12,1,2,1,15,10,4,2,3,2,10,4,2,5,5,6,3,6,13,1,2,4,9,4,1,2,1,1,5,4,3,13,7,9,1,4,5,3,2}")'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 2, 1, 0, 77287, 316567552, '(1,"{644,652,656,657,664,665,670,673,674,675,677,678,680,682,683,685,687,688,689,691,692,694,695,696,698,699,700,701,703,704,705,706,707,708,709,710,711,712,713,714,715,716,717,718,719,720,721,722,723,724,725,726,727,728,729,730,731,732,733,734,735,736,737,738,739,740,741,742,743,744,745,746,747,748,749,750,751,752,753,754,755,756,757,758,759,760,761,762,763,764,765,766,767,768,769,770,771,772,773,774,775,776,777,778,779,780,781,782,783,784,785,786,787,788,789,790,791,792,793,794,795,796,797,798,799,800,801,802,803,804,805,806,807,808,809,810,811,812,813,814,815,816,817,818,819,820,821,822,823,824,825,826,827,828,829,830,831,832,833,834,835,836,837,838,839,840,841,842,843,844,845,846,847,848,849,850,851,852,853,854,855,856,857,858,859,860,861,862,863,864,865,866,867,868,869,870,871,872,873,874,875,876,877,878,879,880,881,882,883,884,885,886,887,888,889,890,891,892,893,894,895,896,897,898,899,900,901,902,903,904,905,906,907,908,909,910,911,912,913,914,915,916,917,918,919,920,921,922,923,925,926,927,929,930,931,932,935,936,937,938,939,940,941,942,944,945,947,948,949,951,952,953,955,956,959,960,961,962,963,964,965,966,967,968,970,971,972,973,974,976,977,978,980,981,982,983,984,985,986,988,989,990,993,994,995,996,997,999,1000,1001,1002,1003,1004,1005,1006,1007,1008,1009,1011,1013,1014,1015,1016,1017,1018,1019,1020,1021,1024,1025,1026,1028,1029,1030,1031,1032,1034,1035,1036,1039,1040,1041,1043,1044,1045,1049,1052,1053,1056,1057,1058,1060,1061,1063,1064,1065,1067,1069,1070,1071,1072,1075,1076,1077,1080,1081,1082,1084,1086,1087,1089,1091,1093,1094,1102}","{1,1,1,1,1,3,1,1,1,1,1,2,1,2,1,1,1,2,1,3,1,1,1,1,3,5,4,3,4,5,6,3,6,8,9,16,15,22,18,28,26,30,23,31,26,35,29,37,46,83,76,111,115,146,156,164,223,278,285,306,427,417,453,508,530,612,679,665,763,774,824,808,755,843,851,829,807,835,811,812,821,809,805,766,792,868,816,867,903,862,905,899,968,1880,1960,2057,1977,1903,1864,1721,1550,1524,1423,1417,1323,1265,1241,1182,1177,1113,1062,1041,969,941,883,859,761,826,699,647,629,630,652,610,578,621,533,522,507,474,462,469,442,411,448,363,352,356,337,328,311,260,255,241,225,203,187,171,159,132,127,122,119,104,101,85,80,165,139,114,87,62,62,55,48,47,32,26,27,25,21,24,17,24,13,19,10,14,6,8,17,11,9,9,10,6,23,18,23,16,13,19,16,13,14,15,15,16,17,8,5,8,7,12,5,3,5,6,4,11,9,2,2,1,9,4,1,6,4,10,3,7,2,4,5,2,3,1,6,4,3,4,3,3,2,3,3,2,3,3,4,1,4,2,3,6,2,3,1,4,3,1,2,4,1,4,2,2,3,1,3,5,2,1,3,1,2,2,2,3,2,2,5,2,1,6,1,2,5,4,4,2,3,2,2,1,3,5,1,1,1,3,6,6,3,2,1,3,1,1,3,4,1,1,4,4,5,3,5,5,3,3,4,3,2,5,1,3,2,5,1,2,3,4,4,6,2,4,2,3,6,3,8,6,4,6,1,11,3,1,6,6,7,6,3,1,1,3,1,1,2,1,2,2,3,11,2,1,1,9,1,1,3,2,3,3,5,1,1,2,1,2,1,6,2}")'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 1, 1, 0, 57450, 235315200, '(1,"{610,623,638,658,662,665,666,672,675,686,687,688,692,693,698,700,702,703,704,705,706,707,708,709,711,712,713,714,715,716,717,718,719,720,721,722,723,724,725,726,727,728,729,730,731,732,733,734,735,736,737,738,739,740,741,742,743,744,745,746,747,748,749,750,751,752,753,754,755,756,757,758,759,760,761,762,763,764,765,766,767,768,769,770,771,772,773,774,775,776,777,778,779,780,781,782,783,784,785,786,787,788,789,790,791,792,793,794,795,796,797,798,799,800,801,802,803,804,805,806,807,808,809,810,811,812,813,814,815,816,817,818,819,820,821,822,823,824,825,826,827,828,829,830,831,832,833,834,835,836,837,838,839,840,841,842,843,844,845,846,847,848,849,850,851,852,853,854,855,856,857,858,859,860,861,862,863,864,865,866,867,868,869,870,871,872,873,874,875,876,877,878,879,880,881,882,883,884,885,886,887,888,889,890,891,892,893,894,895,896,897,898,899,900,901,902,903,904,905,906,907,908,909,910,911,912,913,914,915,916,917,918,919,920,921,923,924,925,926,927,928,929,930,931,932,933,934,935,938,939,940,941,942,943,944,945,947,948,949,951,953,957,959,960,962,965,966,967,968,969,972,973,980,981,982,983,984,986,987,1002,1003,1004,1005,1007,1010,1011,1012,1013,1014,1015,1016,1017,1018,1019,1020,1021,1026,1035,1036,1037,1038,1039,1040,1041,1046,1047,1048,1049,1050,1052,1058,1059,1061,1065,1066}","{1,1,1,1,1,1,1,1,1,1,2,1,1,1,1,1,2,2,2,3,5,2,6,5,3,6,4,1,3,4,6,8,14,9,9,6,14,10,15,19,22,10,9,8,9,18,9,17,25,20,26,28,27,28,23,28,22,31,35,31,37,45,33,47,60,59,61,63,79,73,66,79,99,92,116,121,134,151,148,155,203,394,439,530,675,723,838,898,984,1114,1177,1271,1231,1348,1350,1387,1374,1418,1437,1509,1520,1475,1400,1447,1286,1365,1278,1257,1184,1278,1123,1203,1166,1062,1012,996,985,952,857,789,711,673,605,645,600,541,515,481,418,374,378,325,283,277,231,181,171,152,144,141,118,120,135,103,74,153,126,122,90,80,50,65,59,45,37,41,22,20,24,34,24,22,24,15,23,19,26,7,17,17,15,8,17,12,11,6,7,13,16,13,11,24,23,19,20,23,17,27,25,36,32,31,25,33,31,32,37,40,41,32,45,45,42,38,28,50,18,33,30,43,34,40,22,35,34,13,18,21,21,16,9,13,15,1,7,4,3,3,5,6,3,3,2,2,3,4,7,2,1,1,6,4,6,3,6,2,7,2,2,5,4,2,1,3,3,1,1,2,4,1,1,1,1,13,4,4,3,2,2,2,2,1,1,8,6,2,2,2,1,2,1,1,3,2,1,2,4,2,4,1,7,7,1,2,3,3,1,1,5,9,12,1,1,3,5,7,3,3,5,3,1,5,2,1,4}")'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 2, 1, 0, 24408, 99975168, '(1,"{638,676,677,678,681,686,705,706,707,708,709,710,711,712,713,715,716,717,718,720,721,722,724,725,726,727,728,729,730,731,733,734,735,736,737,738,739,740,741,742,743,744,745,746,747,748,749,750,751,752,753,754,755,756,757,758,759,760,761,762,763,764,765,766,767,768,769,770,771,772,773,774,775,776,777,778,779,780,781,782,783,784,785,786,787,788,789,790,791,792,793,794,795,796,797,798,799,800,801,802,803,804,805,806,807,808,809,810,811,812,813,814,815,816,817,818,819,820,821,822,823,824,825,826,827,828,829,830,831,832,833,834,835,836,837,838,839,840,841,842,843,844,845,846,847,848,849,850,851,852,853,854,855,856,857,858,859,860,861,862,863,864,865,866,867,868,869,870,871,872,873,874,875,876,877,878,879,880,881,882,883,884,885,886,887,888,889,890,891,892,893,894,895,896,897,898,899,900,901,902,903,904,905,906,907,908,909,910,911,912,913,914,915,916,918,919,920,921,922,924,925,926,927,928,929,931,932,933,934,935,938,939,940,943,944,945,947,948,951,952,953,954,955,957,959,960,961,962,964,965,966,970,971,972,973,975,976,978,979,980,981,982,983,984,985,987,989,990,991,992,993,996,997,998,999,1002,1003,1004,1005,1006,1007,1008,1009,1011,1012,1014,1015,1016,1017,1018,1020,1021,1022,1024,1025,1026,1027,1028,1031,1032,1033,1034,1035,1036,1037,1038,1040,1041,1042,1044,1045,1046,1047,1048,1049,1050,1051,1052,1055,1057,1058,1059,1061,1066,1067}","{1,1,1,1,1,2,1,1,1,2,3,1,1,3,1,1,2,3,1,1,4,2,3,1,1,2,3,4,2,1,1,2,2,4,2,8,7,1,7,5,10,8,6,2,5,7,5,6,9,11,13,17,24,15,21,18,16,8,15,20,30,20,30,26,30,74,101,117,160,160,231,287,333,339,410,400,410,429,455,482,464,516,531,569,548,540,598,569,570,580,590,604,592,588,568,565,551,555,548,515,478,456,457,434,361,375,338,313,308,280,275,276,271,220,223,214,212,158,142,122,105,125,109,102,85,63,72,72,57,113,98,74,55,58,39,43,32,29,26,21,15,16,13,14,16,14,13,10,19,7,16,9,8,8,3,8,5,10,7,7,7,7,2,5,5,5,5,8,4,8,7,10,7,11,9,5,10,12,16,14,11,15,21,13,18,16,20,17,13,20,17,12,14,17,22,22,15,16,17,15,8,19,14,10,7,5,8,4,4,6,2,2,2,5,1,3,5,1,3,4,4,3,2,1,5,1,1,4,1,4,2,3,1,2,2,1,2,3,2,4,1,2,1,1,1,4,1,1,3,2,1,4,3,1,2,3,1,3,5,1,5,6,3,1,6,1,1,3,1,2,1,2,2,1,2,6,1,2,2,3,2,2,1,1,5,5,3,4,7,4,3,3,1,5,4,3,5,2,2,5,3,1,3,1,7,3,1,4,1,1,3,4,12,4,1,6,6,1,1,1,1,2,4,3,5}")'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 1, 1, 0, 106795, 437432320, '(1,"{608,613,617,626,629,630,634,640,642,644,649,653,654,672,676,678,679,683,684,685,689,690,691,695,697,698,704,705,706,707,708,709,710,712,714,715,717,718,719,720,721,722,723,724,725,726,727,728,729,730,731,732,733,734,735,736,737,738,739,740,741,742,743,744,745,746,747,748,749,750,751,752,753,754,755,756,757,758,759,760,761,762,763,764,765,766,767,768,769,770,771,772,773,774,775,776,777,778,779,780,781,782,783,784,785,786,787,788,789,790,791,792,793,794,795,796,797,798,799,800,801,802,803,804,805,806,807,808,809,810,811,812,813,814,815,816,817,818,819,820,821,822,823,824,825,826,827,828,829,830,831,832,833,834,835,836,837,838,839,840,841,842,843,844,845,846,847,848,849,850,851,852,853,854,855,856,857,858,859,860,861,862,863,864,865,866,867,868,869,870,871,872,873,874,875,876,877,878,879,880,881,882,883,884,885,886,887,888,889,890,891,892,893,894,895,896,897,898,899,900,901,902,903,904,905,906,907,908,911,912,918,919,942,949,951,953,957,961,964,965,966,968,969,970,972,973,974,976,977,978,979,980,981,982,987,988,989,990,991,992,993,994,995,996,997,999,1000,1002,1003,1004,1005,1006,1007,1008,1009,1010,1011,1012,1015,1016,1017,1018,1019,1021,1022,1024,1027,1028,1029,1030,1031,1032,1033,1034,1035,1036,1037,1038,1039,1040,1041,1043,1044,1045,1046,1048,1049,1050,1051,1052,1058,1059,1060,1061,1064,1065,1066,1067,1069,1070,1071,1074,1076}","{1,1,1,1,1,1,1,1,1,1,1,1,1,1,2,1,1,1,1,3,1,1,1,2,1,2,1,4,2,1,1,5,1,1,3,2,3,1,3,6,1,4,4,3,5,3,4,1,7,8,7,6,5,4,4,18,5,4,16,16,7,14,9,19,10,7,14,8,8,17,11,12,13,15,16,21,19,18,29,24,38,27,47,46,38,53,54,139,176,219,305,334,432,458,527,679,685,805,940,1100,1273,1409,1622,1759,2045,2246,2387,2615,2855,3059,3071,3331,3326,3168,3153,3206,3162,3130,2933,2866,2723,2707,2633,2466,2445,2277,2199,2073,2063,1953,1864,1748,1615,1474,1442,1356,1290,1154,1051,944,866,737,704,611,525,432,405,333,279,242,216,361,335,250,176,138,126,99,97,77,91,56,52,39,44,41,23,20,13,19,17,12,16,16,10,12,18,15,13,10,14,13,26,22,21,26,24,22,25,31,31,27,41,27,40,35,42,40,44,33,26,27,29,21,36,42,25,31,12,13,24,25,25,20,26,31,39,44,30,16,23,15,7,12,3,2,2,3,1,1,2,1,1,1,4,3,1,1,2,1,3,1,1,9,6,1,2,1,2,2,1,4,2,3,1,5,5,8,4,3,5,3,3,2,9,7,3,6,11,12,3,5,5,4,5,1,3,1,1,1,6,5,5,2,1,6,6,11,13,6,9,2,9,6,7,4,9,2,5,5,1,5,12,4,3,7,3,4,5,3,2,6,3,4,2,5,3,4,1,4,4,1,2}")'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 2, 1, 0, 45390, 185917440, '(1,"{626,642,653,670,683,690,700,705,706,707,710,711,712,714,715,718,719,720,722,723,724,725,726,727,728,729,732,733,734,735,736,737,738,739,740,741,742,743,744,745,746,747,748,749,750,751,752,753,754,755,756,757,758,759,760,761,762,763,764,765,766,767,768,769,770,771,772,773,774,775,776,777,778,779,780,781,782,783,784,785,786,787,788,789,790,791,792,793,794,795,796,797,798,799,800,801,802,803,804,805,806,807,808,809,810,811,812,813,814,815,816,817,818,819,820,821,822,823,824,825,826,827,828,829,830,831,832,833,834,835,836,837,838,839,840,841,842,843,844,845,846,847,848,849,850,851,852,853,854,855,856,857,858,859,860,861,862,863,864,865,866,867,868,869,870,871,872,873,874,875,876,877,878,879,880,881,882,883,884,885,886,887,888,889,890,891,892,893,894,895,896,897,898,899,900,901,902,903,904,905,906,907,908,914,931,951,954,963,964,973,974,975,980,981,982,983,984,988,989,990,991,992,993,995,996,997,1000,1002,1003,1004,1005,1006,1007,1008,1010,1012,1013,1017,1018,1019,1020,1021,1024,1025,1026,1027,1028,1029,1030,1031,1032,1033,1034,1035,1036,1037,1038,1039,1043,1044,1045,1046,1050,1051,1052,1053,1059,1066,1068,1071,1072,1076}","{1,1,1,1,1,1,1,1,1,1,1,3,3,1,1,3,1,1,2,2,2,2,2,1,1,3,2,4,6,1,4,6,2,4,1,3,4,2,7,3,1,3,2,3,5,1,2,4,1,6,3,4,7,3,5,3,10,5,15,6,13,8,28,39,23,37,38,57,52,96,114,109,140,179,223,269,340,407,433,502,582,700,809,867,917,971,1069,1092,1177,1186,1196,1262,1204,1274,1353,1320,1411,1263,1267,1339,1199,1152,1186,1140,1041,977,951,880,773,760,716,726,614,556,528,491,452,458,358,318,342,316,301,301,262,236,402,283,286,207,155,143,114,78,52,35,59,54,30,32,42,28,15,15,14,11,15,15,15,14,4,5,6,3,4,1,7,6,11,11,6,10,9,11,9,7,9,11,17,12,16,11,16,15,14,11,22,16,14,16,21,11,8,11,11,10,10,9,14,13,18,20,15,12,19,6,3,5,3,2,3,1,1,1,1,2,1,1,3,3,2,2,2,2,3,1,1,1,1,5,2,3,4,3,1,1,5,2,2,1,3,5,1,2,2,2,1,5,3,1,1,1,1,3,2,3,4,6,6,4,5,3,1,1,1,7,1,3,2,2,5,3,1,2,4,3,1,1,1,1,1,2}")'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 0, 1, 1, 0, 4048, 16580608, '(1,"{955,956,957,958,959,960,961,962,963,964,965,968,969,970,971,975,976,977,979,980,981,982,983,984,985,989,991,992,993,1005,1012,1013,1019,1021,1036,1058,1061,1065,1078,1103}","{17,543,1794,1039,273,182,68,20,16,11,9,6,6,2,2,2,2,2,2,3,7,2,2,2,2,4,2,2,4,2,2,2,2,2,2,2,2,2,2,2}")');


--
-- Data for Name: phase_results; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.phase_results VALUES
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 0, 0, 2, 1, 1, 3802, 15572992, 0, 0, 3998418261, 1017662, 1688152, '(1,"{956,957,958,959,960,961,962,963,964,965,966,967,968,969,970,971,972,973,976,978,999}","{28,904,962,494,522,395,273,115,29,30,18,8,4,4,2,2,4,2,2,2,2}")'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 0, 0, 3, 1, 1, 2, 8192, 0, 0, 2057405, 1028641, 1028764, '(1,{957},{2})'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 1, 0, 2, 1, 1, 3836, 15712256, 0, 0, 3997624193, 1018286, 1806896, '(1,"{956,957,958,959,960,961,962,963,964,965,966,967,968,969,971,978,982,986,999,1006}","{23,1222,1695,386,174,128,64,35,32,32,7,6,12,6,2,2,4,2,2,2}")'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 1, 0, 3, 1, 1, 2, 8192, 0, 0, 2375994, 1187929, 1188065, '(1,{968},{2})'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 1, 0, 2, 1, 1, 477, 1953792, 0, 0, 534942138, 1056818, 2580914, '(1,"{956,957,958,959,960,961,962,963,964,965,967,968,970,972,987}","{3,49,181,71,24,53,44,26,16,1,2,3,1,2,1}")'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 1, 0, 2, 1, 2, 477, 1953792, 0, 0, 534942138, 1056818, 2580914, '(1,"{960,961,962,963,964,965,966,967,968,969,970,971,972,973,974,975,976,977,991,1038}","{22,178,55,19,28,36,37,40,23,8,3,9,6,2,2,4,2,1,1,1}")'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 0, 0, 2, 1, 1, 477, 1953792, 0, 0, 518936393, 1054698, 1257359, '(1,"{957,958,959,960,961,962,963,964}","{61,257,88,23,27,13,6,2}")'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 0, 0, 2, 1, 2, 477, 1953792, 0, 0, 518936393, 1054698, 1257359, '(1,"{960,961,962,963,964,965,966,967,968,969,971,972}","{42,284,76,9,5,14,12,15,13,5,1,1}")'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 0, 0, 3, 1, 1, 1, 4096, 0, 0, 1074890, 1074890, 1074890, '(1,{958},{1})'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 0, 0, 3, 1, 2, 1, 4096, 0, 0, 1074890, 1074890, 1074890, '(1,{961},{1})'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 0, 0, 2, 1, 1, 954, 3907584, 0, 0, 1006627082, 1025690, 1230165, '(1,"{954,955,956,957,958,959,960,961,962,963,964,965,967}","{3,4,15,466,335,87,13,16,7,4,1,2,1}")'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 0, 0, 2, 1, 2, 954, 3907584, 0, 0, 1006627082, 1025690, 1230165, '(1,"{957,958,959,960,961,962,963,964,965,966,967,968,969,970,971}","{55,150,294,322,53,29,4,3,12,10,7,9,2,3,1}")'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 0, 0, 3, 1, 1, 1, 4096, 0, 0, 1044147, 1044147, 1044147, '(1,{957},{1})'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 0, 0, 3, 1, 2, 1, 4096, 0, 0, 1044147, 1044147, 1044147, '(1,{959},{1})'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 1, 0, 2, 1, 1, 954, 3907584, 0, 0, 1022704372, 1024572, 2539916, '(1,"{954,955,956,957,958,959,960,961,962,963,964,965,966,967,968,977,1037}","{4,15,31,397,270,111,55,40,9,11,3,2,1,1,2,1,1}")'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 1, 0, 2, 1, 2, 954, 3907584, 0, 0, 1022704372, 1024572, 2539916, '(1,"{957,958,959,960,961,962,963,964,965,966,967,968,969,970,971,972,973,978,979,986,1036,1037}","{58,111,220,280,69,36,32,35,41,31,13,9,6,1,2,3,2,1,1,1,1,1}")'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 1, 0, 3, 1, 1, 1, 4096, 0, 0, 1041732, 1041732, 1041732, '(1,{957},{1})'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 1, 0, 3, 1, 2, 1, 4096, 0, 0, 1041732, 1041732, 1041732, '(1,{959},{1})'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, 0, 2, 1, 1, 200, 819200, 0, 0, 211719138, 1017726, 1160811, '(1,"{956,957,958,959,960,961,962,963,964,965,966}","{3,48,46,16,11,18,30,18,5,2,3}")'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, 2, 2, 1, 1, 190, 778240, 0, 0, 202406332, 1025860, 1325935, '(1,"{957,958,959,960,961,962,963,964,965,966,969,970,975,976}","{20,54,22,15,23,26,15,5,5,1,1,1,1,1}")'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 0, 2, 1, 1, 200, 819200, 0, 0, 207406493, 1017886, 1133302, '(1,"{956,957,958,959,960,961,963,964,965}","{6,94,71,14,2,2,4,6,1}")'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 1, 2, 1, 1, 622, 2547712, 0, 0, 672651708, 1029612, 1498373, '(1,"{954,955,956,957,958,959,960,961,962,963,964,965,966,967,971,973,977,978,979}","{2,1,6,237,235,82,21,3,5,3,12,4,2,4,1,1,1,1,1}")'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 1, 2, 1, 2, 622, 2547712, 0, 0, 672651708, 1029612, 1498373, '(1,"{957,958,959,960,961,962,963,964,965,966,967,968,969,970,971,972,973,974,975,976,977,979,980,986,987}","{1,1,8,242,224,77,17,7,5,2,7,3,3,3,6,2,2,1,2,1,1,3,2,1,1}")'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 1, 3, 1, 1, 1, 4096, 0, 0, 1196296, 1196296, 1196296, '(1,{966},{1})'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 1, 3, 1, 2, 1, 4096, 0, 0, 1196296, 1196296, 1196296, '(1,{969},{1})'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 2, 1, 1, 150878, 617996288, 0, 0, 21820563228, 20873, 5167405, '(1,"{593,614,617,627,628,635,643,645,651,653,654,656,660,663,667,669,671,672,673,674,675,676,677,678,679,680,681,682,683,684,685,686,687,688,689,690,691,692,693,694,695,696,697,698,699,700,701,702,703,704,705,706,707,708,709,710,711,712,713,714,715,716,717,718,719,720,721,722,723,724,725,726,727,728,729,730,731,732,733,734,735,736,737,738,739,740,741,742,743,744,745,746,747,748,749,750,751,752,753,754,755,756,757,758,759,760,761,762,763,764,765,766,767,768,769,770,771,772,773,774,775,776,777,778,779,780,781,782,783,784,785,786,787,788,789,790,791,792,793,794,795,796,797,798,799,800,801,802,803,804,805,806,807,808,809,810,811,812,813,814,815,816,817,818,819,820,821,822,823,824,825,826,827,828,829,830,831,832,833,834,835,836,837,838,839,840,841,842,843,844,845,846,847,848,849,850,851,852,853,854,855,856,857,858,859,860,861,862,863,864,865,866,867,868,869,870,871,872,873,874,875,876,877,878,879,880,881,882,883,884,885,886,887,888,889,890,891,892,893,894,895,896,897,898,899,900,901,902,903,904,905,906,908,909,910,912,913,915,917,918,919,920,922,923,924,925,928,930,931,938,939,940,942,945,949,951,952,953,955,956,957,958,960,961,962,963,964,965,966,972,973,974,975,976,977,978,980,982,984,986,987,988,989,990,992,993,994,995,996,997,998,999,1000,1001,1002,1003,1004,1005,1006,1007,1008,1010,1012,1013,1014,1015,1016,1017,1018,1019,1020,1021,1022,1023,1024,1025,1026,1027,1028,1029,1030,1031,1032,1033,1034,1035,1036,1037,1038,1039,1040,1042,1043,1044,1045,1046,1051,1052,1056,1058,1063,1064,1065,1070,1071,1081,1082,1102}","{1,1,1,2,1,1,1,2,1,1,2,2,1,2,3,1,3,4,2,2,1,1,3,6,4,2,3,4,2,5,4,3,4,6,5,2,5,1,12,11,9,6,9,10,8,19,15,18,17,34,43,34,33,39,49,53,58,47,80,77,87,88,120,107,112,148,165,175,197,212,248,345,401,404,494,555,650,756,789,929,1072,1200,1368,1453,1564,1613,1760,1890,2000,2192,2162,2294,2181,2225,2280,2204,2151,2149,2073,2075,2089,2147,2085,1931,1958,1917,1929,1958,1981,2125,1989,1966,2219,4138,4362,4297,4240,4192,3903,3554,3391,3058,2861,2632,2525,2220,2102,1868,1757,1585,1472,1469,1272,1192,1096,1002,934,907,841,764,770,778,730,699,656,693,651,649,551,515,505,415,459,440,405,378,371,332,288,293,243,233,241,241,215,189,151,151,152,141,130,123,108,106,97,54,61,99,85,77,72,63,54,40,55,23,23,31,38,25,15,16,18,15,18,13,15,16,13,11,23,15,17,23,24,20,34,32,30,27,36,32,25,24,25,13,30,24,15,7,26,23,17,15,11,19,16,12,20,20,19,3,7,8,12,4,8,6,4,5,5,8,5,4,4,9,2,4,6,8,4,8,2,3,9,7,10,2,4,5,2,1,3,6,2,1,1,3,1,1,2,2,3,1,3,2,3,4,6,3,1,1,3,3,4,3,8,1,3,1,3,5,4,2,10,5,3,2,3,3,3,4,5,6,4,3,4,5,5,1,7,2,1,2,5,4,7,4,6,10,8,1,1,3,2,2,4,3,6,3,4,9,12,1,2,1,11,3,3,2,3,2,10,4,2,5,5,6,3,2,9,1,3,8,1,1,1,5,4,3,11,4,5,1,1,5,3,2}")'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 2, 2, 1, 1, 190, 778240, 0, 0, 198412589, 1017049, 1145875, '(1,"{956,957,958,959,960,961,962,963,964,965}","{6,70,53,24,4,8,13,3,7,2}")'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 1, 1, 0, 2, 2, 1, 64, 262144, 0, 0, 23772895, 191825, 594195, '(1,"{797,804,826,833,844,880,885,891,900,904}","{7,8,8,8,1,8,8,8,1,7}")'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 1, 0, 0, 2, 2, 1, 64, 262144, 0, 0, 23581644, 212869, 579751, '(1,"{807,831,832,836,840,843,868,874,880,901,902}","{7,4,4,8,8,1,8,8,8,1,7}")'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 2, 1, 1, 29798, 122052608, 0, 0, 5783016188, 28527, 3500147, '(1,"{623,658,665,666,675,686,687,693,702,703,704,705,706,707,708,709,711,712,713,714,715,716,717,718,719,720,721,722,723,724,725,726,727,728,729,730,731,732,733,734,735,736,737,738,739,740,741,742,743,744,745,746,747,748,749,750,751,752,753,754,755,756,757,758,759,760,761,762,763,764,765,766,767,768,769,770,771,772,773,774,775,776,777,778,779,780,781,782,783,784,785,786,787,788,789,790,791,792,793,794,795,796,797,798,799,800,801,802,803,804,805,806,807,808,809,810,811,812,813,814,815,816,817,818,819,820,821,822,823,824,825,826,827,828,829,830,831,832,833,834,835,836,837,838,839,840,841,842,843,844,845,846,847,848,849,850,851,852,853,854,855,856,857,858,859,860,861,862,863,864,865,866,867,868,869,870,871,872,873,874,875,876,877,878,879,880,881,882,883,884,885,886,887,888,889,890,891,892,893,894,895,896,897,898,899,900,901,902,903,904,905,906,907,908,909,910,911,912,913,914,915,916,917,918,919,920,923,924,925,928,929,930,931,932,933,934,935,938,939,940,941,942,943,945,947,948,949,951,953,959,960,962,966,967,969,972,973,980,981,982,983,984,986,987,1002,1005,1007,1013,1014,1016,1017,1018,1021,1036,1037,1038,1040,1041,1046,1047,1049,1050,1052,1061,1066}","{1,1,1,1,1,1,1,1,2,1,1,3,3,1,5,4,3,3,2,1,3,4,5,7,11,6,5,4,11,7,7,14,14,8,5,4,7,13,5,7,15,14,22,20,22,18,20,19,14,20,17,21,23,34,25,30,40,41,36,42,52,51,42,52,59,52,74,69,73,90,81,94,121,220,249,287,354,377,400,458,483,551,620,626,626,740,688,716,744,720,707,739,794,778,752,733,651,716,658,660,602,658,579,630,581,554,522,532,489,472,427,383,388,323,319,316,296,268,257,256,205,197,177,171,117,148,124,113,89,81,67,80,69,61,74,56,40,90,58,60,46,43,26,35,28,22,19,20,12,8,18,22,14,15,15,12,14,17,14,6,12,10,7,3,3,8,3,4,4,5,12,7,7,12,17,10,9,13,9,19,6,17,18,15,9,13,13,20,21,18,14,11,19,23,19,19,14,26,9,13,14,26,16,18,9,13,20,7,7,14,12,9,4,7,3,1,2,3,3,2,3,4,1,3,1,2,1,4,1,1,2,6,2,3,1,7,2,1,4,1,1,1,3,1,1,2,1,1,1,1,3,4,3,1,1,2,1,1,3,2,1,2,2,1,2,2,1,1,2,4,7,1,2,2,9,1,1,2,2,6,1,5,3,2,2}")'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 2, 2, 1, 12670, 51896320, 0, 0, 2798534520, 51280, 3537304, '(1,"{676,677,681,686,706,707,708,709,710,712,713,715,717,720,721,722,724,725,727,728,729,733,734,735,736,737,738,739,740,741,742,743,744,745,747,748,749,750,751,752,753,754,755,756,757,758,759,760,761,762,763,764,765,766,767,768,769,770,771,772,773,774,775,776,777,778,779,780,781,782,783,784,785,786,787,788,789,790,791,792,793,794,795,796,797,798,799,800,801,802,803,804,805,806,807,808,809,810,811,812,813,814,815,816,817,818,819,820,821,822,823,824,825,826,827,828,829,830,831,832,833,834,835,836,837,838,839,840,841,842,843,844,845,846,847,848,849,850,851,852,853,854,855,856,857,858,859,860,861,862,863,864,866,867,868,869,870,871,872,873,874,875,876,877,878,879,880,881,882,883,884,885,886,887,888,889,890,891,892,893,894,895,896,897,898,899,900,901,902,903,904,905,906,907,908,909,910,911,912,913,914,915,916,918,919,920,922,924,925,928,929,931,933,934,935,938,939,940,943,944,945,947,948,951,952,953,954,962,965,966,970,971,972,975,976,978,979,980,981,982,983,984,985,987,991,992,997,998,1002,1003,1004,1005,1006,1008,1009,1012,1014,1015,1016,1017,1018,1021,1022,1024,1025,1026,1027,1028,1032,1033,1034,1035,1037,1038,1041,1042,1044,1045,1046,1047,1048,1049,1050,1051,1052,1057,1061,1066,1067}","{1,1,1,2,1,1,1,2,1,3,1,1,1,1,4,2,1,1,2,3,3,1,1,2,4,1,7,4,1,5,4,9,7,5,4,7,3,5,5,8,9,7,17,7,14,13,11,4,13,9,19,15,25,13,20,45,54,70,77,73,114,141,179,163,221,209,222,234,233,259,256,249,283,323,286,266,314,271,281,295,301,310,298,282,302,307,268,286,281,254,250,243,243,226,194,197,167,150,155,146,150,141,151,117,120,104,105,79,72,61,52,60,49,52,46,35,39,39,31,66,45,36,30,28,16,25,18,14,14,5,7,5,7,6,8,8,5,6,9,5,10,5,6,7,1,4,5,3,3,3,5,2,3,1,3,4,3,2,7,4,6,5,6,2,1,6,5,5,3,7,9,11,6,7,7,10,10,4,9,6,7,8,8,9,15,5,10,5,9,6,12,6,6,5,4,2,1,2,2,1,2,1,2,1,3,5,1,1,3,1,2,1,1,1,2,2,2,1,2,1,1,1,2,2,1,1,2,1,2,1,2,2,1,2,1,1,1,1,3,3,3,1,5,1,1,2,2,1,5,1,2,1,2,1,1,2,4,3,3,4,3,3,1,4,2,2,4,2,4,2,1,3,5,2,1,1,1,2,2,8,1,1,2,6,1,1,2,2,4}")'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 3, 1, 1, 3, 12288, 0, 0, 623986, 190836, 242314, '(1,"{797,822}","{2,1}")'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 3, 2, 1, 5, 20480, 0, 0, 3753045, 245913, 937426, '(1,"{824,930,933,946}","{1,1,1,2}")'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 2, 1, 1, 53406, 218750976, 0, 0, 11034760668, 26056, 3646134, '(1,"{613,626,629,640,644,649,653,654,672,678,679,683,685,690,691,695,697,698,705,706,707,709,710,712,714,715,717,718,719,722,723,724,725,726,727,728,729,730,731,732,733,734,735,736,737,738,739,740,741,742,743,744,745,746,747,748,749,750,751,752,753,754,755,756,757,758,759,760,761,762,763,764,765,766,767,768,769,770,771,772,773,774,775,776,777,778,779,780,781,782,783,784,785,786,787,788,789,790,791,792,793,794,795,796,797,798,799,800,801,802,803,804,805,806,807,808,809,810,811,812,813,814,815,816,817,818,819,820,821,822,823,824,825,826,827,828,829,830,831,832,833,834,835,836,837,838,839,840,841,842,843,844,845,846,847,848,849,850,851,852,853,854,855,856,857,858,859,860,861,862,863,864,865,866,867,868,869,870,871,872,873,874,875,876,877,878,879,880,881,882,883,884,885,886,887,888,889,890,891,892,893,894,895,896,897,898,899,900,901,902,903,904,905,906,908,911,912,918,919,949,951,953,957,965,966,969,970,972,980,982,989,990,991,992,993,994,995,996,997,999,1000,1002,1003,1004,1007,1008,1009,1010,1011,1012,1016,1017,1018,1019,1024,1027,1028,1029,1030,1031,1032,1033,1034,1035,1036,1037,1038,1039,1040,1043,1044,1045,1046,1048,1049,1051,1052,1059,1060,1061,1064,1065,1069,1070,1071}","{1,1,1,1,1,1,1,1,1,1,1,1,2,1,1,2,1,1,3,2,1,4,1,1,2,2,1,1,2,2,1,1,4,2,1,1,5,5,2,3,1,1,3,3,3,2,8,8,2,5,3,10,6,3,7,4,4,11,3,3,6,9,11,11,14,9,15,15,21,13,28,22,23,19,26,68,85,100,151,174,222,232,255,328,370,383,484,585,631,751,836,878,1081,1107,1210,1289,1456,1477,1506,1603,1601,1579,1569,1551,1552,1558,1473,1481,1344,1383,1357,1242,1213,1089,1066,1008,1024,961,965,851,831,766,729,697,663,602,543,464,421,360,357,315,287,221,224,176,132,118,84,176,157,127,88,73,67,48,41,43,47,26,31,17,26,23,10,7,6,10,6,3,11,6,4,7,11,9,4,6,7,7,7,12,8,10,11,8,15,19,17,11,19,15,24,22,22,20,26,16,16,13,20,10,16,19,12,7,6,5,12,11,12,10,12,11,23,18,19,6,9,12,5,9,3,1,3,1,1,2,1,1,4,3,1,1,3,1,6,5,2,3,2,4,1,3,3,2,1,1,2,4,2,6,8,8,1,1,4,1,2,1,1,2,1,4,1,4,9,8,4,2,2,7,2,4,1,6,2,3,3,4,4,1,3,3,1,5,3,1,3,4,2,4,1,3,2}")'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 1, 1, 0, 2, 1, 1, 64, 262144, 0, 0, 39867984, 427914, 865341, '(1,"{872,874,883,893,894,895,920,922,924,932,937}","{4,8,8,1,7,4,8,8,8,1,7}")'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 1, 0, 0, 2, 1, 1, 64, 262144, 0, 0, 37287422, 102874, 1250537, '(1,"{740,844,846,847,856,858,927,929,930,944,945,972}","{1,6,8,8,8,1,8,8,8,1,6,1}")'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 1, 0, 2, 1, 1, 1924, 7880704, 0, 0, 2011317706, 1020001, 3082021, '(1,"{956,957,958,959,960,961,962,963,964,965,966,967,968,969,970,976,1054}","{14,436,624,623,113,10,14,20,30,10,8,12,1,1,4,2,2}")'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 1, 0, 3, 1, 1, 2, 8192, 0, 0, 2151166, 1074860, 1076306, '(1,{961},{2})'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 0, 0, 2, 1, 1, 1930, 7905280, 0, 0, 2011596272, 1017020, 4850321, '(1,"{956,957,958,959,960,961,962,964,965,967,968,976,1098}","{14,487,786,531,86,8,4,2,4,2,2,2,2}")'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 0, 0, 3, 1, 1, 2, 8192, 0, 0, 2485302, 1242439, 1242863, '(1,{971},{2})'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 1, 0, 2, 2, 1, 633092, 2593144832, 0, 0, 7998599469, 1814, 44670958, '(1,"{369,402,405,408,410,413,414,416,417,418,419,420,421,422,423,424,425,426,427,428,429,430,431,432,433,434,435,436,437,438,439,440,441,442,443,444,445,446,447,448,449,450,451,452,453,454,455,456,457,458,459,460,461,462,463,464,465,466,467,468,469,470,471,472,473,474,475,476,477,478,479,480,481,482,483,484,485,486,487,488,489,490,491,492,493,494,495,496,497,498,499,500,501,502,503,504,505,506,507,508,509,510,511,512,513,514,515,516,517,518,519,520,521,522,523,524,525,526,527,528,529,530,531,532,533,534,535,536,537,538,539,540,541,542,543,544,545,546,547,548,549,550,551,552,553,554,555,556,557,558,559,560,561,562,563,564,565,566,567,568,569,570,571,572,573,574,575,576,577,578,579,580,581,582,583,584,585,586,587,588,589,590,591,592,593,594,595,596,597,598,599,600,601,602,603,604,605,606,607,608,609,610,611,612,613,614,615,616,617,618,619,620,621,622,623,624,625,626,627,628,629,630,631,632,633,634,635,636,637,638,639,640,641,642,643,644,645,646,647,648,649,650,651,652,653,654,655,656,657,658,659,660,661,662,663,664,665,666,667,668,669,670,671,672,673,674,675,676,677,678,679,680,681,682,683,684,685,686,687,688,689,690,691,692,693,694,695,696,697,698,699,700,701,702,703,704,705,706,707,708,709,710,711,712,713,714,715,716,717,718,719,720,721,722,723,724,725,726,727,728,729,730,731,732,733,734,735,736,737,738,739,740,741,742,743,744,745,746,747,748,749,750,751,752,753,754,755,756,757,758,759,760,761,762,763,764,765,766,767,768,769,770,771,772,773,774,775,776,777,778,779,780,781,782,783,784,785,786,787,788,789,790,791,792,793,794,795,796,797,798,799,800,801,802,803,804,805,806,807,808,809,810,811,812,813,814,815,816,817,818,819,820,821,822,823,824,825,826,827,828,829,830,831,832,833,834,835,836,837,838,839,840,841,842,843,844,845,847,849,853,854,856,858,859,860,862,864,865,871,880,884,885,886,887,888,894,895,896,897,901,902,904,918,964,968,969,979,980,981,982,1056,1057,1058,1179,1301}","{1,2,1,2,1,2,1,2,6,22,14,25,36,36,30,48,36,42,34,32,20,22,19,18,8,20,24,32,60,68,122,232,286,392,494,660,736,837,1022,2168,2409,2370,2119,1843,1430,1337,1029,872,852,662,684,710,746,888,962,954,932,966,1068,1112,1123,1302,1253,1167,1184,1048,1098,1127,1294,1672,2178,2786,3632,4172,4758,5148,5332,5586,5388,5308,5052,5048,4752,4280,4124,3558,3398,3128,2918,2536,2476,2384,2158,2176,2182,2038,2046,1964,1994,2278,2770,3190,4206,12426,20092,26750,29594,29762,26536,25086,22276,20806,18358,14890,11904,9278,7292,5924,4798,4452,4472,4838,5160,5366,5996,6442,6574,6596,6800,6750,6278,5718,5172,4390,3578,3092,2746,2218,1924,1860,1964,2026,2104,2212,2140,2156,2232,2044,2034,1996,1890,1760,1746,1530,1486,1230,1070,950,852,730,846,794,788,760,824,792,818,1650,1592,1544,1460,1344,1082,996,850,860,800,780,646,556,572,520,446,400,428,360,318,356,336,300,274,226,274,264,186,222,244,192,206,190,208,194,224,240,168,218,189,184,168,133,136,142,151,108,92,90,80,96,74,116,68,54,76,76,78,96,72,86,90,108,84,288,432,401,472,568,626,642,602,508,602,566,548,578,526,416,434,370,278,258,220,184,188,161,140,122,140,125,110,113,128,109,74,90,72,86,84,61,80,68,76,54,52,59,58,62,60,50,58,48,40,64,58,38,51,42,52,54,64,58,62,68,68,66,101,250,294,392,344,386,387,386,368,343,282,290,172,178,187,152,112,112,104,118,81,73,87,78,52,66,56,76,62,86,78,60,78,82,78,86,86,122,114,118,124,118,128,104,122,116,138,134,112,122,120,108,78,94,128,72,62,60,52,26,36,47,38,42,36,60,66,84,98,55,96,118,100,96,88,88,74,76,46,40,48,34,32,28,22,26,48,34,40,48,50,34,26,28,16,20,22,16,22,18,22,14,14,16,24,18,18,18,10,10,8,10,16,10,4,18,6,16,10,12,4,12,12,12,4,12,4,12,2,14,10,12,6,6,2,12,6,8,2,4,6,2,2,2,2,2,4,2,2,2,2,6,4,2,4,2,2,2,2,2,2,6,2,8,2,4,2,2,2,4,2,2,4,4,4,4,2,2,4,4,8}")'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 1, 0, 3, 2, 1, 8, 32768, 0, 0, 1396090, 36272, 312430, '(1,"{646,649,844}","{2,2,4}")'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 0, 0, 2, 2, 1, 742857, 3042742272, 0, 0, 7998498314, 2050, 88032025, '(1,"{384,389,391,395,396,400,402,406,412,413,415,416,417,418,419,420,421,422,423,424,425,426,427,428,429,430,431,432,433,434,435,436,437,438,439,440,441,442,443,444,445,446,447,448,449,450,451,452,453,454,455,456,457,458,459,460,461,462,463,464,465,466,467,468,469,470,471,472,473,474,475,476,477,478,479,480,481,482,483,484,485,486,487,488,489,490,491,492,493,494,495,496,497,498,499,500,501,502,503,504,505,506,507,508,509,510,511,512,513,514,515,516,517,518,519,520,521,522,523,524,525,526,527,528,529,530,531,532,533,534,535,536,537,538,539,540,541,542,543,544,545,546,547,548,549,550,551,552,553,554,555,556,557,558,559,560,561,562,563,564,565,566,567,568,569,570,571,572,573,574,575,576,577,578,579,580,581,582,583,584,585,586,587,588,589,590,591,592,593,594,595,596,597,598,599,600,601,602,603,604,605,606,607,608,609,610,611,612,613,614,615,616,617,618,619,620,621,622,623,624,625,626,627,628,629,630,631,632,633,634,635,636,637,638,639,640,641,642,643,644,645,646,647,648,649,650,651,652,653,654,655,656,657,658,659,660,661,662,663,664,665,666,667,668,669,670,671,672,673,674,675,676,677,678,679,680,681,682,683,684,685,686,687,688,689,690,691,692,693,694,695,696,697,698,699,700,701,702,703,704,705,706,707,708,709,710,711,712,713,714,715,716,717,718,719,720,721,722,723,724,725,726,727,728,729,730,731,732,733,734,735,736,737,738,739,740,741,742,743,744,745,746,747,748,749,750,751,752,753,754,755,756,757,758,759,760,761,762,763,764,765,766,767,768,769,770,771,772,773,774,775,776,777,778,779,780,781,782,783,784,785,786,787,788,789,790,791,792,793,794,796,797,798,799,800,801,802,803,804,805,806,807,808,809,810,811,812,813,814,815,816,817,818,819,820,821,822,823,824,826,829,830,831,832,835,836,837,838,839,841,843,845,847,848,849,850,851,853,855,856,861,862,870,882,885,887,959,960,1028,1051,1053,1055,1114,1115,1363}","{1,1,2,1,1,1,4,1,2,2,3,1,2,8,12,10,14,19,20,28,40,47,42,48,37,34,32,42,44,44,45,87,103,134,240,540,1196,1751,2192,2768,3678,4343,4630,9724,9154,8191,6824,5555,4801,3921,3377,3022,2892,2704,2860,3036,3142,3600,3616,3926,4231,4394,4432,4395,4271,4239,4216,3876,3932,3448,3516,3269,3151,3070,3560,3868,4142,4450,4522,5010,4792,4936,4914,5304,5377,5496,5196,5134,5074,4616,4302,4176,3930,3744,3394,3310,3489,3426,3276,3540,3510,3602,3500,3412,3526,3808,4556,12114,17298,21464,23392,23564,22554,22832,22504,21246,19244,16042,13030,10426,8440,6710,6116,5238,5164,4846,4675,4582,5004,5136,5316,5334,5310,5054,4764,4442,3860,3598,3102,2639,2236,1907,1744,1778,1734,1752,1833,1816,1802,1860,1958,1852,1904,1848,1836,1670,1570,1488,1340,1333,1040,856,838,766,630,646,648,644,697,676,722,1600,1582,1480,1307,1166,1152,943,960,942,982,1080,1058,1096,1148,1302,1284,1214,1244,1170,1132,986,960,856,830,692,566,576,446,388,360,306,272,232,218,176,136,158,124,116,114,97,112,82,110,92,90,102,84,70,68,98,70,96,98,90,122,146,146,170,154,184,268,250,268,564,790,828,892,952,997,936,1000,926,856,778,784,798,838,760,765,694,582,510,428,360,290,234,206,150,146,120,98,98,107,76,88,76,78,112,80,54,80,72,88,80,80,68,80,64,86,88,76,86,72,64,42,42,66,48,52,46,34,40,38,32,40,34,18,40,42,42,42,64,40,36,68,88,82,94,80,100,88,72,84,54,80,56,50,62,56,34,34,14,24,34,24,40,38,24,28,38,38,38,28,42,34,30,34,32,52,30,44,36,42,24,46,36,30,20,28,28,28,22,20,22,22,10,26,16,36,16,14,28,28,20,48,28,12,30,8,14,18,22,18,16,2,32,18,10,10,20,8,8,12,16,4,8,6,8,10,4,4,2,4,6,6,4,2,8,6,2,6,2,8,4,4,2,4,2,4,2,4,4,2,10,2,2,2,4,10,2,2,18,2,2,6,2,4,4,2,2,6,2,2,4,2,4,2,2,2,2,2,2,2,2,2,2,4,4,4,4,6,2,4}")'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 0, 0, 3, 2, 1, 8, 32768, 0, 0, 2065852, 57463, 464776, '(1,"{688,689,878,881}","{2,2,2,2}")'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 1, 0, 2, 1, 1, 1918, 7856128, 0, 0, 254105861312, 1056482, 260031058, '(1,"{955,956,957,958,959,960,961,962,963,964,965,967}","{1,33,192,842,627,175,17,13,8,4,4,2}")'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 1, 0, 2, 1, 2, 1918, 7856128, 0, 0, 254105861312, 1056482, 260031058, '(1,"{960,962,965,992,996,1003,1007,1011,1018,1021,1025,1031,1033,1035,1041,1042,1049,1051,1052,1054,1069,1078,1090,1091,1092,1097,1099,1100,1102,1106,1109,1115,1121,1122,1131,1135,1141,1142,1145,1147,1148,1151,1152,1155,1157,1161,1167,1168,1169,1172,1173,1175,1176,1177,1180,1181,1182,1183,1184,1185,1186,1187,1188,1189,1190,1191,1196,1203,1209,1211,1212,1213,1216,1217,1218,1219,1220,1221,1222,1223,1224,1225,1226,1227,1228,1229,1230,1231,1232,1233,1234,1235,1236,1239,1240,1241,1242,1244,1246,1247,1249,1250,1251,1253,1255,1256,1257,1259,1260,1261,1262,1263,1264,1265,1266,1267,1268,1269,1270,1271,1272,1273,1274,1276,1279,1280,1281,1282,1283,1284,1285,1286,1287,1289,1290,1291,1292,1293,1294,1295,1296,1298,1299,1300,1301,1302,1303,1304,1305,1306,1307,1308,1309,1310,1312,1313,1314,1315,1317,1318,1319,1320,1321,1322,1323,1324,1325,1326,1327,1328,1329,1330,1331,1332,1333,1334,1335,1336,1337,1338,1339,1340,1341,1342,1343,1344,1345,1346,1347,1348,1349,1350,1351,1352,1353,1354,1355,1356,1357,1358,1359,1360,1361,1362,1363,1364,1365,1366,1367,1368,1369,1370,1371,1372,1373,1374,1375,1376,1377,1378,1379,1380,1381,1382,1383,1384,1385,1386,1387,1388,1389,1390,1391,1392,1393,1394,1395,1396,1397,1398,1399,1400,1401,1402,1403,1404,1405,1406,1407,1408,1409,1410,1411,1412,1413,1414,1415,1416,1417,1418,1419,1420,1421,1422,1423,1424,1425,1426,1427,1428,1429,1430,1431,1432,1433,1434,1435,1436,1437,1438,1439,1440,1441,1442,1443,1444,1445,1446,1447,1448,1449,1450,1451,1452,1453,1454,1455,1456,1457,1458,1459,1460,1461,1462,1463,1464,1465,1466,1467}","{3,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,3,2,1,2,2,1,1,2,1,1,1,1,1,1,1,1,1,1,3,2,1,2,1,2,1,1,1,1,2,1,1,2,4,1,3,1,3,1,1,1,2,2,2,2,2,1,1,1,2,2,2,2,2,5,4,2,1,2,2,1,1,2,2,4,3,10,3,1,5,3,2,1,2,1,2,1,1,1,1,2,1,1,1,1,2,1,1,5,5,4,11,4,6,8,3,3,1,1,2,3,2,1,2,4,4,4,3,6,6,5,3,5,3,3,3,4,6,2,1,2,2,6,5,5,10,9,16,9,5,2,3,1,2,2,4,1,2,3,1,1,4,3,6,4,1,2,3,4,5,2,1,5,3,1,2,1,1,2,1,4,1,10,13,13,8,6,6,2,4,8,4,2,11,25,13,7,4,5,3,7,9,3,6,10,9,9,4,5,5,4,6,3,4,10,11,5,4,5,5,6,4,4,11,6,7,5,11,6,4,10,10,10,4,12,9,6,13,21,26,19,11,13,9,3,6,8,25,40,20,7,28,18,17,10,44,23,9,11,17,7,20,14,11,15,9,11,8,8,7,18,25,13,9,6,12,19,7,19,24,16,23,11,6,16,17,8,14,18,17,10,18,14,12,11,10,16,37,15,24,22,12,23,14,10,19}")'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 1, 0, 3, 1, 1, 2, 8192, 0, 0, 518909075, 259377134, 259531941, '(1,{959},{2})'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 1, 0, 3, 1, 2, 2, 8192, 0, 0, 518909075, 259377134, 259531941, '(1,{1467},{2})'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 0, 0, 2, 1, 1, 1914, 7839744, 0, 0, 233585601252, 1051407, 235217024, '(1,"{954,956,957,958,959,960,961,962,963,964,965,966,967,968,972,1016}","{1,23,192,689,754,198,17,12,6,8,2,4,2,2,2,2}")'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 0, 0, 2, 1, 2, 1914, 7839744, 0, 0, 233585601252, 1051407, 235217024, '(1,"{960,961,964,975,992,1014,1019,1042,1044,1045,1048,1053,1056,1057,1060,1061,1062,1063,1070,1072,1074,1079,1081,1083,1084,1085,1086,1088,1089,1091,1092,1093,1097,1098,1100,1103,1104,1107,1109,1111,1113,1114,1119,1121,1133,1135,1141,1148,1153,1154,1155,1159,1160,1162,1165,1166,1167,1168,1169,1170,1171,1172,1173,1174,1175,1177,1180,1181,1182,1184,1186,1187,1188,1189,1191,1192,1193,1194,1196,1200,1201,1202,1208,1214,1215,1216,1218,1219,1222,1225,1226,1227,1228,1229,1230,1231,1232,1233,1234,1236,1238,1241,1244,1246,1247,1250,1251,1252,1254,1256,1257,1258,1260,1261,1262,1264,1265,1266,1267,1268,1269,1270,1271,1272,1273,1274,1275,1276,1277,1278,1280,1282,1283,1285,1286,1287,1288,1289,1290,1291,1292,1293,1294,1295,1296,1297,1298,1299,1300,1301,1302,1303,1304,1305,1306,1307,1308,1309,1310,1311,1312,1313,1315,1316,1317,1318,1319,1320,1321,1322,1323,1324,1325,1326,1327,1328,1329,1330,1331,1332,1333,1334,1336,1337,1338,1339,1340,1341,1342,1343,1344,1345,1346,1347,1348,1349,1350,1351,1352,1353,1354,1355,1356,1357,1358,1359,1360,1361,1362,1363,1364,1365,1366,1367,1368,1369,1370,1371,1372,1373,1374,1375,1376,1377,1378,1379,1380,1381,1382,1383,1384,1385,1386,1387,1388,1389,1390,1391,1392,1393,1394,1395,1396,1397,1398,1399,1400,1401,1402,1403,1404,1405,1406,1407,1408,1409,1410,1411,1412,1413,1414,1415,1416,1417,1418,1419,1420,1421,1422,1423,1424,1425,1426,1427,1428,1429,1430,1431,1432,1433,1434,1435,1436,1437,1438,1439,1440,1441,1442,1443,1444,1445,1446,1447,1448,1449,1450,1451,1452,1453,1454,1455,1456}","{2,1,1,1,1,1,1,1,2,2,1,1,1,1,1,1,2,1,2,1,1,1,1,1,1,1,1,2,2,2,2,1,1,1,2,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2,1,2,1,1,3,1,6,1,1,4,2,1,1,2,1,1,2,1,1,1,2,4,2,2,2,1,3,2,2,1,1,1,2,1,2,1,1,3,2,3,1,3,2,4,5,1,2,3,1,3,4,4,2,1,2,1,2,1,1,2,1,1,1,2,1,1,1,1,1,1,1,1,2,2,1,6,3,4,3,4,2,2,2,3,3,7,7,5,7,8,11,7,10,8,6,1,3,5,6,5,9,5,5,5,7,10,6,8,10,12,7,4,3,8,7,7,6,1,5,3,8,8,8,3,1,2,2,1,3,4,3,3,2,2,2,1,3,1,5,2,5,12,13,8,19,5,12,16,16,16,7,9,4,5,5,11,19,8,14,4,4,2,5,7,8,5,3,6,10,13,6,4,3,4,4,6,4,3,8,11,10,6,7,5,6,2,5,6,4,4,9,7,5,7,6,6,11,5,5,9,9,3,10,7,24,20,8,7,14,23,20,41,11,11,21,26,33,28,14,18,11,7,17,10,33,43,13,20,31,13,10,11,24,57,12,15,20,25,10,8,6,12,18,8,32,30,18,12,29,12,20,10,4}")');
INSERT INTO lockstep.phase_results VALUES
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 0, 0, 3, 1, 1, 2, 8192, 0, 0, 471270480, 235590901, 235679579, '(1,{959},{2})'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 0, 0, 3, 1, 2, 2, 8192, 0, 0, 471270480, 235590901, 235679579, '(1,{1456},{2})'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 2, 2, 1, 65404, 267894784, 0, 0, 9955319094, 35220, 5173791, '(1,"{644,652,656,657,664,665,670,673,674,675,677,678,680,682,683,685,687,688,689,691,692,694,695,696,698,699,700,701,703,704,705,706,707,708,709,710,711,712,713,714,715,716,717,718,719,720,721,722,723,724,725,726,727,728,729,730,731,732,733,734,735,736,737,738,739,740,741,742,743,744,745,746,747,748,749,750,751,752,753,754,755,756,757,758,759,760,761,762,763,764,765,766,767,768,769,770,771,772,773,774,775,776,777,778,779,780,781,782,783,784,785,786,787,788,789,790,791,792,793,794,795,796,797,798,799,800,801,802,803,804,805,806,807,808,809,810,811,812,813,814,815,816,817,818,819,820,821,822,823,824,825,826,827,828,829,830,831,832,833,834,835,836,837,838,839,840,841,842,843,844,845,846,847,848,849,850,851,852,853,854,855,856,857,858,859,860,861,862,863,864,865,866,867,868,869,870,871,872,873,874,875,876,877,878,879,880,881,882,883,884,885,886,887,888,889,890,892,893,894,895,896,897,898,900,901,902,903,904,905,906,907,908,910,911,912,913,914,917,918,919,920,921,922,925,926,927,929,930,931,932,936,937,938,939,940,941,944,945,947,948,949,951,952,953,955,956,960,961,962,963,964,965,966,967,970,972,973,974,976,977,978,980,982,984,985,988,989,990,993,995,996,997,999,1000,1001,1002,1003,1004,1005,1007,1009,1011,1013,1014,1015,1016,1017,1018,1019,1020,1021,1025,1026,1029,1030,1031,1032,1035,1036,1039,1040,1041,1043,1044,1045,1049,1052,1053,1056,1057,1058,1060,1061,1064,1065,1070,1071,1075,1076,1081,1082,1084,1086,1087,1089,1091,1093,1094,1102}","{1,1,1,1,1,1,1,1,1,1,1,2,1,2,1,1,1,2,1,3,1,1,1,1,3,5,4,3,4,5,6,3,6,8,8,15,14,22,17,28,26,30,23,31,26,34,29,35,46,83,76,109,114,146,155,164,223,276,283,303,427,417,452,507,527,608,674,665,760,772,824,806,754,841,849,823,803,832,807,810,814,802,799,757,787,853,810,853,888,842,890,884,942,1842,1904,1961,1882,1770,1740,1558,1390,1354,1240,1228,1139,1074,1039,999,981,873,810,795,708,668,597,574,502,539,429,391,339,344,366,370,322,352,296,299,280,275,256,263,253,218,252,189,183,184,162,168,152,148,126,129,123,122,101,91,84,80,53,77,54,61,49,39,44,93,77,58,51,40,38,29,28,30,19,11,20,14,15,16,14,15,10,10,8,11,3,6,7,7,6,7,10,6,19,15,20,14,12,17,13,11,12,14,15,14,12,7,5,8,7,9,3,1,5,4,3,9,7,2,2,1,9,4,4,3,10,3,6,2,4,2,2,1,4,3,3,3,3,2,2,1,1,1,1,1,2,3,1,1,3,1,1,1,1,2,1,2,1,2,1,1,3,1,3,1,2,2,2,2,1,2,3,1,4,1,1,2,3,1,2,3,1,3,4,1,1,1,2,2,2,1,1,1,3,2,1,2,2,4,2,4,2,2,1,1,2,4,1,2,3,1,2,1,4,4,6,2,4,3,6,7,2,4,6,11,3,1,4,2,7,3,2,1,1,2,1,1,2,1,1,2,4,1,3,1,2,2,4,1,1,1,1,1,1,3,2}")'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 3, 1, 1, 7, 28672, 0, 0, 1504386, 118563, 436668, '(1,"{755,763,765,770,873,874}","{1,2,1,1,1,1}")'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 3, 2, 1, 1, 4096, 0, 0, 459955, 459955, 459955, '(1,{880},{1})'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 2, 2, 1, 22639, 92729344, 0, 0, 4897052178, 29382, 3682329, '(1,"{626,653,683,690,700,706,710,711,712,718,719,725,726,727,728,729,733,734,735,736,737,738,739,742,743,744,745,746,747,748,749,750,751,752,753,755,756,757,758,759,760,761,762,763,764,765,766,767,768,769,770,771,772,773,774,775,776,777,778,779,780,781,782,783,784,785,786,787,788,789,790,791,792,793,794,795,796,797,798,799,800,801,802,803,804,805,806,807,808,809,810,811,812,813,814,815,816,817,818,819,820,821,822,823,824,825,826,827,828,829,830,831,832,833,834,835,836,837,838,839,840,841,842,843,844,845,846,847,848,849,850,851,852,853,854,855,856,857,858,859,861,862,863,864,865,866,867,868,869,870,871,872,873,874,875,876,877,878,879,880,881,882,883,884,885,886,887,888,889,890,891,892,893,894,895,896,897,898,899,900,901,902,903,904,905,906,908,914,931,951,954,973,975,980,982,983,990,991,992,993,995,997,1002,1003,1004,1005,1006,1008,1013,1017,1025,1027,1028,1029,1030,1031,1032,1033,1034,1037,1043,1044,1045,1046,1050,1051,1052,1066,1068,1071,1072}","{1,1,1,1,1,1,1,2,1,1,1,1,2,1,1,1,2,4,1,2,4,2,2,4,1,4,3,1,3,2,2,3,1,2,1,4,2,1,3,2,3,2,3,3,8,3,5,4,11,22,13,17,24,29,22,57,57,52,64,86,117,127,159,196,220,253,277,357,422,419,446,465,527,545,589,578,592,655,576,617,706,664,717,633,598,688,638,547,611,555,545,481,454,444,362,366,359,353,317,274,268,247,230,234,191,166,179,179,169,143,133,103,185,157,143,121,59,55,60,37,21,18,32,32,16,21,23,20,7,6,10,4,4,7,6,4,1,3,4,1,1,1,1,2,4,3,6,6,3,5,3,5,6,10,8,8,4,5,11,8,8,13,8,9,7,6,6,3,5,8,3,7,3,6,5,10,11,9,7,7,4,2,3,2,1,1,1,1,1,2,1,1,2,1,3,1,4,1,3,2,2,1,2,2,1,1,2,1,1,5,2,1,1,4,3,2,2,2,1,4,1,1,2,2,1,2,1,1,1,1,1}")'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 3, 1, 1, 5, 20480, 0, 0, 1738898, 232544, 425196, '(1,"{817,819,870,871}","{1,1,1,2}")'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 3, 2, 1, 3, 12288, 0, 0, 885717, 228856, 424317, '(1,"{815,817,871}","{1,1,1}")'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 1, 0, 2, 1, 1, 53389, 218681344, 0, 0, 10991826898, 24662, 3816409, '(1,"{608,617,630,634,642,676,684,685,689,698,704,705,708,709,714,717,719,720,721,722,723,724,725,726,727,729,730,731,732,733,734,735,736,737,738,739,740,741,742,743,744,745,746,747,748,749,750,751,752,753,754,755,756,757,758,759,760,761,762,763,764,765,766,767,768,769,770,771,772,773,774,775,776,777,778,779,780,781,782,783,784,785,786,787,788,789,790,791,792,793,794,795,796,797,798,799,800,801,802,803,804,805,806,807,808,809,810,811,812,813,814,815,816,817,818,819,820,821,822,823,824,825,826,827,828,829,830,831,832,833,834,835,836,837,838,839,840,841,842,843,844,845,846,847,848,849,850,851,852,853,854,855,856,857,858,859,860,861,862,863,864,865,866,867,868,869,870,871,872,873,874,875,876,877,878,879,880,881,882,883,884,885,886,887,888,889,890,891,892,893,894,895,896,897,898,899,900,901,902,903,904,906,907,942,961,964,968,970,972,973,974,976,977,978,979,980,981,987,988,989,990,991,993,994,995,996,997,999,1000,1003,1004,1005,1006,1007,1008,1009,1011,1015,1017,1018,1019,1021,1022,1024,1027,1028,1029,1030,1031,1033,1034,1035,1036,1037,1039,1040,1041,1043,1044,1045,1048,1049,1050,1058,1059,1065,1066,1067,1070,1071,1074,1076}","{1,1,1,1,1,2,1,1,1,1,1,1,1,1,1,2,1,6,1,2,3,2,1,1,3,2,3,5,3,4,3,1,15,2,2,8,8,5,9,6,9,4,4,7,4,4,6,8,9,7,6,5,10,5,9,14,9,17,14,19,24,15,34,28,71,91,119,154,160,210,226,272,351,315,422,456,515,642,658,786,881,964,1139,1177,1326,1399,1582,1565,1728,1725,1589,1584,1655,1610,1572,1460,1385,1379,1324,1276,1224,1232,1188,1133,1065,1039,992,899,897,784,708,713,659,627,552,508,480,445,377,347,296,238,211,181,157,147,124,132,185,178,123,88,65,59,51,56,34,44,30,21,22,18,18,13,13,7,9,11,9,5,10,6,5,7,6,9,4,7,6,19,10,13,16,13,14,10,12,14,16,22,12,16,13,20,20,18,17,10,14,9,11,20,23,13,24,6,8,12,14,13,10,14,20,16,26,11,10,14,3,2,3,1,2,1,1,2,1,3,1,1,2,1,2,2,1,2,2,1,5,3,4,3,2,1,2,1,7,3,1,3,4,3,5,4,3,1,1,1,4,4,1,2,1,5,2,2,5,2,7,2,4,3,3,3,2,2,1,1,8,3,4,2,4,2,5,1,3,4,1,2,1,2}")'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 1, 0, 2, 2, 1, 22751, 93188096, 0, 0, 4938700299, 34119, 3819459, '(1,"{642,670,705,707,711,712,714,715,718,720,722,723,724,725,729,732,733,734,736,737,739,740,741,743,744,749,750,753,754,755,756,757,758,759,760,761,762,763,764,765,766,767,768,769,770,771,772,773,774,775,776,777,778,779,780,781,782,783,784,785,786,787,788,789,790,791,792,793,794,795,796,797,798,799,800,801,802,803,804,805,806,807,808,809,810,811,812,813,814,815,816,817,818,819,820,821,822,823,824,825,826,827,828,829,830,831,832,833,834,835,836,837,838,839,840,841,842,843,844,845,846,847,848,849,850,851,852,853,854,855,856,857,858,859,860,862,863,864,865,866,867,868,869,870,871,872,873,874,875,876,877,878,879,880,881,882,883,884,885,886,887,888,889,890,891,892,893,894,895,896,897,898,899,900,901,902,903,904,905,906,907,963,964,973,974,980,981,984,988,989,990,991,993,995,996,1000,1005,1006,1007,1008,1010,1012,1018,1019,1020,1021,1024,1025,1026,1027,1028,1029,1030,1031,1032,1033,1035,1036,1037,1038,1039,1043,1044,1045,1046,1052,1053,1059,1076}","{1,1,1,1,1,2,1,1,2,1,2,2,2,1,2,2,2,2,2,2,2,1,3,1,3,1,2,3,1,2,1,3,4,1,2,1,7,2,7,3,8,4,17,17,10,20,14,28,30,39,57,57,76,93,106,142,181,211,213,249,305,343,387,448,471,506,542,547,588,608,604,607,628,657,647,656,694,630,669,651,561,605,575,585,496,496,497,436,411,394,357,373,297,282,260,244,222,224,167,152,163,137,132,158,129,133,217,126,143,86,96,88,54,41,31,17,27,22,14,11,19,8,8,9,4,7,11,8,9,10,3,2,2,2,4,6,5,9,7,3,4,3,8,4,4,4,5,7,4,8,7,11,4,6,3,9,8,5,9,15,5,5,6,3,7,3,6,8,8,8,9,6,5,12,2,1,2,1,1,2,1,1,3,2,2,1,2,1,1,1,1,1,2,1,1,5,2,3,1,1,2,2,3,1,1,1,1,1,2,2,3,2,3,2,3,1,1,1,3,1,3,1,1,3,1,3,3,1,2}")'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 1, 0, 3, 1, 1, 8, 32768, 0, 0, 2744870, 299821, 399216, '(1,"{841,842,843,858,860,865}","{1,2,1,1,2,1}")'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 1, 0, 2, 1, 1, 2020, 8273920, 0, 0, 2121773086, 1010816, 5223183, '(1,"{955,956,957,958,959,960,961,962,963,964,965,968,969,970,977,979,980,981,982,985,989,993,1019,1021,1036,1058,1078,1103}","{11,253,937,502,128,93,36,6,8,6,4,2,2,2,2,2,2,2,2,2,4,2,2,2,2,2,2,2}")'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 1, 0, 3, 1, 1, 2, 8192, 0, 0, 2047846, 1023603, 1024243, '(1,"{956,957}","{1,1}")'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 0, 0, 2, 1, 1, 2028, 8306688, 0, 0, 2120995952, 1011673, 3449742, '(1,"{955,956,957,958,959,960,961,962,963,964,965,968,969,971,975,976,980,981,983,984,991,992,993,1005,1012,1013,1061,1065}","{6,290,857,537,145,89,32,14,8,5,5,4,4,2,2,2,1,5,2,2,2,2,2,2,2,2,2,2}")'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 0, 0, 3, 1, 1, 2, 8192, 0, 0, 2068910, 1033729, 1035181, '(1,{958},{2})');


--
-- Data for Name: phases; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.phases VALUES
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 'full', 'run', 'done', '', '2026-11-22 06:44:44.485619+00', 23969127572608, 1000000000, 0, '2026-11-22 06:44:46.497863+00', 3819),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 'curve 25 %', 'run', 'done', '', '2026-11-22 06:44:46.828769+00', 23971470721145, 1000000000, 0, '2026-11-22 06:44:47.840806+00', 954.363),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 'curve 50 %', 'run', 'done', '', '2026-11-22 06:44:48.172922+00', 23972814872831, 1000000000, 0, '2026-11-22 06:44:49.185857+00', 1908),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 'full', 'run', 'done', '', '2026-11-22 06:44:49.563751+00', 23974205704873, 1000000000, 0, '2026-11-22 06:44:51.570711+00', 701.873),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 0, 1, 'prepare', 'prepare', 'done', '', '2026-11-22 06:44:51.931431+00', 23976573377559, 1000000000, 0, '2026-11-22 06:44:51.93844+00', 0),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 1, 'precondition', 'precondition', 'done', '', '2026-11-22 06:44:52.261397+00', 23976903345249, 1000000000, 0, '2026-11-22 06:44:52.281862+00', 142865),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 1, 'verify', 'verify', 'done', '', '2026-11-22 06:44:52.643146+00', 23977285095657, 1000000000, 0, '2026-11-22 06:44:52.665519+00', 91835.7),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 1, 1, 'cleanup', 'cleanup', 'done', '', '2026-11-22 06:44:52.987022+00', 23977628969232, 1000000000, 0, '2026-11-22 06:44:52.991162+00', 0),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 'full', 'run', 'aborted', 'abort_if.p99: 1.14 ms in interval 0 (limit 10 µs)', '2026-11-22 06:44:53.351746+00', 23977993695910, 1000000000, 0, '2026-11-22 06:44:54.382198+00', 3828.33),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 0, 1, 'prepare', 'prepare', 'done', '', '2026-11-22 06:44:54.745279+00', 23979387231117, 1000000000, 0, '2026-11-22 06:44:54.756025+00', 0),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 'mix', 'run', 'done', '', '2026-11-22 06:44:55.07807+00', 23979720016300, 1000000000, 0, '2026-11-22 06:44:56.091136+00', 1375950),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 2, 1, 'cleanup', 'cleanup', 'done', '', '2026-11-22 06:44:56.416533+00', 23981058481546, 1000000000, 0, '2026-11-22 06:44:56.424282+00', 0),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 'full', 'run', 'done', '', '2026-11-22 06:44:56.787256+00', 23981429204633, 1000000000, 0, '2026-11-22 06:44:57.799093+00', 3832),
	('13fee125-b942-4f2a-a668-ddf85943e568', 0, 1, 'prepare', 'prepare', 'done', '', '2026-11-22 06:44:58.167401+00', 23982809318204, 1000000000, 0, '2026-11-22 06:44:58.178353+00', 0),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 'mix', 'run', 'done', '', '2026-11-22 06:44:58.502922+00', 23983144873547, 1000000000, 0, '2026-11-22 06:45:02.513043+00', 93726.5),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 0, 1, 'prepare', 'prepare', 'done', '', '2026-11-22 06:45:02.971218+00', 23987613164841, 1000000000, 0, '2026-11-22 06:45:02.982037+00', 0),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 'mix', 'run', 'void', 'worker on node2 was lost in phase mix: its process ended; another one has taken its place', '2026-11-22 06:45:03.304896+00', 23987946845685, 1000000000, 0, '2026-11-22 06:45:04.392086+00', 78790.4),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 'mix', 'run', 'done', '', '2026-11-22 06:45:04.71969+00', 23989361641542, 1000000000, 0, '2026-11-22 06:45:06.731632+00', 76092.5),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 2, 1, 'cleanup', 'cleanup', 'done', '', '2026-11-22 06:45:07.052969+00', 23991694921417, 1000000000, 0, '2026-11-22 06:45:07.059582+00', 0),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 'full', 'run', 'cancelled', 'stopped by local', '2026-11-22 06:45:07.41971+00', 23992061657427, 1000000000, 0, '2026-11-22 06:45:08.490849+00', 3814.16);


--
-- Data for Name: run_workers; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.run_workers VALUES
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, '619155ee-c3f7-4371-8a64-93694fff91eb', 'a905b8f4-bbc0-45ac-b8cc-8a858e88b2df', 'node1', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "43cb0ea5-a293-4860-9c6d-8d9aba4c462b", "targets": [{"paths": ["nothing"], "sizeBytes": "1073741824"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node1", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "a905b8f4-bbc0-45ac-b8cc-8a858e88b2df", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "619155ee-c3f7-4371-8a64-93694fff91eb", "instanceId": "04d3a284-ed13-43ee-a480-e79a0cef9c23", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, '3c37260d-9419-42b0-81b0-234f6f9512ea', '483a5050-3d0c-4a18-a5ea-450480c95e94', 'node2', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "43cb0ea5-a293-4860-9c6d-8d9aba4c462b", "targets": [{"paths": ["nothing"], "sizeBytes": "1073741824"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node2", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "483a5050-3d0c-4a18-a5ea-450480c95e94", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "3c37260d-9419-42b0-81b0-234f6f9512ea", "instanceId": "913ff6ba-9d1a-4c66-9ec7-fe1aa7ad9c01", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, '619155ee-c3f7-4371-8a64-93694fff91eb', 'a905b8f4-bbc0-45ac-b8cc-8a858e88b2df', 'node1', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "8b43b5f7-d40b-46d9-b73e-80f02a6630f8", "targets": [{"paths": ["nothing"], "sizeBytes": "1073741824"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node1", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "a905b8f4-bbc0-45ac-b8cc-8a858e88b2df", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "619155ee-c3f7-4371-8a64-93694fff91eb", "instanceId": "04d3a284-ed13-43ee-a480-e79a0cef9c23", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 1, '3c37260d-9419-42b0-81b0-234f6f9512ea', '483a5050-3d0c-4a18-a5ea-450480c95e94', 'node2', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "8b43b5f7-d40b-46d9-b73e-80f02a6630f8", "targets": [{"paths": ["nothing"], "sizeBytes": "1073741824"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node2", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "483a5050-3d0c-4a18-a5ea-450480c95e94", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "3c37260d-9419-42b0-81b0-234f6f9512ea", "instanceId": "913ff6ba-9d1a-4c66-9ec7-fe1aa7ad9c01", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 0, '619155ee-c3f7-4371-8a64-93694fff91eb', 'a905b8f4-bbc0-45ac-b8cc-8a858e88b2df', 'node1', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "11b9aae9-4bd4-42c1-af97-13d3b854ab0d", "targets": [{"paths": ["/srv/data/node1/kept"], "freeBytes": "80388186112", "pathCount": 1, "sizeBytes": "262144", "deviceName": "vda", "filePlaces": "ZR+tTPu7IxGl5/vW8WT0k0kZ/9Nku6tdKb+ggWy+Crg=", "filesystem": "ext4", "wouldWrite": "makes 1 file of 256 KiB", "deviceMajor": 254, "filesystemId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d:254:0", "missingBytes": "262144", "deviceIdentity": "overlayblk", "filesystemBytes": "270553174016"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node1", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "a905b8f4-bbc0-45ac-b8cc-8a858e88b2df", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "619155ee-c3f7-4371-8a64-93694fff91eb", "instanceId": "04d3a284-ed13-43ee-a480-e79a0cef9c23", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, '3c37260d-9419-42b0-81b0-234f6f9512ea', '483a5050-3d0c-4a18-a5ea-450480c95e94', 'node2', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "11b9aae9-4bd4-42c1-af97-13d3b854ab0d", "targets": [{"paths": ["/srv/data/node2/kept"], "freeBytes": "80388186112", "pathCount": 1, "sizeBytes": "262144", "deviceName": "vda", "filePlaces": "Jc4yxDh6FCrmRpGJN2EjKdEpt2KqQozZb6Dl3L/JYJc=", "filesystem": "ext4", "wouldWrite": "makes 1 file of 256 KiB", "deviceMajor": 254, "filesystemId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d:254:0", "missingBytes": "262144", "deviceIdentity": "overlayblk", "filesystemBytes": "270553174016"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node2", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "483a5050-3d0c-4a18-a5ea-450480c95e94", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "3c37260d-9419-42b0-81b0-234f6f9512ea", "instanceId": "913ff6ba-9d1a-4c66-9ec7-fe1aa7ad9c01", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, '619155ee-c3f7-4371-8a64-93694fff91eb', 'a905b8f4-bbc0-45ac-b8cc-8a858e88b2df', 'node1', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "1f71ce67-da0c-4f56-83ba-0d24c38d9288", "targets": [{"paths": ["/srv/data/node1/kept"], "freeBytes": "80387604480", "pathCount": 1, "sizeBytes": "262144", "deviceName": "vda", "filePlaces": "tyuLd7x6IMZlH61M+7sjEaXn+9bxZPSTSRn/02S7q10pv6CBbL4KuDv/WJdyk1+Y", "filesystem": "ext4", "deviceMajor": 254, "filesystemId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d:254:0", "deviceIdentity": "overlayblk", "filesystemBytes": "270553174016"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node1", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "a905b8f4-bbc0-45ac-b8cc-8a858e88b2df", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "619155ee-c3f7-4371-8a64-93694fff91eb", "instanceId": "04d3a284-ed13-43ee-a480-e79a0cef9c23", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 1, '3c37260d-9419-42b0-81b0-234f6f9512ea', '483a5050-3d0c-4a18-a5ea-450480c95e94', 'node2', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "1f71ce67-da0c-4f56-83ba-0d24c38d9288", "targets": [{"paths": ["/srv/data/node2/kept"], "freeBytes": "80387604480", "pathCount": 1, "sizeBytes": "262144", "deviceName": "vda", "filePlaces": "7Zhigl/7McolzjLEOHoUKuZGkYk3YSMp0Sm3YqpCjNlvoOXcv8lgl8qooIhTivb0", "filesystem": "ext4", "deviceMajor": 254, "filesystemId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d:254:0", "deviceIdentity": "overlayblk", "filesystemBytes": "270553174016"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node2", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "483a5050-3d0c-4a18-a5ea-450480c95e94", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "3c37260d-9419-42b0-81b0-234f6f9512ea", "instanceId": "913ff6ba-9d1a-4c66-9ec7-fe1aa7ad9c01", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 0, '619155ee-c3f7-4371-8a64-93694fff91eb', 'a905b8f4-bbc0-45ac-b8cc-8a858e88b2df', 'node1', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "d844efa8-7385-4d8f-921f-f115a38eb177", "targets": [{"paths": ["/srv/data/node1/file"], "freeBytes": "80388083712", "pathCount": 1, "sizeBytes": "2097152", "deviceName": "vda", "filePlaces": "3q7N+B2HO9qiYN4OvvOFO3+91Z/5pEvoj25V2lNsSUc=", "filesystem": "ext4", "wouldWrite": "makes 1 file of 2 MiB", "deviceMajor": 254, "filesystemId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d:254:0", "missingBytes": "2097152", "deviceIdentity": "overlayblk", "filesystemBytes": "270553174016"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node1", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "a905b8f4-bbc0-45ac-b8cc-8a858e88b2df", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "619155ee-c3f7-4371-8a64-93694fff91eb", "instanceId": "04d3a284-ed13-43ee-a480-e79a0cef9c23", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, '3c37260d-9419-42b0-81b0-234f6f9512ea', '483a5050-3d0c-4a18-a5ea-450480c95e94', 'node2', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "d844efa8-7385-4d8f-921f-f115a38eb177", "targets": [{"paths": ["/srv/data/node2/file"], "freeBytes": "80388083712", "pathCount": 1, "sizeBytes": "2097152", "deviceName": "vda", "filePlaces": "iHTyffKAAcwqgJY2R6olTm6z6roKvsRkeQ9Y53MTi5c=", "filesystem": "ext4", "wouldWrite": "makes 1 file of 2 MiB", "deviceMajor": 254, "filesystemId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d:254:0", "missingBytes": "2097152", "deviceIdentity": "overlayblk", "filesystemBytes": "270553174016"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node2", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "483a5050-3d0c-4a18-a5ea-450480c95e94", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "3c37260d-9419-42b0-81b0-234f6f9512ea", "instanceId": "913ff6ba-9d1a-4c66-9ec7-fe1aa7ad9c01", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, '619155ee-c3f7-4371-8a64-93694fff91eb', 'a905b8f4-bbc0-45ac-b8cc-8a858e88b2df', 'node1', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "62524c30-4a8e-4b41-a88a-e7b58bf642fa", "targets": [{"paths": ["nothing"], "sizeBytes": "1073741824"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node1", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "a905b8f4-bbc0-45ac-b8cc-8a858e88b2df", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "619155ee-c3f7-4371-8a64-93694fff91eb", "instanceId": "04d3a284-ed13-43ee-a480-e79a0cef9c23", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 1, '3c37260d-9419-42b0-81b0-234f6f9512ea', '483a5050-3d0c-4a18-a5ea-450480c95e94', 'node2', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "62524c30-4a8e-4b41-a88a-e7b58bf642fa", "targets": [{"paths": ["nothing"], "sizeBytes": "1073741824"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node2", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "483a5050-3d0c-4a18-a5ea-450480c95e94", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "3c37260d-9419-42b0-81b0-234f6f9512ea", "instanceId": "913ff6ba-9d1a-4c66-9ec7-fe1aa7ad9c01", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL),
	('13fee125-b942-4f2a-a668-ddf85943e568', 0, '619155ee-c3f7-4371-8a64-93694fff91eb', 'a905b8f4-bbc0-45ac-b8cc-8a858e88b2df', 'node1', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "13fee125-b942-4f2a-a668-ddf85943e568", "targets": [{"paths": ["/srv/data/node1/file"], "freeBytes": "80387985408", "pathCount": 1, "sizeBytes": "2097152", "deviceName": "vda", "filePlaces": "3q7N+B2HO9qiYN4OvvOFO3+91Z/5pEvoj25V2lNsSUc=", "filesystem": "ext4", "wouldWrite": "makes 1 file of 2 MiB", "deviceMajor": 254, "filesystemId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d:254:0", "missingBytes": "2097152", "deviceIdentity": "overlayblk", "filesystemBytes": "270553174016"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node1", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "a905b8f4-bbc0-45ac-b8cc-8a858e88b2df", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "619155ee-c3f7-4371-8a64-93694fff91eb", "instanceId": "04d3a284-ed13-43ee-a480-e79a0cef9c23", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, '619155ee-c3f7-4371-8a64-93694fff91eb', 'a905b8f4-bbc0-45ac-b8cc-8a858e88b2df', 'node1', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "9905e6c9-d64f-406a-8bad-27d39e513e0c", "targets": [{"paths": ["nothing"], "sizeBytes": "1073741824"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node1", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "a905b8f4-bbc0-45ac-b8cc-8a858e88b2df", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "619155ee-c3f7-4371-8a64-93694fff91eb", "instanceId": "04d3a284-ed13-43ee-a480-e79a0cef9c23", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 1, '3c37260d-9419-42b0-81b0-234f6f9512ea', '483a5050-3d0c-4a18-a5ea-450480c95e94', 'node2', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "9905e6c9-d64f-406a-8bad-27d39e513e0c", "targets": [{"paths": ["nothing"], "sizeBytes": "1073741824"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node2", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "483a5050-3d0c-4a18-a5ea-450480c95e94", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "3c37260d-9419-42b0-81b0-234f6f9512ea", "instanceId": "913ff6ba-9d1a-4c66-9ec7-fe1aa7ad9c01", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, '619155ee-c3f7-4371-8a64-93694fff91eb', 'a905b8f4-bbc0-45ac-b8cc-8a858e88b2df', 'node1', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "3ea8accc-8095-4360-94cb-d8e1d81155c8", "targets": [{"paths": ["nothing"], "sizeBytes": "1073741824"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node1", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "a905b8f4-bbc0-45ac-b8cc-8a858e88b2df", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "619155ee-c3f7-4371-8a64-93694fff91eb", "instanceId": "04d3a284-ed13-43ee-a480-e79a0cef9c23", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 1, '3c37260d-9419-42b0-81b0-234f6f9512ea', '483a5050-3d0c-4a18-a5ea-450480c95e94', 'node2', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "3ea8accc-8095-4360-94cb-d8e1d81155c8", "targets": [{"paths": ["nothing"], "sizeBytes": "1073741824"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node2", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "483a5050-3d0c-4a18-a5ea-450480c95e94", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "3c37260d-9419-42b0-81b0-234f6f9512ea", "instanceId": "4cc64672-0590-400d-9be4-63f08e0d2757", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, '3c37260d-9419-42b0-81b0-234f6f9512ea', '483a5050-3d0c-4a18-a5ea-450480c95e94', 'node2', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "13fee125-b942-4f2a-a668-ddf85943e568", "targets": [{"paths": ["/srv/data/node2/file"], "freeBytes": "80387985408", "pathCount": 1, "sizeBytes": "2097152", "deviceName": "vda", "filePlaces": "iHTyffKAAcwqgJY2R6olTm6z6roKvsRkeQ9Y53MTi5c=", "filesystem": "ext4", "wouldWrite": "makes 1 file of 2 MiB", "deviceMajor": 254, "filesystemId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d:254:0", "missingBytes": "2097152", "deviceIdentity": "overlayblk", "filesystemBytes": "270553174016"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node2", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "483a5050-3d0c-4a18-a5ea-450480c95e94", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "3c37260d-9419-42b0-81b0-234f6f9512ea", "instanceId": "913ff6ba-9d1a-4c66-9ec7-fe1aa7ad9c01", "protocolVersion": 3, "softwareVersion": "0.1.0"}', 'its connection ended and did not come back for 2 s', NULL),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 0, '619155ee-c3f7-4371-8a64-93694fff91eb', 'a905b8f4-bbc0-45ac-b8cc-8a858e88b2df', 'node1', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "644090f1-0ccd-4b23-b206-1e72fea5a8ff", "targets": [{"paths": ["/srv/data/node1/file"], "freeBytes": "80383586304", "pathCount": 1, "sizeBytes": "2097152", "deviceName": "vda", "filePlaces": "UHWdD7wrcrzers34HYc72qJg3g6+84U7f73Vn/mkS+iPblXaU2xJR8GhzoqgksoX", "filesystem": "ext4", "wouldWrite": "overwrites 1 made by Lockstep or expendable", "deviceMajor": 254, "filesystemId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d:254:0", "deviceIdentity": "overlayblk", "filesystemBytes": "270553174016"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node1", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "a905b8f4-bbc0-45ac-b8cc-8a858e88b2df", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "619155ee-c3f7-4371-8a64-93694fff91eb", "instanceId": "04d3a284-ed13-43ee-a480-e79a0cef9c23", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, '3c37260d-9419-42b0-81b0-234f6f9512ea', '483a5050-3d0c-4a18-a5ea-450480c95e94', 'node2', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '{"runId": "644090f1-0ccd-4b23-b206-1e72fea5a8ff", "targets": [{"paths": ["/srv/data/node2/file"], "freeBytes": "80383586304", "pathCount": 1, "sizeBytes": "2097152", "deviceName": "vda", "filePlaces": "olzZQ6qsTb+IdPJ98oABzCqAljZHqiVObrPqugq+xGR5D1jncxOLl7+bvKmfizTK", "filesystem": "ext4", "wouldWrite": "overwrites 1 made by Lockstep or expendable", "deviceMajor": 254, "filesystemId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d:254:0", "deviceIdentity": "overlayblk", "filesystemBytes": "270553174016"}]}', '{"host": {"os": "Debian GNU/Linux 12 (bookworm)", "cpus": 2, "name": "node2", "bootId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d", "hostId": "483a5050-3d0c-4a18-a5ea-450480c95e94", "kernel": "Linux 6.18.44-fc-v769", "clockId": "305fa0b0-00ce-4426-87f0-5d7274c1a72d/time:[4026531834]", "cpuModel": "Intel(R) Xeon(R) Processor", "memoryBytes": "25276063744"}, "allow": ["/srv/data"], "status": {"state": "IDLE"}, "workerId": "3c37260d-9419-42b0-81b0-234f6f9512ea", "instanceId": "f8be3a94-9b75-45af-9784-c5549df594f7", "protocolVersion": 3, "softwareVersion": "0.1.0"}', NULL, NULL);


--
-- Data for Name: runs; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.runs OVERRIDING SYSTEM VALUE VALUES
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 'ead0fe38-d59d-4d94-bd3d-e3db6f0934e2', 1, 'root', '{}', 'done', '', false, 905392421528222595, '2026-11-22 06:44:44.149476+00', '2026-11-22 06:44:44.156687+00', '2026-11-22 06:44:49.188165+00', '{"iops": 3819, "hosts": 2, "owner": "root", "runId": "43cb0ea5-a293-4860-9c6d-8d9aba4c462b", "state": "done", "endedAt": "2026-11-22T06:44:49Z", "jobName": "nothing", "startedAt": "2026-11-22T06:44:44Z", "submittedAt": "2026-11-22T06:44:44Z", "bytesPerSecond": 15642624}', '', '', false),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', '7eeb6f2d-3ac5-4eb0-a3a2-f21eecaaee1f', 2, 'root', '{}', 'done', '', false, 6062389958296338830, '2026-11-22 06:44:49.230389+00', '2026-11-22 06:44:49.233934+00', '2026-11-22 06:44:51.572146+00', '{"iops": 705, "hosts": 2, "owner": "root", "runId": "8b43b5f7-d40b-46d9-b73e-80f02a6630f8", "state": "done", "endedAt": "2026-11-22T06:44:51Z", "jobName": "nothing", "startedAt": "2026-11-22T06:44:49Z", "submittedAt": "2026-11-22T06:44:49Z", "bytesPerSecond": 2887680}', '', '', false),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', '7c6fb52d-4326-4672-87a5-dccfabed5172', 3, 'root', '{}', 'done', '', false, 4911782096224226323, '2026-11-22 06:44:51.606761+00', '2026-11-22 06:44:51.612425+00', '2026-11-22 06:44:52.283002+00', '{"hosts": 2, "owner": "root", "runId": "11b9aae9-4bd4-42c1-af97-13d3b854ab0d", "state": "done", "endedAt": "2026-11-22T06:44:52Z", "jobName": "write", "startedAt": "2026-11-22T06:44:51Z", "submittedAt": "2026-11-22T06:44:51Z"}', '', '', false),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 'b9c5c1df-a3b5-4e86-b235-c3ea5f040bef', 4, 'root', '{}', 'done', '', false, 5544665865874216188, '2026-11-22 06:44:52.318371+00', '2026-11-22 06:44:52.322756+00', '2026-11-22 06:44:52.992276+00', '{"hosts": 2, "owner": "root", "runId": "1f71ce67-da0c-4f56-83ba-0d24c38d9288", "state": "done", "endedAt": "2026-11-22T06:44:52Z", "jobName": "check", "startedAt": "2026-11-22T06:44:52Z", "submittedAt": "2026-11-22T06:44:52Z", "expectations": "0 of 1 held"}', '', '', false),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', '4839c533-3a39-4d33-9faf-8a6f3dfe82e1', 5, 'root', '{}', 'aborted', 'abort_if.p99: 1.14 ms in interval 0 (limit 10 µs)', false, 8759953274778628136, '2026-11-22 06:44:53.026951+00', '2026-11-22 06:44:53.030608+00', '2026-11-22 06:44:54.383906+00', '{"iops": 3828.2063115142792, "hosts": 2, "owner": "root", "runId": "9905e6c9-d64f-406a-8bad-27d39e513e0c", "state": "aborted", "endedAt": "2026-11-22T06:44:54Z", "jobName": "nothing", "outcome": "abort_if.p99: 1.14 ms in interval 0 (limit 10 µs)", "startedAt": "2026-11-22T06:44:53Z", "submittedAt": "2026-11-22T06:44:53Z", "bytesPerSecond": 15680333.051962487}', 'aborted', 'abort_if.p99: 1.14 ms in interval 0 (limit 10 µs)', false),
	('d844efa8-7385-4d8f-921f-f115a38eb177', '63c9b6d3-52cd-4835-a4d8-305312638435', 6, 'root', '{}', 'done', '', false, 3244934058855496449, '2026-11-22 06:44:54.420191+00', '2026-11-22 06:44:54.425719+00', '2026-11-22 06:44:56.425417+00', '{"iops": 1375949, "hosts": 2, "owner": "root", "runId": "d844efa8-7385-4d8f-921f-f115a38eb177", "state": "done", "endedAt": "2026-11-22T06:44:56Z", "jobName": "small", "startedAt": "2026-11-22T06:44:54Z", "submittedAt": "2026-11-22T06:44:54Z", "bytesPerSecond": 5635887104}', '', '', false),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', '8770abee-df54-4209-b851-8e01be21c729', 7, 'root', '{}', 'done', '', false, 7496257402317327583, '2026-11-22 06:44:56.459512+00', '2026-11-22 06:44:56.464687+00', '2026-11-22 06:44:57.800984+00', '{"iops": 3832, "hosts": 2, "owner": "root", "runId": "62524c30-4a8e-4b41-a88a-e7b58bf642fa", "state": "done", "endedAt": "2026-11-22T06:44:57Z", "jobName": "nothing", "startedAt": "2026-11-22T06:44:56Z", "submittedAt": "2026-11-22T06:44:56Z", "bytesPerSecond": 15695872}', '', '', false),
	('13fee125-b942-4f2a-a668-ddf85943e568', 'dc39469f-5763-4deb-84ae-33fe0449ba4f', 8, 'root', '{}', 'done', '', true, 4095402466676506417, '2026-11-22 06:44:57.836549+00', '2026-11-22 06:44:57.842966+00', '2026-11-22 06:45:02.514821+00', '{"iops": 54070.5, "hosts": 2, "owner": "root", "runId": "13fee125-b942-4f2a-a668-ddf85943e568", "state": "done", "endedAt": "2026-11-22T06:45:02Z", "jobName": "small", "degraded": true, "startedAt": "2026-11-22T06:44:57Z", "submittedAt": "2026-11-22T06:44:57Z", "bytesPerSecond": 221472768}', '', '', false),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 'b6c30a6d-ec60-4806-8842-50c48629a6c2', 9, 'root', '{}', 'done', '', false, 711898994307614480, '2026-11-22 06:45:02.647284+00', '2026-11-22 06:45:02.653999+00', '2026-11-22 06:45:07.060639+00', '{"iops": 76092.5, "hosts": 2, "owner": "root", "runId": "644090f1-0ccd-4b23-b206-1e72fea5a8ff", "state": "done", "endedAt": "2026-11-22T06:45:07Z", "jobName": "small", "startedAt": "2026-11-22T06:45:02Z", "submittedAt": "2026-11-22T06:45:02Z", "bytesPerSecond": 311674880}', '', '', false),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', '845f770b-4aa9-4dea-b659-44dd85c35a82', 10, 'root', '{}', 'cancelled', 'stopped by local', false, 217909004790957347, '2026-11-22 06:45:07.095934+00', '2026-11-22 06:45:07.100194+00', '2026-11-22 06:45:08.49262+00', '{"iops": 3813.9844879955767, "hosts": 2, "owner": "root", "runId": "3ea8accc-8095-4360-94cb-d8e1d81155c8", "state": "cancelled", "endedAt": "2026-11-22T06:45:08Z", "jobName": "nothing", "outcome": "stopped by local", "startedAt": "2026-11-22T06:45:07Z", "submittedAt": "2026-11-22T06:45:07Z", "bytesPerSecond": 15622080.462829882}', 'cancelled', 'stopped by local', false);


--
-- Data for Name: schema_migrations; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.schema_migrations VALUES
	(1, '0001_initial.sql', '0126a4b32ed6c9b0b30356d8571a76c1', '2026-11-22 06:44:43.878525+00'),
	(2, '0002_interface.sql', '703be0e4d85082028e3be955018b6a00', '2026-11-22 06:44:43.878525+00'),
	(3, '0003_engine.sql', 'a4d1d7a1938269b0761057192468f79e', '2026-11-22 06:44:43.878525+00'),
	(4, '0004_takeover.sql', 'd5e380787295cf5fcb1349cfa9620ca9', '2026-11-22 06:44:43.878525+00'),
	(5, '0005_guarded.sql', '11668bc176a629588597991c13838121', '2026-11-22 06:44:43.878525+00');


--
-- Data for Name: thread_results; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.thread_results VALUES
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 0, 0, 0, 3802, 15572992, 0, 1999998962, 2000603348, 0, 0, 46595671, 1903, 0, 0),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 1, 0, 0, 3836, 15712256, 0, 1999998128, 2000190003, 0, 0, 37160298, 1920, 0, 0),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 1, 0, 0, 477, 1953792, 0, 998109380, 0, 0, 1000220230, 26425198, 956, 1, 0),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 0, 0, 0, 477, 1953792, 0, 999945461, 0, 0, 1000234805, 20262016, 956, 4, 0),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 0, 0, 0, 954, 3907584, 0, 999999786, 0, 0, 1000258387, 24719848, 1107, 0, 0),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 1, 0, 0, 954, 3907584, 0, 999433492, 0, 0, 1000779564, 25924418, 1107, 0, 0),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, 0, 0, 200, 819200, 0, 1991047279, 306228, 0, 1999816926, 11030475, 401, 0, 0),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, 2, 0, 95, 389120, 0, 1987071904, 100954655, 0, 0, 4064277, 192, 0, 1899025964),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, 2, 1, 95, 389120, 0, 1988444690, 101451677, 0, 0, 4328261, 192, 0, 1898550344),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 0, 0, 200, 819200, 0, 1991019394, 126942, 0, 2000035559, 5924103, 402, 0, 0),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 1, 0, 622, 2547712, 0, 1997075612, 156413, 0, 1999986177, 23389550, 1223, 1, 0),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 2, 0, 95, 389120, 0, 1986172758, 100218010, 0, 0, 4499904, 192, 0, 1899778086),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, 2, 1, 95, 389120, 0, 1982775494, 98194579, 0, 0, 3113410, 192, 0, 1901856450),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 1, 1, 0, 0, 64, 262144, 0, 874779, 780984, 0, 0, 438584, 3, 0, 0),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 1, 0, 0, 0, 64, 262144, 0, 886358, 821721, 0, 0, 478947, 3, 0, 0),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 1, 1, 0, 0, 64, 262144, 0, 1434292, 1434292, 0, 0, 519877, 3, 1, 0),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 1, 0, 0, 0, 64, 262144, 0, 1353411, 1353411, 0, 0, 433958, 4, 0, 0),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 1, 0, 0, 1924, 7880704, 0, 1006669624, 1006882163, 0, 0, 20701642, 964, 0, 0),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 0, 0, 0, 1930, 7905280, 0, 1006737311, 1007172435, 0, 0, 18914411, 967, 0, 0),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 1, 0, 0, 318261, 1303597056, 0, 999844901, 1000123172, 0, 0, 193862643, 86432, 2625, 0),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 1, 0, 1, 314831, 1289547776, 0, 999948487, 999955844, 0, 0, 195077579, 82787, 2694, 0),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 0, 0, 0, 386235, 1582018560, 0, 999969322, 1000380362, 0, 0, 331623098, 125423, 2883, 0),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 0, 0, 1, 356622, 1460723712, 0, 999856225, 999891051, 0, 0, 226901675, 100953, 9292, 0),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 1, 0, 0, 1918, 7856128, 0, 999459889, 999383676, 0, 1097556, 20593566, 1020, 0, 0),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 0, 0, 0, 1914, 7839744, 0, 999715469, 999692709, 0, 1044647, 22242561, 973, 0, 0),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 0, 108084, 442712064, 0, 3999978140, 4000016035, 0, 0, 609506820, 27947, 96, 0),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, 0, 1, 108198, 443179008, 0, 3999971823, 4000319511, 0, 0, 612708329, 27966, 98, 0),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 0, 21236, 86982656, 0, 1077717493, 1077820841, 0, 0, 96401676, 6107, 57, 0),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, 0, 1, 21232, 86966272, 0, 1077826560, 1077908244, 0, 0, 97362475, 6102, 52, 0),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 0, 37977, 155553792, 0, 1999969871, 2000091505, 0, 0, 198728083, 11243, 42, 0),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, 0, 1, 38068, 155926528, 0, 1999970817, 2000316193, 0, 0, 198901066, 11294, 46, 0),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 1, 0, 0, 38066, 155918336, 0, 1999878036, 2000172519, 0, 0, 199486780, 11269, 44, 0),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 1, 0, 1, 38074, 155951104, 0, 1999845842, 2000068360, 0, 0, 199608438, 11239, 40, 0),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 1, 0, 0, 2020, 8273920, 0, 1061356635, 1062075442, 0, 0, 13150897, 1012, 0, 0),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 0, 0, 0, 2028, 8306688, 0, 1061259442, 1061729883, 0, 0, 13386655, 1016, 1, 0);


--
-- Data for Name: worker_results; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.worker_results VALUES
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 0, '', '{"goNs": "23969127573065", "endNs": "23971133003620", "lastIoNs": "23971128177451", "cpuUserNs": "19638000", "firstIoNs": "23969127574103", "intervals": 3, "workloads": [{"engine": "null (no storage, scripted latency)", "averageBatch": 1, "queueFullRatio": 0.9996345952331176}], "cpuSystemNs": "34081000"}'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 1, 1, '', '{"goNs": "23969127602400", "endNs": "23971133066249", "lastIoNs": "23971127794275", "cpuUserNs": "20011000", "firstIoNs": "23969127604272", "intervals": 3, "workloads": [{"engine": "null (no storage, scripted latency)", "averageBatch": 1, "queueFullRatio": 0.99981010853997354}], "cpuSystemNs": "26368000"}'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 1, '', '{"goNs": "23971470757758", "endNs": "23972476095439", "lastIoNs": "23972469996552", "cpuUserNs": "16759000", "firstIoNs": "23971471887172", "intervals": 2, "workloads": [{"due": "477", "engine": "null (no storage, scripted latency)", "averageBatch": 1, "longestBacklogNs": "1548831"}], "cpuSystemNs": "13220000"}'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 1, 0, '', '{"goNs": "23971470727694", "endNs": "23972476231371", "lastIoNs": "23972471017038", "cpuUserNs": "14856000", "firstIoNs": "23971470782233", "intervals": 2, "workloads": [{"due": "478", "engine": "null (no storage, scripted latency)", "averageBatch": 1, "longestBacklogNs": "210083"}], "cpuSystemNs": "9305000"}'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 0, '', '{"goNs": "23972814876663", "endNs": "23973820280124", "lastIoNs": "23973815135264", "cpuUserNs": "6815000", "firstIoNs": "23972814876877", "intervals": 2, "workloads": [{"due": "955", "engine": "null (no storage, scripted latency)", "averageBatch": 1, "longestBacklogNs": "182771"}], "cpuSystemNs": "22396000"}'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 1, 1, '', '{"goNs": "23972814887563", "endNs": "23973820831987", "lastIoNs": "23973815667446", "cpuUserNs": "18580000", "firstIoNs": "23972815454071", "intervals": 2, "workloads": [{"due": "955", "engine": "null (no storage, scripted latency)", "averageBatch": 1.00104821802935, "longestBacklogNs": "1492521"}], "cpuSystemNs": "13219000"}'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 1, '', '{"goNs": "23974205731845", "endNs": "23976206006299", "lastIoNs": "23976196819609", "cpuUserNs": "9113000", "firstIoNs": "23974205769961", "intervals": 3, "workloads": [{"engine": "null (no storage, scripted latency)", "averageBatch": 1}, {"engine": "null (no storage, scripted latency)", "workload": 2, "averageBatch": 1, "queueFullRatio": 0.050913178129727774}], "cpuSystemNs": "17526000"}'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 0, '', '{"goNs": "23974205713325", "endNs": "23976206450776", "lastIoNs": "23976205937297", "cpuUserNs": "25218000", "firstIoNs": "23974205745951", "intervals": 3, "workloads": [{"engine": "null (no storage, scripted latency)", "averageBatch": 1}, {"due": "623", "engine": "null (no storage, scripted latency)", "workload": 1, "averageBatch": 1.0064620355411955, "queueFullRatio": 0.000074089035608591, "longestBacklogNs": "341367"}, {"engine": "null (no storage, scripted latency)", "workload": 2, "averageBatch": 1, "queueFullRatio": 0.049990826232622528}], "cpuSystemNs": "19010000"}'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 0, 1, 1, '', '{"goNs": "23976573417701", "endNs": "23976577019579", "filesMade": "1", "bytesWritten": "262144"}'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 0, 1, 0, '', '{"goNs": "23976573369842", "endNs": "23976577284086", "filesMade": "1", "bytesWritten": "262144"}'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 1, 1, '', '{"goNs": "23976903345327", "endNs": "23976919604662", "lastIoNs": "23976904235355", "cpuUserNs": "1646000", "firstIoNs": "23976903360576", "intervals": 1, "workloads": [{"engine": "io_uring (single issuer, deferred task work, registered files, registered buffers)", "averageBatch": 7.1111111111111107, "verification": {}, "queueFullRatio": 0.74052760754430547}]}'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 1, 0, '', '{"goNs": "23976903350023", "endNs": "23976920097337", "lastIoNs": "23976904251980", "firstIoNs": "23976903365622", "intervals": 1, "workloads": [{"engine": "io_uring (single issuer, deferred task work, registered files, registered buffers)", "averageBatch": 7.1111111111111107, "verification": {}, "queueFullRatio": 0.70017532419180517}], "cpuSystemNs": "1779000"}'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 1, 1, '', '{"goNs": "23977285093084", "endNs": "23977301479233", "lastIoNs": "23977286527806", "cpuUserNs": "1188000", "firstIoNs": "23977285093514", "intervals": 1, "workloads": [{"engine": "io_uring (single issuer, deferred task work, registered files, registered buffers)", "averageBatch": 7.1111111111111107, "verification": {"checked": "64"}, "queueFullRatio": 0.79795467031817791}]}'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 1, 0, '', '{"goNs": "23977285105865", "endNs": "23977302041047", "lastIoNs": "23977286460999", "firstIoNs": "23977285107588", "intervals": 1, "workloads": [{"engine": "io_uring (single issuer, deferred task work, registered files, registered buffers)", "averageBatch": 6.4, "verification": {"checked": "64", "mismatches": [{"path": "/srv/data/node1/kept", "found": "no header: other bytes", "length": 4096, "offset": "8192", "verdict": "BLOCK_VERDICT_NEVER_WRITTEN", "expected": "a block for offset 8192", "foundFile": "/srv/worker-node1/mismatches/1f71ce67-da0c-4f56-83ba-0d24c38d9288-phase0-attempt1/0-1-offset8192.found"}], "neverWritten": "1"}, "queueFullRatio": 0.81031999887691175}], "cpuSystemNs": "2052000"}'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 1, 1, 0, '', '{"goNs": "23977628975514", "endNs": "23977630746770", "filesRemoved": "1"}'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 1, 1, 1, '', '{"goNs": "23977628981359", "endNs": "23977630651171", "filesRemoved": "1"}'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 1, '', '{"goNs": "23977993710453", "endNs": "23979019136985", "lastIoNs": "23979000593027", "cpuUserNs": "5705000", "firstIoNs": "23977993710864", "intervals": 3, "workloads": [{"engine": "null (no storage, scripted latency)", "averageBatch": 1, "queueFullRatio": 0.99970656546430448}], "cpuSystemNs": "20075000", "stoppedEarly": true}'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 1, 0, '', '{"goNs": "23977993703048", "endNs": "23979019539663", "lastIoNs": "23979000875972", "firstIoNs": "23977993703537", "intervals": 3, "workloads": [{"engine": "null (no storage, scripted latency)", "averageBatch": 1, "queueFullRatio": 0.99973857902495122}], "cpuSystemNs": "23429000", "stoppedEarly": true}'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 0, 1, 1, '', '{"goNs": "23979387236535", "endNs": "23979394475555", "filesMade": "1", "bytesWritten": "2097152"}'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 0, 1, 0, '', '{"goNs": "23979387233103", "endNs": "23979394394500", "filesMade": "1", "bytesWritten": "2097152"}'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 1, '', '{"goNs": "23979720022318", "endNs": "23980725587074", "lastIoNs": "23980720300589", "cpuUserNs": "44679000", "firstIoNs": "23979720073831", "intervals": 2, "workloads": [{"engine": "io_uring (single issuer, deferred task work, registered files, registered buffers)", "averageBatch": 1.9999873292641441, "queueFullRatio": 0.99991421758118237}], "cpuSystemNs": "782849000"}'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 1, 0, '', '{"goNs": "23979720016760", "endNs": "23980726386551", "lastIoNs": "23980720427800", "cpuUserNs": "46295000", "firstIoNs": "23979720047438", "intervals": 2, "workloads": [{"engine": "io_uring (single issuer, deferred task work, registered files, registered buffers)", "averageBatch": 1.9999922328488355, "queueFullRatio": 0.99984188416489361}], "cpuSystemNs": "1105517000"}'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 2, 1, 0, '', '{"goNs": "23981058477320", "endNs": "23981061428013", "filesRemoved": "1"}'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 2, 1, 1, '', '{"goNs": "23981058495788", "endNs": "23981061879559", "filesRemoved": "1"}'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 1, '', '{"goNs": "23981429223267", "endNs": "23982434509078", "lastIoNs": "23982429711600", "cpuUserNs": "7435000", "firstIoNs": "23981429763378", "intervals": 2, "workloads": [{"due": "2566", "engine": "null (no storage, scripted latency)", "unstarted": "646", "averageBatch": 1, "queueFullRatio": 0.9988945207604959, "longestBacklogNs": "258993636"}], "cpuSystemNs": "16899000"}'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 1, 0, '', '{"goNs": "23981429202795", "endNs": "23982434670523", "lastIoNs": "23982429942279", "cpuUserNs": "2542000", "firstIoNs": "23981429487326", "intervals": 2, "workloads": [{"due": "2502", "engine": "null (no storage, scripted latency)", "unstarted": "586", "averageBatch": 1, "queueFullRatio": 0.99860367426258323, "longestBacklogNs": "234701684"}], "cpuSystemNs": "23987000"}'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 0, 1, 0, '', '{"goNs": "23982809325514", "endNs": "23982817491090", "filesMade": "1", "bytesWritten": "2097152"}'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 0, 1, 1, '', '{"goNs": "23982809323273", "endNs": "23982817435668", "filesMade": "1", "bytesWritten": "2097152"}'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 1, 0, '', '{"goNs": "23983144881374", "endNs": "23987151179642", "lastIoNs": "23987145229062", "cpuUserNs": "140152000", "firstIoNs": "23983144903234", "intervals": 5, "workloads": [{"engine": "io_uring (single issuer, deferred task work, registered files, registered buffers)", "averageBatch": 1.3283504484169635, "queueFullRatio": 0.97228535457727916}], "cpuSystemNs": "1100087000"}'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 0, 1, 1, '', '{"goNs": "23987613169595", "endNs": "23987613506815", "filesReused": "1"}'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 0, 1, 0, '', '{"goNs": "23987613171844", "endNs": "23987614744553", "filesReused": "1"}'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 1, 0, '', '{"goNs": "23987946849036", "endNs": "23989029023423", "lastIoNs": "23989024809188", "cpuUserNs": "18497000", "firstIoNs": "23987946879280", "intervals": 3, "workloads": [{"engine": "io_uring (single issuer, deferred task work, registered files, registered buffers)", "averageBatch": 1.3107858956274554, "queueFullRatio": 0.98296688873479832}], "cpuSystemNs": "180270000", "stoppedEarly": true}'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 0, '', '{"goNs": "23989361655767", "endNs": "23991367493470", "lastIoNs": "23991362001143", "cpuUserNs": "26955000", "firstIoNs": "23989361684950", "intervals": 3, "workloads": [{"engine": "io_uring (single issuer, deferred task work, registered files, registered buffers)", "averageBatch": 1.3032814737184066, "queueFullRatio": 0.98326670492255386}], "cpuSystemNs": "378052000"}'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 2, 1, '', '{"goNs": "23989361645854", "endNs": "23991366997227", "lastIoNs": "23991361940337", "cpuUserNs": "29214000", "firstIoNs": "23989361767818", "intervals": 3, "workloads": [{"engine": "io_uring (single issuer, deferred task work, registered files, registered buffers)", "averageBatch": 1.3027909697652285, "queueFullRatio": 0.98309527593992607}], "cpuSystemNs": "376800000"}'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 2, 1, 0, '', '{"goNs": "23991694925233", "endNs": "23991697565289", "filesRemoved": "1"}'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 2, 1, 1, '', '{"goNs": "23991694950766", "endNs": "23991697797093", "filesRemoved": "1"}'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 1, '', '{"goNs": "23992061682016", "endNs": "23993127577885", "lastIoNs": "23993123758050", "cpuUserNs": "6063000", "firstIoNs": "23992061682608", "intervals": 3, "workloads": [{"engine": "null (no storage, scripted latency)", "averageBatch": 1, "queueFullRatio": 0.99968933280353545}], "cpuSystemNs": "11791000", "stoppedEarly": true}'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 1, 0, '', '{"goNs": "23992061664299", "endNs": "23993127833562", "lastIoNs": "23993123395541", "cpuUserNs": "7721000", "firstIoNs": "23992061665658", "intervals": 3, "workloads": [{"engine": "null (no storage, scripted latency)", "averageBatch": 1, "queueFullRatio": 0.99962805605613725}], "cpuSystemNs": "9715000", "stoppedEarly": true}');


--
-- Data for Name: workers; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.workers VALUES
	('619155ee-c3f7-4371-8a64-93694fff91eb', 'a905b8f4-bbc0-45ac-b8cc-8a858e88b2df', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '0.1.0', '{}', '2026-11-22 06:44:44.033916+00', '2026-11-22 06:44:44.033916+00', ''),
	('3c37260d-9419-42b0-81b0-234f6f9512ea', '483a5050-3d0c-4a18-a5ea-450480c95e94', '305fa0b0-00ce-4426-87f0-5d7274c1a72d', '0.1.0', '{}', '2026-11-22 06:44:44.03027+00', '2026-11-22 06:45:04.382213+00', '');


--
-- Data for Name: workloads; Type: TABLE DATA; Schema: lockstep; Owner: -
--

INSERT INTO lockstep.workloads VALUES
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 0, 0, 'a', '{"name": "a", "direct": true, "engine": "ENGINE_NULL", "pattern": {"random": {}}, "targets": ["none"], "threads": 1, "readRatio": 1, "closedLoop": {}, "queueDepth": 2, "blockSizeBytes": "4096"}'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 1, 0, 'w0', '{"name": "w0", "direct": true, "engine": "ENGINE_NULL", "pattern": {"random": {}}, "targets": ["none"], "threads": 1, "openLoop": {"arrival": "ARRIVAL_FIXED", "measured": {"phase": "full", "shareRatio": 0.25}}, "readRatio": 1, "queueDepth": 8, "blockSizeBytes": "4096"}'),
	('43cb0ea5-a293-4860-9c6d-8d9aba4c462b', 2, 0, 'w0', '{"name": "w0", "direct": true, "engine": "ENGINE_NULL", "pattern": {"random": {}}, "targets": ["none"], "threads": 1, "openLoop": {"arrival": "ARRIVAL_FIXED", "measured": {"phase": "full", "shareRatio": 0.5}}, "readRatio": 1, "queueDepth": 8, "blockSizeBytes": "4096"}'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 0, 'a', '{"name": "a", "direct": true, "engine": "ENGINE_NULL", "maxIops": 200, "pattern": {"random": {}}, "targets": ["none"], "threads": 1, "readRatio": 1, "closedLoop": {}, "queueDepth": 2, "blockSizeBytes": "4096"}'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 1, 'b', '{"name": "b", "hosts": {"names": ["node1"]}, "direct": true, "engine": "ENGINE_NULL", "pattern": {"random": {}}, "targets": ["none"], "threads": 1, "openLoop": {"ratePerSecond": 300}, "readRatio": 1, "queueDepth": 4, "blockSizeBytes": "4096"}'),
	('8b43b5f7-d40b-46d9-b73e-80f02a6630f8', 0, 2, 'c', '{"name": "c", "direct": true, "engine": "ENGINE_NULL", "pattern": {"random": {}}, "targets": ["none"], "threads": 2, "readRatio": 1, "closedLoop": {}, "queueDepth": 1, "thinkTimeNs": "20000000", "blockSizeBytes": "4096"}'),
	('11b9aae9-4bd4-42c1-af97-13d3b854ab0d', 1, 0, 'precondition', '{"name": "precondition", "direct": true, "engine": "ENGINE_IO_URING", "passes": 1, "verify": true, "content": {}, "pattern": {"sequential": {}}, "targets": ["data"], "threads": 1, "readRatio": 0, "closedLoop": {}, "queueDepth": 32, "blockSizeBytes": "4096"}'),
	('1f71ce67-da0c-4f56-83ba-0d24c38d9288', 0, 0, 'verify', '{"name": "verify", "direct": true, "engine": "ENGINE_IO_URING", "passes": 1, "verify": true, "pattern": {"sequential": {}}, "targets": ["data"], "threads": 1, "readRatio": 1, "closedLoop": {}, "queueDepth": 32, "blockSizeBytes": "4096"}'),
	('9905e6c9-d64f-406a-8bad-27d39e513e0c', 0, 0, 'a', '{"name": "a", "direct": true, "engine": "ENGINE_NULL", "pattern": {"random": {}}, "targets": ["none"], "threads": 1, "readRatio": 1, "closedLoop": {}, "queueDepth": 2, "blockSizeBytes": "4096"}'),
	('d844efa8-7385-4d8f-921f-f115a38eb177', 1, 0, 'mixed', '{"name": "mixed", "direct": false, "engine": "ENGINE_IO_URING", "pattern": {"random": {}}, "targets": ["data"], "threads": 2, "readRatio": 0, "closedLoop": {}, "queueDepth": 4, "blockSizeBytes": "4096"}'),
	('62524c30-4a8e-4b41-a88a-e7b58bf642fa', 0, 0, 'a', '{"name": "a", "direct": true, "engine": "ENGINE_NULL", "pattern": {"random": {}}, "targets": ["none"], "threads": 1, "openLoop": {"ratePerSecond": 5000}, "readRatio": 1, "queueDepth": 2, "blockSizeBytes": "4096"}'),
	('13fee125-b942-4f2a-a668-ddf85943e568', 1, 0, 'mixed', '{"name": "mixed", "direct": true, "engine": "ENGINE_IO_URING", "pattern": {"random": {}}, "targets": ["data"], "threads": 2, "readRatio": 0.70000000000000007, "closedLoop": {}, "queueDepth": 4, "blockSizeBytes": "4096"}'),
	('644090f1-0ccd-4b23-b206-1e72fea5a8ff', 1, 0, 'mixed', '{"name": "mixed", "direct": true, "engine": "ENGINE_IO_URING", "pattern": {"random": {}}, "targets": ["data"], "threads": 2, "readRatio": 0.70000000000000007, "closedLoop": {}, "queueDepth": 4, "blockSizeBytes": "4096"}'),
	('3ea8accc-8095-4360-94cb-d8e1d81155c8', 0, 0, 'a', '{"name": "a", "direct": true, "engine": "ENGINE_NULL", "pattern": {"random": {}}, "targets": ["none"], "threads": 1, "readRatio": 1, "closedLoop": {}, "queueDepth": 2, "blockSizeBytes": "4096"}');


--
-- Name: events_event_id_seq; Type: SEQUENCE SET; Schema: lockstep; Owner: -
--

SELECT pg_catalog.setval('lockstep.events_event_id_seq', 11, true);


--
-- Name: runs_number_seq; Type: SEQUENCE SET; Schema: lockstep; Owner: -
--

SELECT pg_catalog.setval('lockstep.runs_number_seq', 10, true);


--
-- Name: controller_epoch controller_epoch_pkey; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.controller_epoch
    ADD CONSTRAINT controller_epoch_pkey PRIMARY KEY (only_row);


--
-- Name: controller_lock controller_lock_pkey; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.controller_lock
    ADD CONSTRAINT controller_lock_pkey PRIMARY KEY (only_row);


--
-- Name: cursors cursors_pkey; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.cursors
    ADD CONSTRAINT cursors_pkey PRIMARY KEY (run_id, phase, attempt, worker_index);


--
-- Name: devices devices_pkey; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.devices
    ADD CONSTRAINT devices_pkey PRIMARY KEY (boot_id, name);


--
-- Name: environment_facts environment_facts_pkey; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.environment_facts
    ADD CONSTRAINT environment_facts_pkey PRIMARY KEY (run_id, worker_index, name);


--
-- Name: events events_pkey; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (event_id);


--
-- Name: hosts hosts_pkey; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.hosts
    ADD CONSTRAINT hosts_pkey PRIMARY KEY (host_id);


--
-- Name: jobs jobs_pkey; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (job_id);


--
-- Name: latency_rollups latency_rollups_pkey; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.latency_rollups
    ADD CONSTRAINT latency_rollups_pkey PRIMARY KEY (run_id, phase, attempt, workload, kind, metric, begin_ns);


--
-- Name: phase_results phase_results_pkey; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.phase_results
    ADD CONSTRAINT phase_results_pkey PRIMARY KEY (run_id, phase, attempt, worker_index, workload, interval_class, kind, metric);


--
-- Name: phases phases_pkey; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.phases
    ADD CONSTRAINT phases_pkey PRIMARY KEY (run_id, phase, attempt);


--
-- Name: run_workers run_workers_pkey; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.run_workers
    ADD CONSTRAINT run_workers_pkey PRIMARY KEY (run_id, worker_index);


--
-- Name: runs runs_number_key; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.runs
    ADD CONSTRAINT runs_number_key UNIQUE (number);


--
-- Name: runs runs_pkey; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (run_id);


--
-- Name: schema_migrations schema_migrations_pkey; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);


--
-- Name: thread_results thread_results_pkey; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.thread_results
    ADD CONSTRAINT thread_results_pkey PRIMARY KEY (run_id, phase, attempt, worker_index, workload, thread);


--
-- Name: worker_results worker_results_pkey; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.worker_results
    ADD CONSTRAINT worker_results_pkey PRIMARY KEY (run_id, phase, attempt, worker_index);


--
-- Name: workers workers_pkey; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (worker_id);


--
-- Name: workloads workloads_pkey; Type: CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.workloads
    ADD CONSTRAINT workloads_pkey PRIMARY KEY (run_id, phase, workload);


--
-- Name: device_samples_run_id_phase_attempt_idx; Type: INDEX; Schema: lockstep; Owner: -
--

CREATE INDEX device_samples_run_id_phase_attempt_idx ON ONLY lockstep.device_samples USING btree (run_id, phase, attempt);


--
-- Name: device_samples_2026_11_run_id_phase_attempt_idx; Type: INDEX; Schema: lockstep; Owner: -
--

CREATE INDEX device_samples_2026_11_run_id_phase_attempt_idx ON lockstep.device_samples_2026_11 USING btree (run_id, phase, attempt);


--
-- Name: device_samples_2026_12_run_id_phase_attempt_idx; Type: INDEX; Schema: lockstep; Owner: -
--

CREATE INDEX device_samples_2026_12_run_id_phase_attempt_idx ON lockstep.device_samples_2026_12 USING btree (run_id, phase, attempt);


--
-- Name: events_by_run; Type: INDEX; Schema: lockstep; Owner: -
--

CREATE INDEX events_by_run ON lockstep.events USING btree (run_id, event_id);


--
-- Name: host_samples_run_id_phase_attempt_idx; Type: INDEX; Schema: lockstep; Owner: -
--

CREATE INDEX host_samples_run_id_phase_attempt_idx ON ONLY lockstep.host_samples USING btree (run_id, phase, attempt);


--
-- Name: host_samples_2026_11_run_id_phase_attempt_idx; Type: INDEX; Schema: lockstep; Owner: -
--

CREATE INDEX host_samples_2026_11_run_id_phase_attempt_idx ON lockstep.host_samples_2026_11 USING btree (run_id, phase, attempt);


--
-- Name: host_samples_2026_12_run_id_phase_attempt_idx; Type: INDEX; Schema: lockstep; Owner: -
--

CREATE INDEX host_samples_2026_12_run_id_phase_attempt_idx ON lockstep.host_samples_2026_12 USING btree (run_id, phase, attempt);


--
-- Name: interval_counters_run_id_phase_attempt_idx; Type: INDEX; Schema: lockstep; Owner: -
--

CREATE INDEX interval_counters_run_id_phase_attempt_idx ON ONLY lockstep.interval_counters USING btree (run_id, phase, attempt);


--
-- Name: interval_counters_2026_11_run_id_phase_attempt_idx; Type: INDEX; Schema: lockstep; Owner: -
--

CREATE INDEX interval_counters_2026_11_run_id_phase_attempt_idx ON lockstep.interval_counters_2026_11 USING btree (run_id, phase, attempt);


--
-- Name: interval_counters_2026_12_run_id_phase_attempt_idx; Type: INDEX; Schema: lockstep; Owner: -
--

CREATE INDEX interval_counters_2026_12_run_id_phase_attempt_idx ON lockstep.interval_counters_2026_12 USING btree (run_id, phase, attempt);


--
-- Name: interval_histograms_run_id_phase_attempt_idx; Type: INDEX; Schema: lockstep; Owner: -
--

CREATE INDEX interval_histograms_run_id_phase_attempt_idx ON ONLY lockstep.interval_histograms USING btree (run_id, phase, attempt);


--
-- Name: interval_histograms_2026_11_run_id_phase_attempt_idx; Type: INDEX; Schema: lockstep; Owner: -
--

CREATE INDEX interval_histograms_2026_11_run_id_phase_attempt_idx ON lockstep.interval_histograms_2026_11 USING btree (run_id, phase, attempt);


--
-- Name: interval_histograms_2026_12_run_id_phase_attempt_idx; Type: INDEX; Schema: lockstep; Owner: -
--

CREATE INDEX interval_histograms_2026_12_run_id_phase_attempt_idx ON lockstep.interval_histograms_2026_12 USING btree (run_id, phase, attempt);


--
-- Name: run_workers_held; Type: INDEX; Schema: lockstep; Owner: -
--

CREATE INDEX run_workers_held ON lockstep.run_workers USING btree (worker_id) WHERE (hold_ns IS NOT NULL);


--
-- Name: runs_by_state; Type: INDEX; Schema: lockstep; Owner: -
--

CREATE INDEX runs_by_state ON lockstep.runs USING btree (state) WHERE (state = ANY (ARRAY['queued'::text, 'running'::text]));


--
-- Name: device_samples_2026_11_run_id_phase_attempt_idx; Type: INDEX ATTACH; Schema: lockstep; Owner: -
--

ALTER INDEX lockstep.device_samples_run_id_phase_attempt_idx ATTACH PARTITION lockstep.device_samples_2026_11_run_id_phase_attempt_idx;


--
-- Name: device_samples_2026_12_run_id_phase_attempt_idx; Type: INDEX ATTACH; Schema: lockstep; Owner: -
--

ALTER INDEX lockstep.device_samples_run_id_phase_attempt_idx ATTACH PARTITION lockstep.device_samples_2026_12_run_id_phase_attempt_idx;


--
-- Name: host_samples_2026_11_run_id_phase_attempt_idx; Type: INDEX ATTACH; Schema: lockstep; Owner: -
--

ALTER INDEX lockstep.host_samples_run_id_phase_attempt_idx ATTACH PARTITION lockstep.host_samples_2026_11_run_id_phase_attempt_idx;


--
-- Name: host_samples_2026_12_run_id_phase_attempt_idx; Type: INDEX ATTACH; Schema: lockstep; Owner: -
--

ALTER INDEX lockstep.host_samples_run_id_phase_attempt_idx ATTACH PARTITION lockstep.host_samples_2026_12_run_id_phase_attempt_idx;


--
-- Name: interval_counters_2026_11_run_id_phase_attempt_idx; Type: INDEX ATTACH; Schema: lockstep; Owner: -
--

ALTER INDEX lockstep.interval_counters_run_id_phase_attempt_idx ATTACH PARTITION lockstep.interval_counters_2026_11_run_id_phase_attempt_idx;


--
-- Name: interval_counters_2026_12_run_id_phase_attempt_idx; Type: INDEX ATTACH; Schema: lockstep; Owner: -
--

ALTER INDEX lockstep.interval_counters_run_id_phase_attempt_idx ATTACH PARTITION lockstep.interval_counters_2026_12_run_id_phase_attempt_idx;


--
-- Name: interval_histograms_2026_11_run_id_phase_attempt_idx; Type: INDEX ATTACH; Schema: lockstep; Owner: -
--

ALTER INDEX lockstep.interval_histograms_run_id_phase_attempt_idx ATTACH PARTITION lockstep.interval_histograms_2026_11_run_id_phase_attempt_idx;


--
-- Name: interval_histograms_2026_12_run_id_phase_attempt_idx; Type: INDEX ATTACH; Schema: lockstep; Owner: -
--

ALTER INDEX lockstep.interval_histograms_run_id_phase_attempt_idx ATTACH PARTITION lockstep.interval_histograms_2026_12_run_id_phase_attempt_idx;


--
-- Name: cursors cursors_run_id_fkey; Type: FK CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.cursors
    ADD CONSTRAINT cursors_run_id_fkey FOREIGN KEY (run_id) REFERENCES lockstep.runs(run_id) ON DELETE CASCADE;


--
-- Name: devices devices_host_id_fkey; Type: FK CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.devices
    ADD CONSTRAINT devices_host_id_fkey FOREIGN KEY (host_id) REFERENCES lockstep.hosts(host_id);


--
-- Name: environment_facts environment_facts_run_id_fkey; Type: FK CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.environment_facts
    ADD CONSTRAINT environment_facts_run_id_fkey FOREIGN KEY (run_id) REFERENCES lockstep.runs(run_id) ON DELETE CASCADE;


--
-- Name: events events_run_id_fkey; Type: FK CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.events
    ADD CONSTRAINT events_run_id_fkey FOREIGN KEY (run_id) REFERENCES lockstep.runs(run_id) ON DELETE CASCADE;


--
-- Name: latency_rollups latency_rollups_run_id_fkey; Type: FK CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.latency_rollups
    ADD CONSTRAINT latency_rollups_run_id_fkey FOREIGN KEY (run_id) REFERENCES lockstep.runs(run_id) ON DELETE CASCADE;


--
-- Name: phase_results phase_results_run_id_fkey; Type: FK CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.phase_results
    ADD CONSTRAINT phase_results_run_id_fkey FOREIGN KEY (run_id) REFERENCES lockstep.runs(run_id) ON DELETE CASCADE;


--
-- Name: phases phases_run_id_fkey; Type: FK CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.phases
    ADD CONSTRAINT phases_run_id_fkey FOREIGN KEY (run_id) REFERENCES lockstep.runs(run_id) ON DELETE CASCADE;


--
-- Name: run_workers run_workers_run_id_fkey; Type: FK CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.run_workers
    ADD CONSTRAINT run_workers_run_id_fkey FOREIGN KEY (run_id) REFERENCES lockstep.runs(run_id) ON DELETE CASCADE;


--
-- Name: runs runs_job_id_fkey; Type: FK CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.runs
    ADD CONSTRAINT runs_job_id_fkey FOREIGN KEY (job_id) REFERENCES lockstep.jobs(job_id);


--
-- Name: thread_results thread_results_run_id_fkey; Type: FK CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.thread_results
    ADD CONSTRAINT thread_results_run_id_fkey FOREIGN KEY (run_id) REFERENCES lockstep.runs(run_id) ON DELETE CASCADE;


--
-- Name: worker_results worker_results_run_id_fkey; Type: FK CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.worker_results
    ADD CONSTRAINT worker_results_run_id_fkey FOREIGN KEY (run_id) REFERENCES lockstep.runs(run_id) ON DELETE CASCADE;


--
-- Name: workers workers_host_id_fkey; Type: FK CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.workers
    ADD CONSTRAINT workers_host_id_fkey FOREIGN KEY (host_id) REFERENCES lockstep.hosts(host_id);


--
-- Name: workloads workloads_run_id_fkey; Type: FK CONSTRAINT; Schema: lockstep; Owner: -
--

ALTER TABLE ONLY lockstep.workloads
    ADD CONSTRAINT workloads_run_id_fkey FOREIGN KEY (run_id) REFERENCES lockstep.runs(run_id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--


