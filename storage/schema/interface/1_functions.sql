-- The functions of the interface (docs/reference/sql.md), and those that the controller calls.
-- Their bodies name the schema `lockstep`, because a caller's search_path may lack it. A SET clause
-- would do as well, but PostgreSQL does not inline functions that have one.

CREATE OR REPLACE FUNCTION interface_version()
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT 3
$$;
COMMENT ON FUNCTION interface_version() IS 'Version of the views and functions';

CREATE OR REPLACE FUNCTION kind_name(kind integer)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce((ARRAY['read', 'write', 'trim', 'fsync'])[kind], 'kind ' || kind)
$$;
COMMENT ON FUNCTION kind_name(integer) IS 'read, write, trim or fsync';

CREATE OR REPLACE FUNCTION metric_name(metric integer)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce((ARRAY['service time', 'response time', 'submission latency'])[metric],
                  'metric ' || metric)
$$;
COMMENT ON FUNCTION metric_name(integer) IS 'service time, response time or submission latency';

CREATE OR REPLACE FUNCTION class_name(class integer)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce((ARRAY['ramp', 'measured', 'drain'])[class], 'class ' || class)
$$;
COMMENT ON FUNCTION class_name(integer) IS 'ramp, measured or drain';

-- The same buckets as in common/histogram.h: one for each value below 128, then 64 for each power
-- of two. 2^44 ns (17592186044416, 4.9 hours) and more count in the overflow bucket, 2496.
CREATE OR REPLACE FUNCTION hist_bucket(latency_ns double precision)
RETURNS integer
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
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
COMMENT ON FUNCTION hist_bucket(double precision) IS 'The bucket of a latency in nanoseconds';

CREATE OR REPLACE FUNCTION hist_low(bucket integer)
RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN bucket < 0 THEN NULL WHEN bucket > 2496 THEN NULL WHEN bucket < 128 THEN
      bucket::bigint WHEN bucket >= 2496 THEN 17592186044416 ELSE
      (64 + (bucket & 63))::bigint << ((bucket >> 6) - 1) END
$$;
COMMENT ON FUNCTION hist_low(integer) IS 'The smallest latency of a bucket, nanoseconds';

CREATE OR REPLACE FUNCTION hist_midpoint(bucket integer)
RETURNS double precision
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE
    WHEN bucket < 0 OR bucket > 2496 THEN NULL
    WHEN bucket < 128 THEN bucket::double precision
    WHEN bucket = 2496 THEN 17592186044416.0
    ELSE ((64 + (bucket & 63))::bigint << ((bucket >> 6) - 1)) + ((1::bigint << ((bucket >> 6) -
        1)) - 1) / 2.0
  END
$$;
COMMENT ON FUNCTION hist_midpoint(integer) IS
'A bucket''s latency: its midpoint, nanoseconds; within 0.8 % of every latency in it';

