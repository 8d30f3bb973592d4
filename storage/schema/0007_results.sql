-- Results worth keeping: histograms that SQL adds up at the speed of C, one row for what a worker
-- did in an interval,
-- figures as the report gives them, keys that all begin with the run, and a comment on everything.

-- --------------------------------------------------------------------- what is replaced below

DROP VIEW run_overview, phase_fairness, host_throughput, host_operations, host_timeline,
    host_timeline_all, phase_latency, phase_latency_all,
          interval_latency, rollup_latency, measured_seconds, device_statistics, thread_time,
              verification, phase_attempts, lost_workers, phase_overview;
DROP FUNCTION last_run();
DROP AGGREGATE hist_merge(histogram);
DROP FUNCTION hist_merge_all(histogram[]);
DROP FUNCTION hist_percentile(histogram, double precision);
DROP FUNCTION hist_count(histogram);
DROP FUNCTION hist_decode(bytea);
DROP FUNCTION hist_midpoint(integer);

CREATE OR REPLACE FUNCTION interface_version() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS 'SELECT 3';

-- ------------------------------------------------------------------------------------ histograms

ALTER TYPE histogram RENAME TO histogram_arrays;

-- A histogram is one number: the sum over its buckets of count * 10^(16 * bucket). Adding two
-- numbers adds them bucket by bucket
-- (Kronecker substitution), which PostgreSQL does in C and in parallel. A bucket holds counts below
-- 10^16: ten million I/Os per second
-- for thirty years.
CREATE DOMAIN histogram AS numeric;

CREATE FUNCTION hist_from_buckets(buckets integer[], counts bigint[]) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF coalesce(array_length(buckets, 1), 0) <> coalesce(array_length(counts, 1), 0) THEN
    RAISE EXCEPTION '% buckets and % counts; each bucket has one count',
      coalesce(array_length(buckets, 1), 0), coalesce(array_length(counts, 1), 0);
  END IF;
  IF EXISTS (SELECT FROM unnest(buckets) b WHERE b IS NULL OR b < 0 OR b > 2496) THEN
    RAISE EXCEPTION 'a bucket is none of 0 to 2496';
  END IF;
  IF EXISTS (SELECT FROM unnest(counts) c WHERE c IS NULL OR c < 0 OR c >= 10000000000000000) THEN
    RAISE EXCEPTION 'a count is none of 0 to 10^16 - 1';
  END IF;
  RETURN (SELECT coalesce(string_agg(lpad(coalesce(b.count, 0)::text, 16, '0'), ''
                                     ORDER BY place DESC)::numeric, 0)
          FROM generate_series(0, (SELECT max(bucket) FROM unnest(buckets) bucket)) place
          LEFT JOIN (SELECT bucket, sum(count) AS count FROM unnest(buckets, counts) u(bucket,
              count)
                     GROUP BY bucket) b ON b.bucket = place);
END $$;

-- Reads the varints from the last to the first: buckets in descending order, as the digits of the
-- number come.
CREATE FUNCTION hist_decode(encoded bytea) RETURNS numeric LANGUAGE plpgsql IMMUTABLE STRICT
    PARALLEL SAFE AS $$
DECLARE
  fields text[] := '{}';
  field integer := 0;
  token bigint;
  byte integer;
  places bigint := 0;
  at integer := length(encoded) - 1;
BEGIN
  IF at < 0 THEN RETURN 0; END IF;
  WHILE at >= 0 LOOP
    token := get_byte(encoded, at);
    IF token >= 128 THEN RAISE EXCEPTION 'not an encoded histogram: it breaks off'; END IF;
    at := at - 1;
    WHILE at >= 0 LOOP
      byte := get_byte(encoded, at);
      EXIT WHEN byte < 128;
      token := (token << 7) | (byte & 127);
      at := at - 1;
    END LOOP;
    places := places + CASE WHEN token & 1 = 0 THEN 1 ELSE token >> 1 END;
    IF token < 2 OR places > 2497 OR (token & 1 = 0 AND token >> 1 >= 10000000000000000) THEN
      RAISE EXCEPTION 'not an encoded histogram: byte % is beyond its buckets or counts', at + 1;
    END IF;
    field := field + 1;
    fields[field] := CASE WHEN token & 1 = 0 THEN lpad((token >> 1)::text, 16, '0')
                          ELSE repeat('0', 16 * (token >> 1)::integer) END;
  END LOOP;
  RETURN array_to_string(fields, '')::numeric;
END $$;

CREATE AGGREGATE hist_merge(numeric) (SFUNC = numeric_add, STYPE = numeric, COMBINEFUNC =
    numeric_add, INITCOND = '0', PARALLEL = SAFE);

-- The digit sum in base 10^16: a number is congruent to it modulo 10^16 - 1, and equal to it below
-- that. A histogram of 10^16 values or more is beyond what the store is made for.
CREATE FUNCTION hist_count(h numeric) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF h < 0 OR h = 'NaN' OR h = 'Infinity' OR scale(h) > 0 THEN
    RAISE EXCEPTION 'not a histogram: %', left(h::text, 40);
  END IF;
  RETURN mod(h, 9999999999999999)::bigint;
END $$;

CREATE FUNCTION hist_bucket(latency_ns double precision) RETURNS integer LANGUAGE plpgsql IMMUTABLE
    STRICT PARALLEL SAFE AS $$
DECLARE
  value bigint;
  shift integer := 0;
BEGIN
  IF latency_ns < 0 OR latency_ns = 'NaN' THEN
    RAISE EXCEPTION 'a latency of % ns has no bucket; it is 0 or more', latency_ns;
  END IF;
  IF latency_ns >= 17592186044416 THEN RETURN 2496; END IF;
  value := floor(latency_ns)::bigint;
  WHILE value >> shift >= 128 LOOP shift := shift + 1; END LOOP;
  RETURN (shift << 6) + (value >> shift)::integer;
END $$;

CREATE FUNCTION hist_low(bucket integer) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
  SELECT CASE WHEN bucket < 0 THEN NULL WHEN bucket > 2496 THEN NULL WHEN bucket < 128 THEN
      bucket::bigint WHEN bucket >= 2496 THEN 17592186044416 ELSE
      (64 + (bucket & 63))::bigint << ((bucket >> 6) - 1) END
$$;

CREATE FUNCTION hist_midpoint(bucket integer) RETURNS double precision LANGUAGE sql IMMUTABLE
    STRICT PARALLEL SAFE AS $$
  SELECT CASE
    WHEN bucket < 0 OR bucket > 2496 THEN NULL
    WHEN bucket < 128 THEN bucket::double precision
    WHEN bucket = 2496 THEN 17592186044416.0
    ELSE ((64 + (bucket & 63))::bigint << ((bucket >> 6) - 1)) + ((1::bigint << ((bucket >> 6) -
        1)) - 1) / 2.0
  END
$$;

-- Places of bytes are found at once, places of characters are not: the digits are taken apart as
-- bytes.
CREATE FUNCTION hist_fields(h numeric) RETURNS TABLE (bucket integer, count bigint) LANGUAGE
    plpgsql IMMUTABLE STRICT PARALLEL SAFE ROWS 300 AS $$
DECLARE
  digits text;
  packed bytea;
  low integer;
  fields integer;
BEGIN
  IF h < 0 OR h = 'NaN' OR h = 'Infinity' OR scale(h) > 0 THEN RAISE EXCEPTION
      'not a histogram: %', left(h::text, 40); END IF;
  IF h = 0 THEN RETURN; END IF;
  digits := h::text;
  low := (length(digits) - length(rtrim(digits, '0'))) / 16;
  fields := (length(digits) + 15) / 16 - low;
  packed := convert_to(lpad(left(digits, length(digits) - low * 16), fields * 16, '0'), 'UTF8');
  RETURN QUERY SELECT low + fields - place, convert_from(substring(packed FROM (place - 1) * 16 + 1
      FOR 16), 'UTF8')::bigint
    FROM generate_series(fields, 1, -1) place WHERE substring(packed FROM (place - 1) * 16 + 1 FOR
        16) <> '\x30303030303030303030303030303030';