-- The state is the count, the sum and the sum of squares. Such states add up, so the server may
-- compute the index in parallel (jain_combine).
CREATE OR REPLACE FUNCTION jain_step(state double precision[], x double precision)
RETURNS double precision[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN x IS NULL THEN state ELSE ARRAY[state[1] + 1, state[2] + x, state[3] + x * x] END
$$;
COMMENT ON FUNCTION jain_step(double precision[], double precision) IS 'Part of jain()';

-- One value shares nothing with another: its index would always be 1.
CREATE OR REPLACE FUNCTION jain_final(state double precision[])
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT
    CASE WHEN state[1] > 1 AND state[3] > 0 THEN state[2] * state[2] / (state[1] * state[3]) END
$$;
COMMENT ON FUNCTION jain_final(double precision[]) IS 'Part of jain()';

-- A count of 10^16 would run over into the next bucket's digits, and change it silently.
CREATE OR REPLACE FUNCTION hist_from_buckets(buckets integer[], counts bigint[])
RETURNS numeric
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
COMMENT ON FUNCTION hist_from_buckets(integer[], bigint[]) IS
'The histogram of these buckets and their counts';

-- Reads the varints from the last to the first: buckets in descending order, as the digits of the
-- number come. Skips are checked before repeat() uses them: a broken encoding could otherwise ask
-- for a text of any length.
CREATE OR REPLACE FUNCTION hist_decode(encoded bytea)
RETURNS numeric
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
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
COMMENT ON FUNCTION hist_decode(bytea) IS 'The histogram of an interval''s bytes';

-- The sum of two numbers is the histogram of both, as long as no bucket's count reaches 10^16.
-- numeric_add() is C code: adding 1,000 histograms takes 4.4 ms, and grouping arrays of buckets and
-- counts took 75 ms (docs/performance.md).
CREATE OR REPLACE AGGREGATE hist_merge(numeric) (  -- noqa: LT01
  SFUNC = numeric_add, STYPE = numeric, COMBINEFUNC = numeric_add, INITCOND = '0', PARALLEL = SAFE
);
COMMENT ON AGGREGATE hist_merge(numeric) IS -- noqa: LT01
'Adds histograms up, exactly, bucket by bucket';

-- The digit sum in base 10^16: a number is congruent to it modulo 10^16 - 1, and equal to it below
-- that. A histogram of 10^16 values or more is beyond what the store is made for.
CREATE OR REPLACE FUNCTION hist_count(h numeric)
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF h < 0 OR h = 'NaN' OR h = 'Infinity' OR scale(h) > 0 THEN
    RAISE EXCEPTION 'not a histogram: %', left(h::text, 40);
  END IF;
  RETURN mod(h, 9999999999999999)::bigint;
END $$;
COMMENT ON FUNCTION hist_count(numeric) IS 'How many values are in the histogram';

-- Places of bytes are found at once, places of characters are not: the digits are taken apart as
-- bytes. Trailing zeros are cut in whole fields, so an empty start of the histogram costs nothing.
-- ROWS is near what a histogram has; PostgreSQL would assume 1000.
CREATE OR REPLACE FUNCTION hist_fields(h numeric)
RETURNS TABLE (bucket integer, count bigint)
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE ROWS 300 AS $$
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
COMMENT ON FUNCTION hist_fields(numeric) IS 'Occupied buckets and their counts';

CREATE OR REPLACE FUNCTION hist_buckets(h numeric)
RETURNS TABLE (
  bucket integer, low_ns bigint, high_ns bigint, midpoint_ns double precision, count bigint
)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE ROWS 300 AS $$
  SELECT f.bucket, lockstep.hist_low(f.bucket), CASE WHEN f.bucket < 2496 THEN
      lockstep.hist_low(f.bucket + 1) END,
         lockstep.hist_midpoint(f.bucket), f.count
  FROM lockstep.hist_fields(h) f
$$;
COMMENT ON FUNCTION hist_buckets(numeric) IS
'Occupied buckets in order: from low_ns up to, not including, high_ns';

-- 99.9 / 100 * 1000 is a hair above 999. The slack of 1e-9 is the one in common/histogram.cc, so
-- SQL and the reports choose the same rank. MATERIALIZED keeps the planner from summing the counts
-- anew for each percentile.
CREATE OR REPLACE FUNCTION hist_percentiles(h numeric, percents double precision[])
RETURNS double precision[]
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
COMMENT ON FUNCTION hist_percentiles(numeric, double precision[]) IS
'The latencies at these percentiles, nanoseconds, in one pass';

-- The rank as in hist_percentiles(): the least number of values that are at least so many percent.
CREATE OR REPLACE FUNCTION if_above(
  percent double precision, operations bigint, latency double precision
)
RETURNS double precision
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN operations > greatest(1, ceil(percent / 100 * operations
      - 1e-9 * (percent / 100 * operations))) THEN latency END
$$;
COMMENT ON FUNCTION if_above(double precision, bigint, double precision) IS
'The latency at a percentile of so many operations, or NULL where none is above it: then it is the '
'largest one, and no percentile';

CREATE OR REPLACE FUNCTION hist_percentiles_above(h numeric, percents double precision[])
RETURNS double precision[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT array_agg(lockstep.if_above(u.percent, lockstep.hist_count(h), u.latency) ORDER BY u.place)
  FROM unnest(percents, lockstep.hist_percentiles(h, percents))
    WITH ORDINALITY AS u(percent, latency, place)
$$;
COMMENT ON FUNCTION hist_percentiles_above(numeric, double precision[]) IS
'The latencies at these percentiles, nanoseconds; NULL for those above which there is no value';

CREATE OR REPLACE FUNCTION rate_length(length_ns bigint, interval_ns bigint)
RETURNS double precision
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN length_ns >= interval_ns / 10.0 THEN length_ns::double precision END
$$;
COMMENT ON FUNCTION rate_length(bigint, bigint) IS
'The length that a rate is over, nanoseconds; NULL for a rest of less than a tenth of an interval, '
'which has no rate of its own';

CREATE OR REPLACE FUNCTION hist_percentile(h numeric, percent double precision)
RETURNS double precision
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT (lockstep.hist_percentiles(h, ARRAY[percent]))[1]
$$;
COMMENT ON FUNCTION hist_percentile(numeric, double precision) IS
'The latency at a percentile (0 to 100), nanoseconds: midpoint of the bucket with the value of '
'that rank';

CREATE OR REPLACE FUNCTION hist_mean(h numeric)
RETURNS double precision
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT sum(lockstep.hist_midpoint(f.bucket) * f.count) / sum(f.count)
  FROM lockstep.hist_fields(h) f
$$;
COMMENT ON FUNCTION hist_mean(numeric) IS 'Mean latency, nanoseconds, by midpoints';

CREATE OR REPLACE FUNCTION hist_cdf(h numeric)
RETURNS TABLE (latency_ns double precision, share double precision)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE ROWS 300 AS $$
  SELECT lockstep.hist_midpoint(f.bucket), (sum(f.count) OVER (ORDER BY f.bucket))::double
      precision / lockstep.hist_count(h)
  FROM lockstep.hist_fields(h) f
$$;
COMMENT ON FUNCTION hist_cdf(numeric) IS 'Share of the values in each bucket and below it';

CREATE OR REPLACE FUNCTION hist_share_above(h numeric, latency_ns double precision)
RETURNS double precision
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT coalesce(sum(f.count) FILTER (WHERE f.bucket > lockstep.hist_bucket(latency_ns)),
      0)::double precision / sum(f.count) FROM lockstep.hist_fields(h) f
$$;
COMMENT ON FUNCTION hist_share_above(numeric, double precision) IS
'Share of the values in buckets above the one of latency_ns';

CREATE OR REPLACE FUNCTION jain_combine(a double precision[], b double precision[])
RETURNS double precision[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ARRAY[a[1] + b[1], a[2] + b[2], a[3] + b[3]]
$$;
COMMENT ON FUNCTION jain_combine(double precision[], double precision[]) IS 'Part of jain()';

CREATE OR REPLACE AGGREGATE jain(double precision) (  -- noqa: PRS
  SFUNC = jain_step, STYPE = float8[], INITCOND = '{0,0,0}', FINALFUNC = jain_final,
  COMBINEFUNC = jain_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE jain(double precision) IS
'Jain''s index, (sum x)^2 / (n * sum x^2): 1 when all are equal, 1/n when one takes all; '
'NULL of fewer than two values, and if all are 0';

-- The run that was submitted last.
CREATE OR REPLACE FUNCTION last_run()
RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT run_id FROM lockstep.runs ORDER BY submitted_at DESC, run_id DESC LIMIT 1
$$;
COMMENT ON FUNCTION last_run() IS 'The run that was submitted last';

-- CREATE TABLE ... PARTITION OF would lock the parent in ACCESS EXCLUSIVE mode and wait for every
-- reader and writer. ATTACH PARTITION takes SHARE UPDATE EXCLUSIVE, which lets both go on
-- (PostgreSQL, ALTER TABLE). Under this lock the check is repeated, because another session may
-- have made the partition during the wait.
CREATE OR REPLACE FUNCTION ensure_partitions(first timestamptz, last timestamptz)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  parent text;
  part text;
  month timestamp;
BEGIN
  IF last > first + interval '20 years' THEN
    RAISE EXCEPTION 'partitions from % to % are more than samples can need', first, last;
  END IF;
  FOREACH parent IN ARRAY ARRAY[
    'device_samples', 'host_samples', 'interface_samples', 'interval_operations', 'nfs_samples',
    'quota_samples'
  ] LOOP
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
COMMENT ON FUNCTION ensure_partitions(timestamp with time zone, timestamp with time zone) IS
'Makes the partitions of the months between two instants';

REVOKE EXECUTE ON FUNCTION ensure_partitions(timestamptz, timestamptz) FROM PUBLIC;

-- How long a processor quota was used up in an interval of so many seconds: the length of the
-- throttled periods, as ThrottledSeconds() in measure/sample_sums.cc.
CREATE OR REPLACE FUNCTION throttled_seconds(
  periods bigint, throttled_periods bigint, period_ns bigint, seconds double precision
)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(throttled_periods::double precision * period_ns / 1e9,
                  throttled_periods::double precision / nullif(periods, 0) * seconds, 0)
$$;
COMMENT ON FUNCTION throttled_seconds(bigint, bigint, bigint, double precision) IS
'How long a processor quota was used up in an interval';

-- The rows that prune() leaves of the samples of devices, hosts, interfaces, NFS mounts and quotas.
-- A row covers ten seconds, or more if a phase would have more than 128 of a device. The phase
-- makes up to 126. Two of them are divided: at the end of its ramp and at the begin of its drain.
-- The controller calls this in the transaction that removes the samples; a second call finds none.
CREATE OR REPLACE FUNCTION roll_up_samples(pruned uuid[])
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  part record;
BEGIN
  FOR part IN
    SELECT p.run_id, p.phase, p.attempt, greatest(
      ceil(1e10 / greatest(p.interval_ns, 1)),
      ceil((1 + greatest(
        (SELECT max(h.interval) FROM lockstep.host_samples h
         WHERE h.run_id = p.run_id AND h.phase = p.phase AND h.attempt = p.attempt),
        (SELECT max(d.interval) FROM lockstep.device_samples d
         WHERE d.run_id = p.run_id AND d.phase = p.phase AND d.attempt = p.attempt)
      )::bigint) / 126.0))::bigint AS step
    FROM lockstep.phases p WHERE p.run_id = ANY (pruned)
  LOOP
    INSERT INTO lockstep.device_rollups (
      run_id, phase, attempt, worker_index, device, interval, intervals, interval_class, started_at,
      begin_ns, end_ns, seconds,
      reads, read_merges, read_bytes, read_time_ms, writes, write_merges, write_bytes,
      write_time_ms, discards, discard_merges, discard_bytes, discard_time_ms, flushes,
      flush_time_ms, busy_time_ms, queue_time_ms, nested)
    SELECT d.run_id, d.phase, d.attempt, d.worker_index, d.device,
      min(d.interval), count(*), d.interval_class, min(d.started_at), min(d.begin_ns),
      max(d.end_ns), sum(d.seconds),
      sum(d.reads::double precision), sum(d.read_merges::double precision),
      sum(d.read_bytes::double precision), sum(d.read_time_ms::double precision),
      sum(d.writes::double precision), sum(d.write_merges::double precision),
      sum(d.write_bytes::double precision), sum(d.write_time_ms::double precision),
      sum(d.discards::double precision), sum(d.discard_merges::double precision),
      sum(d.discard_bytes::double precision), sum(d.discard_time_ms::double precision),
      sum(d.flushes::double precision), sum(d.flush_time_ms::double precision),
      sum(d.busy_time_ms::double precision), sum(d.queue_time_ms::double precision),
      bool_or(d.nested)
    FROM (SELECT *, (end_ns::double precision - begin_ns) / 1e9 AS seconds
          FROM lockstep.device_samples) d
    WHERE d.run_id = part.run_id AND d.phase = part.phase AND d.attempt = part.attempt
    GROUP BY d.run_id, d.phase, d.attempt, d.worker_index, d.device, d.interval_class,
      d.interval / part.step
    ON CONFLICT DO NOTHING;
    INSERT INTO lockstep.host_rollups (
      run_id, phase, attempt, worker_index, interval, intervals, interval_class, started_at,
      begin_ns, end_ns, seconds,
      context_switches, interrupts, run_queue, blocked, user_ratio, system_ratio, idle_ratio,
      iowait_ratio, steal_ratio, swap_in_bytes, swap_out_bytes, block_in_bytes, block_out_bytes,
      swap_used_bytes, free_bytes, buffers_bytes, cache_bytes, dirty_bytes, dirty_bytes_max,
      writeback_bytes)
    SELECT h.run_id, h.phase, h.attempt, h.worker_index,
      min(h.interval), count(*), h.interval_class, min(h.started_at), min(h.begin_ns),
      max(h.end_ns), sum(h.seconds),
      sum(h.context_switches::double precision), sum(h.interrupts::double precision),
      avg(h.run_queue), avg(h.blocked),
      sum(h.user_ratio * h.seconds) FILTER (WHERE h.is_known)
        / nullif(sum(h.seconds) FILTER (WHERE h.is_known), 0),
      sum(h.system_ratio * h.seconds) FILTER (WHERE h.is_known)
        / nullif(sum(h.seconds) FILTER (WHERE h.is_known), 0),
      sum(h.idle_ratio * h.seconds) FILTER (WHERE h.is_known)
        / nullif(sum(h.seconds) FILTER (WHERE h.is_known), 0),
      sum(h.iowait_ratio * h.seconds) FILTER (WHERE h.is_known)
        / nullif(sum(h.seconds) FILTER (WHERE h.is_known), 0),
      sum(h.steal_ratio * h.seconds) FILTER (WHERE h.is_known)
        / nullif(sum(h.seconds) FILTER (WHERE h.is_known), 0),
      sum(h.swap_in_pages::double precision * h.page_bytes),
      sum(h.swap_out_pages::double precision * h.page_bytes),
      sum(h.block_in_bytes::double precision), sum(h.block_out_bytes::double precision),
      avg(h.swap_used_bytes), avg(h.free_bytes), avg(h.buffers_bytes),
      avg(h.cached_bytes::double precision + h.slab_reclaimable_bytes), avg(h.dirty_bytes),
      max(h.dirty_bytes), avg(h.writeback_bytes)
    FROM (
      SELECT *, (end_ns::double precision - begin_ns) / 1e9 AS seconds,
        user_ratio + system_ratio + idle_ratio + iowait_ratio + steal_ratio > 0 AS is_known
      FROM lockstep.host_samples
    ) h
    WHERE h.run_id = part.run_id AND h.phase = part.phase AND h.attempt = part.attempt
    GROUP BY 1, 2, 3, 4, h.interval_class, h.interval / part.step
    ON CONFLICT DO NOTHING;
    INSERT INTO lockstep.interface_rollups (
      run_id, phase, attempt, worker_index, interface, interval, intervals, interval_class,
      started_at, begin_ns, end_ns, seconds, received_bytes, received_packets,
      received_drops, received_errors, sent_bytes, sent_packets, sent_drops, sent_errors,
      receive_speed_bits_per_second, send_speed_bits_per_second)
    SELECT
      s.run_id, s.phase, s.attempt, s.worker_index, s.interface, min(s.interval), count(*),
      s.interval_class, min(s.started_at), min(s.begin_ns), max(s.end_ns), sum(s.seconds),
      sum(s.received_bytes::double precision), sum(s.received_packets::double precision),
      sum(s.received_drops::double precision), sum(s.received_errors::double precision),
      sum(s.sent_bytes::double precision), sum(s.sent_packets::double precision),
      sum(s.sent_drops::double precision), sum(s.sent_errors::double precision),
      CASE WHEN count(s.receive_speed_bits_per_second) = count(*) THEN
        sum(s.receive_speed_bits_per_second::double precision * s.seconds)
        / nullif(sum(s.seconds), 0) END,
      CASE WHEN count(s.send_speed_bits_per_second) = count(*) THEN
        sum(s.send_speed_bits_per_second::double precision * s.seconds)
        / nullif(sum(s.seconds), 0) END
    FROM (SELECT *, (end_ns::double precision - begin_ns) / 1e9 AS seconds
          FROM lockstep.interface_samples) s
    WHERE s.run_id = part.run_id AND s.phase = part.phase AND s.attempt = part.attempt
    GROUP BY s.run_id, s.phase, s.attempt, s.worker_index, s.interface, s.interval_class,
      s.interval / part.step
    ON CONFLICT DO NOTHING;
    INSERT INTO lockstep.nfs_rollups (
      run_id, phase, attempt, worker_index, mount, operation, interval, intervals,
      interval_class, started_at, begin_ns, end_ns, seconds, operations, transmissions,
      timeouts, sent_bytes, received_bytes, queue_time_ms, round_trip_ms, execution_ms)
    SELECT
      s.run_id, s.phase, s.attempt, s.worker_index, s.mount, s.operation, min(s.interval),
      count(*), s.interval_class, min(s.started_at), min(s.begin_ns), max(s.end_ns),
      sum(s.seconds), sum(s.operations::double precision),
      sum(s.transmissions::double precision), sum(s.timeouts::double precision),
      sum(s.sent_bytes::double precision), sum(s.received_bytes::double precision),
      sum(s.queue_time_ms::double precision), sum(s.round_trip_ms::double precision),
      sum(s.execution_ms::double precision)
    FROM (SELECT *, (end_ns::double precision - begin_ns) / 1e9 AS seconds
          FROM lockstep.nfs_samples) s
    WHERE s.run_id = part.run_id AND s.phase = part.phase AND s.attempt = part.attempt
    GROUP BY s.run_id, s.phase, s.attempt, s.worker_index, s.mount, s.operation, s.interval_class,
      s.interval / part.step
    ON CONFLICT DO NOTHING;
    INSERT INTO lockstep.quota_rollups (
      run_id, phase, attempt, worker_index, interval, intervals, interval_class, started_at,
      begin_ns, end_ns, seconds, periods, throttled_periods, throttled_seconds, throttled_time_ns)
    SELECT
      s.run_id, s.phase, s.attempt, s.worker_index, min(s.interval), count(*), s.interval_class,
      min(s.started_at), min(s.begin_ns), max(s.end_ns), sum(s.seconds),
      sum(s.periods::double precision), sum(s.throttled_periods::double precision),
      sum(lockstep.throttled_seconds(s.periods, s.throttled_periods, s.period_ns, s.seconds)),
      sum(s.throttled_time_ns::double precision)
    FROM (SELECT *, (end_ns::double precision - begin_ns) / 1e9 AS seconds
          FROM lockstep.quota_samples) s
    WHERE s.run_id = part.run_id AND s.phase = part.phase AND s.attempt = part.attempt
    GROUP BY s.run_id, s.phase, s.attempt, s.worker_index, s.interval_class, s.interval / part.step
    ON CONFLICT DO NOTHING;
  END LOOP;
END $$;
COMMENT ON FUNCTION roll_up_samples(uuid[]) IS
'Keeps samples of devices, hosts, networks and quotas in rows of ten seconds or more';

REVOKE EXECUTE ON FUNCTION roll_up_samples(uuid[]) FROM PUBLIC;

-- A trigger, because a table's owner has all rights on it: the controller itself only appends. 400
-- days are limits::kAuditDays, after which AddAudit() removes entries.
CREATE OR REPLACE FUNCTION keep_audit_log()
RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND OLD.at < now() - interval '400 days' THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'the audit log is appended to, and nothing else';
END
$$;
COMMENT ON FUNCTION keep_audit_log() IS
'Refuses every change of the log but new entries and the removal of expired ones';

REVOKE EXECUTE ON FUNCTION keep_audit_log() FROM PUBLIC;

CREATE OR REPLACE TRIGGER keep_audit_log BEFORE UPDATE OR DELETE ON audit_log
  FOR EACH ROW EXECUTE FUNCTION keep_audit_log();

-- Triggers for rows do not fire for TRUNCATE (PostgreSQL, CREATE TRIGGER).
CREATE OR REPLACE TRIGGER keep_audit_log_whole BEFORE TRUNCATE ON audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION keep_audit_log();