END $$;

CREATE FUNCTION hist_buckets(h numeric)
RETURNS TABLE (bucket integer, low_ns bigint, high_ns bigint, midpoint_ns double precision, count
    bigint)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE ROWS 300 AS $$
  SELECT f.bucket, lockstep.hist_low(f.bucket), CASE WHEN f.bucket < 2496 THEN
      lockstep.hist_low(f.bucket + 1) END,
         lockstep.hist_midpoint(f.bucket), f.count
  FROM lockstep.hist_fields(h) f
$$;

CREATE FUNCTION hist_percentiles(h numeric, percents double precision[]) RETURNS double precision[]
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  wrong double precision := (SELECT p FROM unnest(percents) p WHERE NOT (p >= 0 AND p <= 100) LIMIT
      1);
BEGIN
  IF wrong IS NOT NULL THEN RAISE EXCEPTION 'percentile %; write one from 0 to 100', wrong; END IF;
  RETURN (WITH cumulative AS MATERIALIZED (SELECT f.bucket, sum(f.count) OVER (ORDER BY f.bucket)
      AS seen FROM lockstep.hist_fields(h) f)
          SELECT array_agg((SELECT lockstep.hist_midpoint(min(c.bucket)) FROM cumulative c
                            WHERE c.seen >= greatest(1, ceil(p.percent / 100 * total - 1e-9 *
                                (p.percent / 100 * total)))) ORDER BY p.place)
          FROM unnest(percents) WITH ORDINALITY AS p(percent, place), (SELECT
              lockstep.hist_count(h)::double precision AS total) t);
END $$;

CREATE FUNCTION hist_percentile(h numeric, percent double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
  'SELECT (lockstep.hist_percentiles(h, ARRAY[percent]))[1]';

CREATE FUNCTION hist_mean(h numeric) RETURNS double precision LANGUAGE sql IMMUTABLE STRICT
    PARALLEL SAFE AS
  'SELECT sum(lockstep.hist_midpoint(f.bucket) * f.count) / sum(f.count) FROM '
      'lockstep.hist_fields(h) f';

CREATE FUNCTION hist_cdf(h numeric) RETURNS TABLE (latency_ns double precision, share double
    precision)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE ROWS 300 AS $$
  SELECT lockstep.hist_midpoint(f.bucket), (sum(f.count) OVER (ORDER BY f.bucket))::double
      precision / lockstep.hist_count(h)
  FROM lockstep.hist_fields(h) f
$$;

CREATE FUNCTION hist_share_above(h numeric, latency_ns double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT coalesce(sum(f.count) FILTER (WHERE f.bucket > lockstep.hist_bucket(latency_ns)),
      0)::double precision / sum(f.count) FROM lockstep.hist_fields(h) f
$$;

-- -------------------------------------------------------------------------------------- fairness

CREATE OR REPLACE FUNCTION jain_step(state double precision[], x double precision) RETURNS double
    precision[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN x IS NULL THEN state ELSE ARRAY[state[1] + 1, state[2] + x, state[3] + x * x] END
$$;
CREATE FUNCTION jain_combine(a double precision[], b double precision[]) RETURNS double precision[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  'SELECT ARRAY[a[1] + b[1], a[2] + b[2], a[3] + b[3]]';
CREATE OR REPLACE AGGREGATE jain(double precision) (
  SFUNC = jain_step, STYPE = double precision[], INITCOND = '{0,0,0}', FINALFUNC = jain_final,
      COMBINEFUNC = jain_combine, PARALLEL = SAFE
);

-- --------------------------------------------------------------------------------- jobs and runs

-- A job belongs to its run: every key begins with the run's id, and nothing counts over all runs.
ALTER TABLE runs ADD COLUMN job text, ADD COLUMN spec jsonb, ADD COLUMN source text, ADD COLUMN
    figures_version integer NOT NULL DEFAULT 0, ADD COLUMN samples_pruned_at timestamptz,
    ADD COLUMN report bytea COMPRESSION lz4;
UPDATE runs r SET job = j.name, spec = j.spec, source = j.source FROM jobs j WHERE j.job_id =
    r.job_id;
ALTER TABLE runs ALTER COLUMN job SET NOT NULL, ALTER COLUMN spec SET NOT NULL, ALTER COLUMN source
    SET NOT NULL, DROP COLUMN job_id;
DROP TABLE jobs;
-- The order of submission is the time; it was a number until now, which is given up where times are
-- equal.
UPDATE runs r SET submitted_at = r.submitted_at + o.place * interval '1 microsecond'
  FROM (SELECT run_id, row_number() OVER (PARTITION BY submitted_at ORDER BY number) - 1 AS place
      FROM runs) o WHERE o.run_id = r.run_id AND o.place > 0;
ALTER TABLE runs DROP COLUMN number;
ALTER TABLE runs ALTER COLUMN submitted_at SET DEFAULT clock_timestamp();
CREATE INDEX runs_by_time ON runs (submitted_at, run_id);
CREATE INDEX runs_by_job ON runs (job, submitted_at);
CREATE INDEX runs_by_label ON runs USING gin (labels jsonb_path_ops);
CREATE INDEX runs_without_figures ON runs (figures_version) WHERE state NOT IN ('queued',
    'running');

-- The point of a sweep: field to value.
ALTER TABLE phases ADD COLUMN point jsonb NOT NULL DEFAULT '{}';

-- Events are in order of their time, and of one time in the order in which they were stored.
DROP INDEX events_by_run;
ALTER TABLE events ADD COLUMN stored_at timestamptz;
UPDATE events SET stored_at = at + event_id * interval '1 microsecond';
ALTER TABLE events DROP COLUMN event_id, ALTER COLUMN stored_at SET NOT NULL, ALTER COLUMN
    stored_at SET DEFAULT clock_timestamp();
CREATE INDEX events_by_run ON events (run_id, stored_at);

-- What each worker's targets were, and what lies underneath: runs are found by it.
CREATE TABLE run_targets (
  run_id       uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  worker_index integer NOT NULL,
  target       integer NOT NULL,
  path         text NOT NULL,
  device       text NOT NULL,
  identity     text NOT NULL,
  filesystem   text NOT NULL,
  PRIMARY KEY (run_id, worker_index, target)
);
CREATE INDEX run_targets_by_identity ON run_targets (identity) WHERE identity <> '';
CREATE INDEX run_targets_by_device ON run_targets (device) WHERE device <> '';
INSERT INTO run_targets
  SELECT DISTINCT ON (w.run_id, w.worker_index, target) w.run_id, w.worker_index, coalesce((t ->>
      'target')::integer, 0) AS target, coalesce(t -> 'paths' ->> 0, ''),
         coalesce(t ->> 'deviceName', ''), coalesce(t ->> 'deviceIdentity', ''), coalesce(t ->>
             'filesystem', '')
  FROM run_workers w CROSS JOIN LATERAL jsonb_array_elements(coalesce(w.inspection -> 'targets',
      '[]')) t ORDER BY 1, 2, 3;
CREATE INDEX run_workers_by_host ON run_workers (host, run_id);

-- ----------------------------------------------------------------------------------- the samples

-- What a worker did in an interval, by workload and kind: counters and histograms in one row.
-- begin_ns and end_ns are there where the
-- interval is not [interval, interval + 1) * the phase's interval_ns: the drain, and one that was
-- cut.
CREATE TABLE interval_operations (
  run_id             uuid NOT NULL,
  started_at         timestamptz NOT NULL,
  operations         bigint NOT NULL,
  bytes              bigint NOT NULL,
  latency_sum_ns     bigint NOT NULL,
  interval           integer NOT NULL,
  worker_index       integer NOT NULL,
  phase              smallint NOT NULL,
  attempt            smallint NOT NULL,
  workload           smallint NOT NULL,
  interval_class     smallint NOT NULL,
  kind               smallint NOT NULL,
  errors             bigint,
  short_transfers    bigint,
  begin_ns           bigint,
  end_ns             bigint,
  service_time       bytea COMPRESSION lz4,
  response_time      bytea COMPRESSION lz4,
  submission_latency bytea COMPRESSION lz4
) PARTITION BY RANGE (started_at);
CREATE INDEX ON interval_operations (run_id, phase, attempt);

CREATE OR REPLACE FUNCTION ensure_partitions(first timestamptz, last timestamptz) RETURNS void
    LANGUAGE plpgsql AS $$
DECLARE
  parent text;
  part text;
  month timestamp;
BEGIN
  IF last > first + interval '20 years' THEN
    RAISE EXCEPTION 'partitions from % to % are more than samples can need', first, last;
  END IF;
  FOREACH parent IN ARRAY ARRAY['device_samples', 'host_samples', 'interval_operations'] LOOP
    FOR month IN SELECT generate_series(date_trunc('month', first AT TIME ZONE 'UTC'),
        date_trunc('month', last AT TIME ZONE 'UTC'), interval '1 month') LOOP
      part := parent || to_char(month, '_YYYY_MM');
      CONTINUE WHEN EXISTS (SELECT FROM pg_inherits WHERE inhrelid =
          to_regclass(format('lockstep.%I', part)));
      EXECUTE format('LOCK TABLE ONLY lockstep.%I IN SHARE UPDATE EXCLUSIVE MODE', parent);
      CONTINUE WHEN EXISTS (SELECT FROM pg_inherits WHERE inhrelid =
          to_regclass(format('lockstep.%I', part)));
      EXECUTE format('CREATE TABLE IF NOT EXISTS lockstep.%I (LIKE lockstep.%I INCLUDING DEFAULTS '
          'INCLUDING STORAGE INCLUDING COMPRESSION INCLUDING COMMENTS)', part, parent);
      EXECUTE format('ALTER TABLE lockstep.%I ATTACH PARTITION lockstep.%I FOR VALUES FROM (%L) '
          'TO (%L)', parent, part,
                     month::text || '+00', (month + interval '1 month')::text || '+00');
    END LOOP;
  END LOOP;
END $$;

DO $$
BEGIN
  PERFORM ensure_partitions(date_trunc('month', at), at) FROM (SELECT DISTINCT date_trunc('month',
      started_at) AS at FROM interval_counters) months;
END $$;
INSERT INTO interval_operations (run_id, started_at, operations, bytes, latency_sum_ns, interval,
    worker_index, phase, attempt, workload, interval_class,
                                 kind, errors, short_transfers, begin_ns, end_ns, service_time,
                                     response_time, submission_latency)
  SELECT c.run_id, c.started_at, c.operations, c.bytes, least(c.latency_sum_ns,
      9223372036854775807)::bigint, c.interval, c.worker_index, c.phase, c.attempt,
         c.workload, c.interval_class, c.kind, nullif(c.errors, 0), nullif(c.short_transfers, 0),
         CASE WHEN c.begin_ns <> p.interval_ns * c.interval OR c.end_ns <> p.interval_ns *
             (c.interval + 1) THEN c.begin_ns END,
         CASE WHEN c.begin_ns <> p.interval_ns * c.interval OR c.end_ns <> p.interval_ns *
             (c.interval + 1) THEN c.end_ns END,
         h.service_time, h.response_time, h.submission_latency
  FROM interval_counters c
  JOIN (SELECT run_id, phase, attempt, interval_ns FROM phases) p USING (run_id, phase, attempt)
  LEFT JOIN (SELECT run_id, phase, attempt, worker_index, workload, interval, interval_class, kind,
                    (array_agg(buckets) FILTER (WHERE metric = 1))[1] AS service_time,
                        (array_agg(buckets) FILTER (WHERE metric = 2))[1] AS response_time,
                    (array_agg(buckets) FILTER (WHERE metric = 3))[1] AS submission_latency
             FROM interval_histograms GROUP BY 1, 2, 3, 4, 5, 6, 7, 8) h USING (run_id, phase,
                 attempt, worker_index, workload, interval, interval_class, kind);
DROP TABLE interval_counters, interval_histograms;

-- ----------------------------------------------------------------------------------- the results

-- What a worker did in a whole phase, by workload, class and kind.
CREATE TABLE phase_operations (
  run_id             uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase              integer NOT NULL,
  attempt            integer NOT NULL,
  worker_index       integer NOT NULL,
  workload           integer NOT NULL,
  interval_class     smallint NOT NULL,
  kind               smallint NOT NULL,
  operations         bigint NOT NULL,
  bytes              bigint NOT NULL,
  errors             bigint NOT NULL,
  short_transfers    bigint NOT NULL,
  latency_sum_ns     numeric(20) NOT NULL,
  latency_min_ns     bigint NOT NULL,
  latency_max_ns     bigint NOT NULL,
  service_time       histogram COMPRESSION lz4,
  response_time      histogram COMPRESSION lz4,
  submission_latency histogram COMPRESSION lz4,
  PRIMARY KEY (run_id, phase, attempt, worker_index, workload, interval_class, kind)
);
INSERT INTO phase_operations
  SELECT run_id, phase, attempt, worker_index, workload, interval_class, kind, max(operations),
      max(bytes), max(errors), max(short_transfers),
         max(latency_sum_ns), max(latency_min_ns), max(latency_max_ns),
         max(hist_from_buckets((latencies).buckets, (latencies).counts)) FILTER (WHERE metric = 1),
         max(hist_from_buckets((latencies).buckets, (latencies).counts)) FILTER (WHERE metric = 2),
         max(hist_from_buckets((latencies).buckets, (latencies).counts)) FILTER (WHERE metric = 3)
  FROM phase_results GROUP BY 1, 2, 3, 4, 5, 6, 7;
DROP TABLE phase_results;

ALTER TABLE latency_rollups ALTER COLUMN latencies TYPE histogram USING
    hist_from_buckets((latencies).buckets, (latencies).counts);
ALTER TABLE latency_rollups ALTER COLUMN latencies SET COMPRESSION lz4;
DROP TYPE histogram_arrays;

-- The report's figures: of the fleet (host and worker_index NULL) and of each host; of a workload,
-- or of all (workload ''); of a kind of
-- operation, or of all I/Os (kind 'total').
CREATE TABLE phase_figures (
  run_id           uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase            integer NOT NULL,
  worker_index     integer,
  host             text,
  workload         text NOT NULL,
  kind             text NOT NULL,
  metric           text NOT NULL,
  is_reported      boolean NOT NULL,
  operations       bigint NOT NULL,
  bytes            bigint NOT NULL,
  errors           bigint NOT NULL,
  iops             double precision NOT NULL,
  bytes_per_second double precision NOT NULL,
  min_ns           double precision,
  mean_ns          double precision,
  max_ns           double precision,
  p50_ns           double precision,
  p90_ns           double precision,
  p95_ns           double precision,
  p99_ns           double precision,
  p999_ns          double precision,
  p9999_ns         double precision
);
CREATE INDEX phase_figures_by_run ON phase_figures (run_id, phase, worker_index);

CREATE TABLE phase_verdicts (
  run_id              uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase               integer NOT NULL,
  invalid             boolean NOT NULL,
  invalid_reason      text NOT NULL,
  workers             integer NOT NULL,
  workers_lost        integer NOT NULL,
  window_begin        double precision NOT NULL,
  window_end          double precision NOT NULL,
  start_skew_ns       double precision NOT NULL,
  start_skew_bound_ns double precision NOT NULL,
  jain_iops           double precision,
  max_over_min_iops   double precision,
  limited_by          text NOT NULL,
  remarks             text[] NOT NULL,
  PRIMARY KEY (run_id, phase)
);
