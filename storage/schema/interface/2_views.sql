-- The views of the interface: docs/reference/sql.md. Numbers are those of proto/result.proto: kind
-- 4 is fsync, class 2 measured, metric 1 service time and metric 2 response time.

-- phases has a row for each attempt, and phase_verdicts one for each phase. Without NOT EXISTS the
-- reason of a phase that was attempted twice would be listed twice.
CREATE OR REPLACE VIEW run_overview AS
SELECT
  r.run_id,
  r.job,
  r.owner,
  r.labels,
  r.state,
  r.outcome,
  r.degraded,
  EXISTS(
    SELECT FROM phase_verdicts v
    WHERE v.run_id = r.run_id AND v.invalid
  ) AS invalid,
  coalesce((
    SELECT string_agg(p.name || ': ' || v.invalid_reason, '; ' ORDER BY v.phase)
    FROM phase_verdicts v JOIN phases p USING (run_id, phase)
    WHERE
      v.run_id = r.run_id AND v.invalid
      AND NOT EXISTS (
        SELECT FROM
          phases n
        WHERE
          n.run_id = p.run_id AND n.phase
          = p.phase AND n.attempt > p.attempt
      )
  ), '') AS invalid_reason,
  r.submitted_at,
  r.started_at,
  r.ended_at,
  (
    SELECT count(*) FROM run_workers w
    WHERE w.run_id = r.run_id
  ) AS hosts
FROM runs r;
COMMENT ON VIEW run_overview IS 'Runs';

-- The last attempt of each phase.
CREATE OR REPLACE VIEW phase_overview AS
SELECT
  p.run_id,
  p.phase,
  p.attempt,
  p.name,
  p.kind,
  p.state,
  p.reason,
  coalesce(
    v.invalid,
    false
  ) AS invalid,
  coalesce(v.invalid_reason, '') AS invalid_reason,
  p.go_at,
  p.ended_at,
  v.window_begin,
  v.window_end,
  v.workers,
  v.workers_lost,
  v.start_skew_ns,
  v.start_skew_bound_ns,
  v.limited_by,
  v.remarks,
  p.point
FROM phases p LEFT JOIN phase_verdicts v USING (run_id, phase)
WHERE NOT EXISTS (
  SELECT FROM
    phases n
  WHERE
    n.run_id = p.run_id AND n.phase = p.phase
    AND n.attempt > p.attempt
);
COMMENT ON VIEW phase_overview IS 'Phases (the last attempt of each), and the verdicts on them';

-- What a phase came to over the whole fleet, one row for each run and phase with load.
CREATE OR REPLACE VIEW phase_summary AS
SELECT
  r.run_id,
  r.job,
  r.labels,
  r.owner,
  r.submitted_at,
  f.phase,
  p.name AS phase_name,
  r.state,
  r.degraded,
  v.invalid,
  f.operations,
  f.errors,
  f.iops,
  f.bytes_per_second / 1048576 AS mib_per_second,
  f.metric,
  f.mean_ns / 1e6 AS mean_ms,
  f.p50_ns / 1e6 AS p50_ms,
  f.p95_ns / 1e6 AS p95_ms,
  f.p99_ns / 1e6 AS p99_ms,
  f.p999_ns / 1e6 AS p999_ms,
  f.max_ns / 1e6 AS max_ms,
  v.jain_iops,
  v.max_over_min_iops,
  v.limited_by,
  p.point,
  t.context_switches_per_second,
  t.context_switches_per_io,
  t.interrupts_per_second,
  t.interrupts_per_io,
  t.cpu_ns_per_io / 1e3 AS cpu_us_per_io,
  t.wait_ratio,
  t.fsync_ratio,
  t.rate_ratio,
  t.think_ratio,
  t.amplification
FROM runs r
JOIN phase_figures f
  ON
    f.run_id = r.run_id AND f.worker_index IS null AND f.workload = ''
    AND f.kind = 'total' AND f.is_reported
JOIN phase_verdicts v ON v.run_id = r.run_id AND v.phase = f.phase
JOIN phases p ON p.run_id = r.run_id AND p.phase = f.phase
LEFT JOIN time_figures t ON t.run_id = r.run_id AND t.phase = f.phase
WHERE NOT EXISTS (
  SELECT FROM
    phases n
  WHERE
    n.run_id = p.run_id AND n.phase = p.phase
    AND n.attempt > p.attempt
);
COMMENT ON VIEW phase_summary IS
'What each phase with load came to over the whole fleet: for trends';

-- How long each worker's measured intervals lasted, seconds. An interval has a row for every
-- workload and kind, so the sum of the lengths would count it several times.
CREATE OR REPLACE VIEW measured_seconds AS
SELECT
  c.run_id,
  c.phase::integer AS phase,
  c.attempt::integer AS attempt,
  c.worker_index,
  (
    max(coalesce(c.end_ns, p.interval_ns * (c.interval + 1)))
    - min(coalesce(c.begin_ns, p.interval_ns * c.interval))
  ) / 1e9 AS seconds
FROM interval_operations c
JOIN phases p USING (run_id, phase, attempt)
JOIN (SELECT
  run_id,
  phase,
  attempt
FROM phase_overview) last USING (run_id, phase, attempt)
WHERE c.interval_class = 2
GROUP BY c.run_id, c.phase, c.attempt, c.worker_index;
COMMENT ON VIEW measured_seconds IS 'How long each worker measured';

-- What every host did, by workload and kind of operation; syncs too (is_io is false: they are no
-- I/Os).
CREATE OR REPLACE VIEW host_operations AS
SELECT
  f.run_id,
  f.phase,
  p.name AS phase_name,
  f.host,
  f.worker_index,
  f.workload,
  f.kind,
  f.kind <> 'fsync' AS is_io,
  f.operations,
  f.bytes,
  f.errors,
  f.iops AS per_second,
  f.bytes_per_second / 1048576 AS mib_per_second,
  f.metric,
  f.mean_ns
  / 1e6 AS mean_ms,
  f.p50_ns / 1e6 AS p50_ms,
  f.p95_ns / 1e6 AS p95_ms,
  f.p99_ns / 1e6 AS p99_ms,
  f.p999_ns / 1e6 AS p999_ms,
  f.max_ns
  / 1e6 AS max_ms
FROM phase_figures f JOIN phase_overview p USING (run_id, phase)
WHERE f.worker_index IS NOT null AND f.workload <> '' AND f.kind <> 'total' AND f.is_reported;
COMMENT ON VIEW host_operations IS
'What every host did, by workload and kind of operation, syncs too';

-- Where the time of each phase with load went, over all hosts.
CREATE OR REPLACE VIEW phase_time AS
SELECT
  t.run_id,
  t.phase,
  p.name AS phase_name,
  t.context_switches_per_second,
  t.interrupts_per_second,
  t.context_switches_per_io,
  t.cpu_ns_per_io / 1e3 AS cpu_us_per_io,
  t.thread_switches_per_io,
  t.wait_ratio,
  t.fsync_ratio,
  t.rate_ratio,
  t.think_ratio,
  t.amplification,
  p.point,
  t.interrupts_per_io
FROM time_figures t JOIN phase_overview p USING (run_id, phase);
COMMENT ON VIEW phase_time IS
'Where the time of each phase with load went, over all hosts';

-- What the report concludes of each sweep.
CREATE OR REPLACE VIEW sweep_conclusions AS
SELECT
  run_id,
  sweep,
  phase_name,
  axes,
  sentence,
  figure,
  higher_is_better,
  rounds,
  more_rounds
FROM sweep_figures;
COMMENT ON VIEW sweep_conclusions IS 'What the report concludes of each sweep';

-- The points of each sweep, for drawing and for filters by their values.
CREATE OR REPLACE VIEW sweep_points AS
SELECT
  p.run_id,
  p.sweep,
  s.phase_name,
  p.number,
  p.point,
  p.phases,
  s.figure,
  p.standing,
  p.reason,
  p.rounds,
  p.mean,
  p.low,
  p.high,
  p.ratio,
  p.ratio_low,
  p.ratio_high,
  p.p_value,
  p.more_rounds,
  p.iops,
  p.bytes_per_second / 1048576 AS mib_per_second,
  p.p50_ns / 1e6 AS p50_ms,
  p.p99_ns / 1e6 AS p99_ms,
  p.thread_jain
FROM sweep_point_figures p JOIN sweep_figures s USING (run_id, sweep);
COMMENT ON VIEW sweep_points IS
'The points of each sweep, and how they compare with the best one';

-- The report's percentiles of the fleet, one row each, with their 95 % confidence intervals.
-- is_reported is NULL in rows of older schemas, which have reported metrics alone.
CREATE OR REPLACE VIEW phase_percentiles AS
SELECT
  f.run_id,
  f.phase,
  p.name AS phase_name,
  f.workload,
  f.kind,
  f.percent,
  f.above,
  f.latency_ns / 1e6 AS latency_ms,
  f.low_ns / 1e6 AS low_ms,
  f.high_ns / 1e6 AS high_ms
FROM percentile_figures f JOIN phase_overview p USING (run_id, phase)
WHERE f.worker_index IS null AND coalesce(f.is_reported, true);
COMMENT ON VIEW phase_percentiles IS
'The report''s percentiles of the fleet, with their confidence intervals';

-- The same with those of service times and submission latencies beside the reported metric.
CREATE OR REPLACE VIEW phase_percentiles_all AS
SELECT
  f.run_id,
  f.phase,
  p.name AS phase_name,
  f.workload,
  f.kind,
  f.metric,
  coalesce(f.is_reported, true) AS is_reported,
  f.percent,
  f.above,
  f.latency_ns / 1e6 AS latency_ms,
  f.low_ns / 1e6 AS low_ms,
  f.high_ns / 1e6 AS high_ms
FROM percentile_figures f JOIN phase_overview p USING (run_id, phase)
WHERE f.worker_index IS null;
COMMENT ON VIEW phase_percentiles_all IS
'Percentiles of the fleet in every metric, with their confidence intervals';

-- The report's percentiles of every host.
CREATE OR REPLACE VIEW host_percentiles AS
SELECT
  f.run_id,
  f.phase,
  p.name AS phase_name,
  w.host,
  f.worker_index,
  f.workload,
  f.kind,
  f.metric,
  f.percent,
  f.above,
  f.latency_ns / 1e6 AS latency_ms,
  f.low_ns / 1e6 AS low_ms,
  f.high_ns / 1e6 AS high_ms
FROM percentile_figures f
JOIN phase_overview p USING (run_id, phase)
JOIN run_workers w USING (run_id, worker_index);
COMMENT ON VIEW host_percentiles IS
'The report''s percentiles of every host, with their confidence intervals';

-- Throughput per run, phase, host, workload and kind of I/O.
CREATE OR REPLACE VIEW host_throughput AS
SELECT
  run_id,
  phase,
  phase_name,
  host,
  worker_index,
  workload,
  kind,
  operations,
  bytes,
  errors,
  per_second AS iops,
  mib_per_second
FROM host_operations
WHERE is_io;
COMMENT ON VIEW host_throughput IS 'Throughput of every host, by workload and kind of I/O';

-- Every latency of the measured time, merged over all hosts. is_io is false for syncs. is_reported
-- is true for the metric that the report gives: response time where the workload is an open loop,
-- else service time. A percentile is the midpoint of a bucket and can lie outside of what was
-- measured: it is limited to the smallest and the largest latency, as in the report.
CREATE OR REPLACE VIEW phase_latency_all AS
SELECT
  s.run_id,
  s.phase,
  s.phase_name,
  s.workload,
  kind_name(s.kind) AS kind,
  s.kind <> 4
    AS
    is_io,
  m.metric,
  m.is_reported,
  s.operations,
  q.p[
    1
  ] / 1e6 AS p50_ms,
  q.p[2] / 1e6 AS p95_ms,
  q.p[3] / 1e6 AS p99_ms,
  q.p[
    4] / 1e6 AS
  p999_ms,
  s.max_ns / 1e6 AS max_ms,
  m.h::histogram AS latencies
FROM (
  SELECT
    r.run_id,
    r.phase,
    p.name AS phase_name,
    l.name AS workload,
    r.kind::integer
      AS
      kind,
    sum(r.operations)::bigint AS operations,
    min(r.latency_min_ns) FILTER (WHERE r.operations > 0) AS min_ns,
    max(r.latency_max_ns) AS max_ns,
    hist_merge(r.service_time) AS service,
    hist_merge(r.response_time) AS response,
    hist_merge(r.submission_latency) AS submission
  FROM phase_operations r
  JOIN phase_overview p USING (run_id, phase, attempt)
  JOIN workloads l USING (run_id, phase, workload)
  WHERE r.interval_class = 2
  GROUP BY r.run_id, r.phase, p.name, l.name, r.kind
) s
CROSS JOIN
  LATERAL (VALUES (
    'service time', s.service, s.response = 0), (
    'response time',
    s.response, true
  ), ('submission latency', s.submission, false
  ))
    AS m (metric, h, is_reported)
CROSS JOIN
  LATERAL (SELECT
    CASE
      WHEN m.is_reported
        THEN
          ARRAY(SELECT least(
            CASE WHEN x IS NOT null THEN greatest(x, s.min_ns) END,
            CASE WHEN x IS NOT null THEN s.max_ns END
          ) FROM
            unnest(c.p
            ) WITH ORDINALITY AS u (x, n)
          ORDER BY n)
      ELSE c.p
    END AS p
  FROM (SELECT hist_percentiles_above(m.h, '{50,95,99,99.9}') AS p) c) q
WHERE m.h > 0;
COMMENT ON VIEW phase_latency_all IS 'Latency of every kind and metric, merged over hosts';

-- Latency per run, phase, workload and kind of I/O, as the report gives it.
CREATE OR REPLACE VIEW phase_latency AS
SELECT
  run_id,
  phase,
  phase_name,
  workload,
  kind,
  metric,
  operations,
  p50_ms,
  p95_ms,
  p99_ms,
  p999_ms,
  max_ms,
  latencies
FROM phase_latency_all
WHERE is_io AND is_reported;
COMMENT ON VIEW phase_latency IS 'Latency of I/Os, merged over hosts, as the report gives it';

-- Throughput of every interval and host, ramp and drain included; `class` says which it is. A drain
-- interval is as long as the last I/O took, so its rate means little. All rows of an interval have
-- the same length: max() gives it once.
CREATE OR REPLACE VIEW host_timeline_all AS
SELECT
  c.run_id,
  c.phase::integer AS phase,
  p.name AS phase_name,
  c.interval,
  class_name(
    c.interval_class
  ) AS class,
  w.host,
  c.worker_index,
  min(
    c.started_at) AS
  started_at,
  max(c.length_ns) / 1e9 AS seconds,
  coalesce(sum(c.operations) FILTER (WHERE c.kind <> 4), 0)::double precision * 1e9
  / rate_length(max(c.length_ns), max(c.interval_ns)) AS iops,
  sum(c.bytes)::double precision * 1e9
  / rate_length(max(c.length_ns), max(c.interval_ns)) / 1048576 AS mib_per_second,
  coalesce(sum(c.errors), 0)::bigint AS errors,
  coalesce(
    bool_or(x.worker_index IS null AND p.ended_at IS NOT null), false
  ) AS lost
FROM (
  SELECT
    o.*,
    i.interval_ns,
    o.phase::integer AS phase_number,
    coalesce(
      o.end_ns - o.begin_ns,
      i.interval_ns
    ) AS length_ns
  FROM interval_operations o JOIN phases i USING (run_id, phase, attempt)
) c
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN run_workers w USING (run_id, worker_index)
LEFT JOIN worker_results x USING (run_id, phase, attempt, worker_index)
GROUP BY c.run_id, c.phase, p.name, c.interval, c.interval_class, w.host, c.worker_index;
COMMENT ON VIEW host_timeline_all IS
'Throughput of every interval and host, ramp and drain included';

-- Throughput of every measured interval and host.
CREATE OR REPLACE VIEW host_timeline AS
SELECT
  run_id,
  phase,
  phase_name,
  interval,
  host,
  worker_index,
  started_at,
  iops,
  mib_per_second,
  errors,
  lost
FROM host_timeline_all
WHERE class = 'measured';
COMMENT ON VIEW host_timeline IS 'Throughput of every measured interval and host';

-- Latencies of every measured interval, of I/Os, in the report's metric.
CREATE OR REPLACE VIEW interval_latency AS
SELECT
  h.run_id,
  h.phase::integer AS phase,
  p.name AS phase_name,
  h.interval,
  w.host,
  h.worker_index,
  l.name AS workload,
  kind_name(h.kind) AS kind,
  h.operations,
  hist_decode(CASE
    WHEN l.spec ? 'openLoop' THEN h.response_time ELSE
      h.service_time
  END)::histogram AS latencies,
  x.worker_index IS null AND p.ended_at IS NOT null AS lost
FROM interval_operations h
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN run_workers w USING (run_id, worker_index)
JOIN workloads l USING (run_id, phase, workload)
LEFT JOIN worker_results x USING (run_id, phase, attempt, worker_index)
WHERE h.interval_class = 2 AND h.kind <> 4 AND h.service_time IS NOT null;
COMMENT ON VIEW interval_latency IS 'Latencies of every measured interval and host';

-- Latencies of ten measured seconds of the whole fleet, of I/Os, in the report's metric.
CREATE OR REPLACE VIEW rollup_latency AS
SELECT
  u.run_id,
  u.phase,
  p.name AS phase_name,
  u.begin_ns / 1e9 AS begin_seconds,
  l.name
    AS
    workload,
  kind_name(u.kind) AS kind,
  u.operations,
  u.bytes,
  u.latencies
FROM latency_rollups u
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN workloads l USING (run_id, phase, workload)
WHERE u.kind <> 4 AND u.metric = CASE WHEN l.spec ? 'openLoop' THEN 2 ELSE 1 END;
COMMENT ON VIEW rollup_latency IS 'Latencies of ten seconds of the whole fleet';

-- The fleet over time, in steps of so many seconds. An interval is in the step in which it begins:
-- it cannot be split, because its histogram cannot.
CREATE OR REPLACE FUNCTION phase_series(
  run uuid, number integer, step_seconds double precision DEFAULT 1
)
RETURNS TABLE (
  begin_seconds double precision,
  operations bigint,
  bytes bigint,
  errors bigint,
  iops double precision,
  mib_per_second double precision,
  p50_ms double precision,
  p99_ms double precision
)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE AS $$
DECLARE
  step_ns bigint;
BEGIN
  IF NOT (step_seconds >= 0.001 AND step_seconds <= 1e9) THEN
    RAISE EXCEPTION 'steps of % s; write 0.001 or more', step_seconds;
  END IF;
  step_ns := (step_seconds * 1e9)::bigint;
  RETURN QUERY
    WITH sampled AS MATERIALIZED (
      SELECT coalesce(o.begin_ns, i.interval_ns * o.interval) / step_ns AS step, o.interval,
             coalesce(o.end_ns - o.begin_ns, i.interval_ns) AS length_ns,
             i.interval_ns AS whole_ns, o.kind, o.operations,
             o.bytes, o.errors,
             CASE WHEN l.spec ? 'openLoop' THEN o.response_time ELSE o.service_time END AS encoded
      FROM interval_operations o
      JOIN (SELECT p.run_id, p.phase, p.attempt, p.interval_ns FROM phases p) i
        USING (run_id, phase, attempt)
      JOIN workloads l USING (run_id, phase, workload)
      WHERE o.run_id = run AND o.phase = number AND o.interval_class = 2
        AND o.attempt = (SELECT max(n.attempt) FROM phases n
                         WHERE n.run_id = run AND n.phase = number)),
    timed AS (SELECT step,
                     lockstep.rate_length(sum(length_ns)::bigint, max(interval_ns)) / 1e9 AS
                         seconds
              FROM (SELECT step, interval, max(length_ns) AS length_ns,
                           max(whole_ns) AS interval_ns FROM sampled
                    GROUP BY step, interval) lengths GROUP BY step),
    added AS (SELECT s.step, coalesce(sum(s.operations) FILTER (WHERE s.kind <> 4), 0)::bigint AS
        ops,
                     sum(s.bytes)::bigint AS moved, coalesce(sum(s.errors), 0)::bigint AS failed,
                     hist_percentiles_above(hist_merge(hist_decode(s.encoded))
                                            FILTER (WHERE s.kind <> 4), '{50,99}') AS p
              FROM sampled s GROUP BY s.step)
    SELECT a.step * step_ns / 1e9::double precision, a.ops, a.moved, a.failed,
           a.ops / nullif(t.seconds, 0), a.moved / nullif(t.seconds, 0) / 1048576,
           a.p[1] / 1e6, a.p[2] / 1e6
    FROM added a JOIN timed t USING (step) ORDER BY a.step;
END $$;
COMMENT ON FUNCTION phase_series(uuid, integer, double precision) IS
'The fleet over time: the measured intervals of a phase in steps of step_seconds';

ALTER FUNCTION phase_series(uuid, integer, double precision) SET search_path = lockstep;

-- With the spread of p99 over the hosts in time.
CREATE OR REPLACE VIEW phase_fairness AS
SELECT
  f.run_id,
  f.phase,
  p.name AS phase_name,
  count(*) AS hosts,
  v.jain_iops,
  v.max_over_min_iops AS max_over_min,
  stddev_pop(f.iops) / nullif(avg(f.iops), 0) AS variation,
  max(f.p99_ns) / nullif(min(f.p99_ns), 0) AS p99_max_over_min,
  v.p99_spread_median,
  v.p99_spread_worst
FROM phase_figures f
JOIN phase_overview p USING (run_id, phase)
JOIN phase_verdicts v USING (run_id, phase)
WHERE
  f.worker_index IS NOT null AND f.workload = '' AND f.kind = 'total' AND f.is_reported
  AND f.operations > 0
GROUP BY
  f.run_id, f.phase, p.name, v.jain_iops, v.max_over_min_iops, v.p99_spread_median,
  v.p99_spread_worst;
COMMENT ON VIEW phase_fairness IS 'Fairness over the hosts of each phase';

-- iostat -x, interval by interval, ramp and drain included. Where the samples of a run were pruned,
-- its roll-ups of some intervals stand for them. Names are iostat's in lower case, with _ for / and
-- -, and without %. A rest of less than a tenth of an interval has no rate (rate_length()).
CREATE OR REPLACE VIEW device_timeline AS
SELECT
  c.run_id,
  c.phase,
  p.name AS phase_name,
  c.interval,
  c.intervals,
  class_name(c.interval_class) AS class,
  c.started_at,
  c.begin_ns / 1e9::double precision AS begin_seconds,
  c.end_ns / 1e9::double precision AS end_seconds,
  c.seconds,
  w.host,
  c.worker_index,
  w.boot_id,
  c.device,
  coalesce(i.identity, e.value) AS identity,
  c.reads / c.rated_seconds AS r_s,
  c.read_bytes / c.rated_seconds / 1048576 AS rmib_s,
  c.read_merges / c.rated_seconds AS rrqm_s,
  100 * c.read_merges / nullif(c.reads + c.read_merges, 0) AS rrqm,
  c.read_time_ms / nullif(c.reads, 0) AS r_await,
  c.read_bytes / nullif(c.reads, 0) / 1024 AS rareq_sz,
  c.writes / c.rated_seconds AS w_s,
  c.write_bytes / c.rated_seconds / 1048576 AS wmib_s,
  c.write_merges / c.rated_seconds AS wrqm_s,
  100 * c.write_merges / nullif(c.writes + c.write_merges, 0) AS wrqm,
  c.write_time_ms / nullif(c.writes, 0) AS w_await,
  c.write_bytes / nullif(c.writes, 0) / 1024 AS wareq_sz,
  c.discards / c.rated_seconds AS d_s,
  c.discard_bytes / c.rated_seconds / 1048576 AS dmib_s,
  c.discard_merges / c.rated_seconds AS drqm_s,
  100 * c.discard_merges / nullif(c.discards + c.discard_merges, 0) AS drqm,
  c.discard_time_ms / nullif(c.discards, 0) AS d_await,
  c.discard_bytes / nullif(c.discards, 0) / 1024 AS dareq_sz,
  c.flushes / c.rated_seconds AS f_s,
  c.flush_time_ms / nullif(c.flushes, 0) AS f_await,
  c.queue_time_ms / 1000 / c.rated_seconds AS aqu_sz,
  -- least() leaves NULL out, a quotient does not.
  least(c.busy_time_ms / 10, 100 * c.rated_seconds) / c.rated_seconds AS util,
  c.reads,
  c.read_merges,
  c.read_bytes,
  c.read_time_ms,
  c.writes,
  c.write_merges,
  c.write_bytes,
  c.write_time_ms,
  c.discards,
  c.discard_merges,
  c.discard_bytes,
  c.discard_time_ms,
  c.flushes,
  c.flush_time_ms,
  c.busy_time_ms,
  c.queue_time_ms,
  coalesce(c.nested, false) AS nested
FROM (
  SELECT
    s.*,
    CASE WHEN s.seconds >= n.interval_ns / 1e10 THEN s.seconds END AS rated_seconds
  FROM (
    SELECT
      run_id,
      phase::integer AS phase,
      attempt::integer AS attempt,
      worker_index,
      device,
      interval,
      1 AS intervals,
      interval_class,
      started_at,
      begin_ns,
      end_ns,
      (end_ns - begin_ns) / 1e9::double precision AS seconds,
      reads::double precision AS reads,
      read_merges::double precision AS read_merges,
      read_bytes::double precision AS read_bytes,
      read_time_ms::double precision AS read_time_ms,
      writes::double precision AS writes,
      write_merges::double precision AS write_merges,
      write_bytes::double precision AS write_bytes,
      write_time_ms::double precision AS write_time_ms,
      discards::double precision AS discards,
      discard_merges::double precision AS discard_merges,
      discard_bytes::double precision AS discard_bytes,
      discard_time_ms::double precision AS discard_time_ms,
      flushes::double precision AS flushes,
      flush_time_ms::double precision AS flush_time_ms,
      busy_time_ms::double precision AS busy_time_ms,
      queue_time_ms::double precision AS queue_time_ms,
      nested
    FROM device_samples
    UNION ALL
    SELECT
      run_id,
      phase,
      attempt,
      worker_index,
      device,
      interval,
      intervals,
      interval_class,
      started_at,
      begin_ns,
      end_ns,
      seconds,
      reads,
      read_merges,
      read_bytes,
      read_time_ms,
      writes,
      write_merges,
      write_bytes,
      write_time_ms,
      discards,
      discard_merges,
      discard_bytes,
      discard_time_ms,
      flushes,
      flush_time_ms,
      busy_time_ms,
      queue_time_ms,
      nested
    FROM device_rollups
  ) s
  JOIN phases n USING (run_id, phase, attempt)
) c
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN run_workers w USING (run_id, worker_index)
LEFT JOIN (
  SELECT
    t.run_id,
    k.boot_id,
    t.device,
    min(t.identity) AS identity
  FROM run_targets t
  JOIN run_workers k USING (run_id, worker_index)
  WHERE t.identity <> ''
  GROUP BY t.run_id, k.boot_id, t.device
) i ON i.run_id = c.run_id AND i.boot_id = w.boot_id AND i.device = c.device
-- What observe phases see is underneath no target.
LEFT JOIN environment_facts e
  ON
    e.run_id = c.run_id AND e.worker_index = c.worker_index
    AND e.name = 'device.' || c.device || '.identity' AND p.kind = 'observe';
COMMENT ON VIEW device_timeline IS
'iostat -x of every interval, host and device, ramp and drain included';

-- iostat -x over the measured time of a phase.
CREATE OR REPLACE VIEW device_statistics AS
SELECT
  d.run_id,
  d.phase,
  d.phase_name,
  d.host,
  d.device,
  sum(d.reads) / sum(d.seconds) AS reads_per_second,
  sum(d.read_bytes) / sum(d.seconds) / 1048576 AS read_mib_per_second,
  sum(d.read_time_ms) / nullif(sum(d.reads), 0) AS read_await_ms,
  sum(d.writes) / sum(d.seconds) AS writes_per_second,
  sum(d.write_bytes) / sum(d.seconds) / 1048576 AS write_mib_per_second,
  sum(d.write_time_ms) / nullif(sum(d.writes), 0) AS write_await_ms,
  sum(d.flushes) / sum(d.seconds) AS flushes_per_second,
  sum(d.queue_time_ms) / sum(d.seconds) / 1000 AS queue_size,
  least(1, sum(d.busy_time_ms) / sum(d.seconds) / 1000) AS busy_ratio,
  sum(d.read_merges) / sum(d.seconds) AS read_merges_per_second,
  sum(d.read_bytes) / nullif(sum(d.reads), 0) AS read_request_bytes,
  sum(d.write_merges) / sum(d.seconds) AS write_merges_per_second,
  sum(d.write_bytes) / nullif(sum(d.writes), 0) AS write_request_bytes,
  sum(d.discards) / sum(d.seconds) AS discards_per_second,
  sum(d.discard_bytes) / sum(d.seconds) / 1048576 AS discard_mib_per_second,
  sum(d.discard_merges) / sum(d.seconds) AS discard_merges_per_second,
  sum(d.discard_time_ms) / nullif(sum(d.discards), 0) AS discard_await_ms,
  sum(d.discard_bytes) / nullif(sum(d.discards), 0) AS discard_request_bytes,
  sum(d.flush_time_ms) / nullif(sum(d.flushes), 0) AS flush_await_ms,
  bool_or(d.nested) AS nested
FROM device_timeline d
WHERE d.class = 'measured'
GROUP BY d.run_id, d.phase, d.phase_name, d.host, d.worker_index, d.device
HAVING sum(d.seconds) > 0;
COMMENT ON VIEW device_statistics IS 'iostat -x over the measured time of a phase';

-- vmstat, interval by interval, ramp and drain included, in vmstat's names and units. Where the
-- samples of a run were pruned, its roll-ups stand for them.
CREATE OR REPLACE VIEW kernel_timeline AS
SELECT
  c.run_id,
  c.phase,
  p.name AS phase_name,
  c.interval,
  c.intervals,
  class_name(c.interval_class) AS class,
  c.started_at,
  c.begin_ns / 1e9::double precision AS begin_seconds,
  c.end_ns / 1e9::double precision AS end_seconds,
  c.seconds,
  w.host,
  c.worker_index,
  w.boot_id,
  c.run_queue AS r,
  c.blocked AS b,
  c.swap_used_bytes / 1024 AS swpd,
  c.free_bytes / 1024 AS free,
  c.buffers_bytes / 1024 AS buff,
  c.cache_bytes / 1024 AS cache,
  c.swap_in_bytes / 1024 / c.rated_seconds AS si,
  c.swap_out_bytes / 1024 / c.rated_seconds AS so,
  c.block_in_bytes / 1024 / c.rated_seconds AS bi,
  c.block_out_bytes / 1024 / c.rated_seconds AS bo,
  c.interrupts / c.rated_seconds AS "in",
  c.context_switches / c.rated_seconds AS cs,
  100 * c.user_ratio AS us,
  100 * c.system_ratio AS sy,
  100 * c.idle_ratio AS id,
  100 * c.iowait_ratio AS wa,
  100 * c.steal_ratio AS st,
  c.dirty_bytes / 1024 AS dirty,
  c.dirty_bytes_max / 1024 AS dirty_max,
  c.writeback_bytes / 1024 AS writeback
FROM (
  SELECT
    s.*,
    CASE WHEN s.seconds >= n.interval_ns / 1e10 THEN s.seconds END AS rated_seconds
  FROM (
    SELECT
      run_id,
      phase::integer AS phase,
      attempt::integer AS attempt,
      worker_index,
      interval,
      1 AS intervals,
      interval_class,
      started_at,
      begin_ns,
      end_ns,
      (end_ns - begin_ns) / 1e9::double precision AS seconds,
      context_switches::double precision AS context_switches,
      interrupts::double precision AS interrupts,
      run_queue::double precision AS run_queue,
      blocked::double precision AS blocked,
      user_ratio::double precision * known AS user_ratio,
      system_ratio::double precision * known AS system_ratio,
      idle_ratio::double precision * known AS idle_ratio,
      iowait_ratio::double precision * known AS iowait_ratio,
      steal_ratio::double precision * known AS steal_ratio,
      swap_in_pages::double precision * page_bytes AS swap_in_bytes,
      swap_out_pages::double precision * page_bytes AS swap_out_bytes,
      block_in_bytes::double precision AS block_in_bytes,
      block_out_bytes::double precision AS block_out_bytes,
      swap_used_bytes::double precision AS swap_used_bytes,
      free_bytes::double precision AS free_bytes,
      buffers_bytes::double precision AS buffers_bytes,
      cached_bytes::double precision + slab_reclaimable_bytes AS cache_bytes,
      dirty_bytes::double precision AS dirty_bytes,
      dirty_bytes::double precision AS dirty_bytes_max,
      writeback_bytes::double precision AS writeback_bytes
    FROM (
      SELECT
        *,
        -- Two readings within one tick of the kernel's clock have no shares.
        CASE
          WHEN user_ratio + system_ratio + idle_ratio + iowait_ratio + steal_ratio > 0 THEN 1
        END AS known
      FROM host_samples
    ) h
    UNION ALL
    SELECT
      run_id,
      phase,
      attempt,
      worker_index,
      interval,
      intervals,
      interval_class,
      started_at,
      begin_ns,
      end_ns,
      seconds,
      context_switches,
      interrupts,
      run_queue,
      blocked,
      user_ratio,
      system_ratio,
      idle_ratio,
      iowait_ratio,
      steal_ratio,
      swap_in_bytes,
      swap_out_bytes,
      block_in_bytes,
      block_out_bytes,
      swap_used_bytes,
      free_bytes,
      buffers_bytes,
      cache_bytes,
      dirty_bytes,
      dirty_bytes_max,
      writeback_bytes
    FROM host_rollups
  ) s
  JOIN phases n USING (run_id, phase, attempt)
) c
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN run_workers w USING (run_id, worker_index);
COMMENT ON VIEW kernel_timeline IS
'vmstat of every interval and host, ramp and drain included';

-- Network interfaces that carry the traffic of targets, interval by interval, ramp and drain
-- included, in the names of `sar -n DEV,EDEV`; rxutil and txutil are the shares of the line rate in
-- each direction. Each worker samples the interfaces of its network namespace: workers in one
-- namespace have rows of the same interface. Where the samples of a run were pruned, its roll-ups
-- stand for them.
CREATE OR REPLACE VIEW network_timeline AS
SELECT
  c.run_id,
  c.phase,
  p.name AS phase_name,
  c.interval,
  c.intervals,
  class_name(c.interval_class) AS class,
  c.started_at,
  c.begin_ns / 1e9::double precision AS begin_seconds,
  c.end_ns / 1e9::double precision AS end_seconds,
  c.seconds,
  w.host,
  c.worker_index,
  w.boot_id,
  x.result ->> 'networkNamespace' AS network_namespace,
  c.interface,
  c.received_bytes / c.rated_seconds / 1048576 AS rxmib_s,
  c.received_packets / c.rated_seconds AS rxpck_s,
  800 * c.received_bytes / c.rated_seconds / nullif(c.receive_speed_bits_per_second, 0) AS rxutil,
  c.received_drops / c.rated_seconds AS rxdrop_s,
  c.received_errors / c.rated_seconds AS rxerr_s,
  c.sent_bytes / c.rated_seconds / 1048576 AS txmib_s,
  c.sent_packets / c.rated_seconds AS txpck_s,
  800 * c.sent_bytes / c.rated_seconds / nullif(c.send_speed_bits_per_second, 0) AS txutil,
  c.sent_drops / c.rated_seconds AS txdrop_s,
  c.sent_errors / c.rated_seconds AS txerr_s,
  c.received_bytes,
  c.received_packets,
  c.received_drops,
  c.received_errors,
  c.sent_bytes,
  c.sent_packets,
  c.sent_drops,
  c.sent_errors,
  c.receive_speed_bits_per_second,
  c.send_speed_bits_per_second
FROM (
  SELECT
    s.*,
    CASE WHEN s.seconds >= n.interval_ns / 1e10 THEN s.seconds END AS rated_seconds
  FROM (
    SELECT
      run_id,
      phase::integer AS phase,
      attempt::integer AS attempt,
      worker_index,
      interface,
      interval,
      1 AS intervals,
      interval_class,
      started_at,
      begin_ns,
      end_ns,
      (end_ns - begin_ns) / 1e9::double precision AS seconds,
      received_bytes::double precision AS received_bytes,
      received_packets::double precision AS received_packets,
      received_drops::double precision AS received_drops,
      received_errors::double precision AS received_errors,
      sent_bytes::double precision AS sent_bytes,
      sent_packets::double precision AS sent_packets,
      sent_drops::double precision AS sent_drops,
      sent_errors::double precision AS sent_errors,
      receive_speed_bits_per_second::double precision AS receive_speed_bits_per_second,
      send_speed_bits_per_second::double precision AS send_speed_bits_per_second
    FROM interface_samples
    UNION ALL
    SELECT
      run_id,
      phase,
      attempt,
      worker_index,
      interface,
      interval,
      intervals,
      interval_class,
      started_at,
      begin_ns,
      end_ns,
      seconds,
      received_bytes,
      received_packets,
      received_drops,
      received_errors,
      sent_bytes,
      sent_packets,
      sent_drops,
      sent_errors,
      receive_speed_bits_per_second,
      send_speed_bits_per_second
    FROM interface_rollups
  ) s
  JOIN phases n USING (run_id, phase, attempt)
) c
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN run_workers w USING (run_id, worker_index)
LEFT JOIN worker_results x USING (run_id, phase, attempt, worker_index);
COMMENT ON VIEW network_timeline IS
'Network interfaces that carry the traffic of targets, interval by interval';

-- NFS operations, interval by interval, ramp and drain included, in the names of nfsiostat. An
-- interval without an operation has no row of it. Workers of one kernel have rows of the same
-- mount.
CREATE OR REPLACE VIEW nfs_timeline AS
SELECT
  c.run_id,
  c.phase,
  p.name AS phase_name,
  c.interval,
  c.intervals,
  class_name(c.interval_class) AS class,
  c.started_at,
  c.begin_ns / 1e9::double precision AS begin_seconds,
  c.end_ns / 1e9::double precision AS end_seconds,
  c.seconds,
  w.host,
  c.worker_index,
  w.boot_id,
  c.mount,
  c.operation,
  c.operations / c.rated_seconds AS ops_s,
  c.round_trip_ms / nullif(c.operations, 0) AS rtt,
  c.execution_ms / nullif(c.operations, 0) AS exe,
  c.queue_time_ms / nullif(c.operations, 0) AS queue,
  c.transmissions - c.operations AS retrans,
  c.received_bytes / c.rated_seconds / 1048576 AS rxmib_s,
  c.sent_bytes / c.rated_seconds / 1048576 AS txmib_s,
  c.operations,
  c.transmissions,
  c.timeouts,
  c.sent_bytes,
  c.received_bytes,
  c.queue_time_ms,
  c.round_trip_ms,
  c.execution_ms
FROM (
  SELECT
    s.*,
    CASE WHEN s.seconds >= n.interval_ns / 1e10 THEN s.seconds END AS rated_seconds
  FROM (
    SELECT
      run_id,
      phase::integer AS phase,
      attempt::integer AS attempt,
      worker_index,
      mount,
      operation,
      interval,
      1 AS intervals,
      interval_class,
      started_at,
      begin_ns,
      end_ns,
      (end_ns - begin_ns) / 1e9::double precision AS seconds,
      operations::double precision AS operations,
      transmissions::double precision AS transmissions,
      timeouts::double precision AS timeouts,
      sent_bytes::double precision AS sent_bytes,
      received_bytes::double precision AS received_bytes,
      queue_time_ms::double precision AS queue_time_ms,
      round_trip_ms::double precision AS round_trip_ms,
      execution_ms::double precision AS execution_ms
    FROM nfs_samples
    UNION ALL
    SELECT
      run_id,
      phase,
      attempt,
      worker_index,
      mount,
      operation,
      interval,
      intervals,
      interval_class,
      started_at,
      begin_ns,
      end_ns,
      seconds,
      operations,
      transmissions,
      timeouts,
      sent_bytes,
      received_bytes,
      queue_time_ms,
      round_trip_ms,
      execution_ms
    FROM nfs_rollups
  ) s
  JOIN phases n USING (run_id, phase, attempt)
) c
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN run_workers w USING (run_id, worker_index);
COMMENT ON VIEW nfs_timeline IS
'nfsiostat of every interval, NFS mount and operation, ramp and drain included';

-- How each worker reached the servers of its targets.
CREATE OR REPLACE VIEW storage_routes AS
SELECT
  r.run_id,
  r.phase,
  p.name AS phase_name,
  w.host,
  r.worker_index,
  t.target::integer AS target,
  e.route ->> 'protocol' AS protocol,
  coalesce(e.route ->> 'server', '') AS server,
  ARRAY(
    SELECT jsonb_array_elements_text(coalesce(e.route -> 'interfaces', '[]'))
  ) AS interfaces,
  coalesce(e.route ->> 'mount', '') AS mount,
  coalesce(e.route ->> 'notSampled', '') AS not_sampled
FROM worker_results r
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN run_workers w USING (run_id, worker_index)
CROSS JOIN
  LATERAL (SELECT jsonb_array_elements(CASE jsonb_typeof(r.result -> 'routes')
    WHEN 'array' THEN r.result -> 'routes' ELSE '[]'
  END) AS route) e
CROSS JOIN
  LATERAL (SELECT jsonb_array_elements_text(coalesce(e.route -> 'targets', '[]')) AS target
  ) t;
COMMENT ON VIEW storage_routes IS
'The servers of each worker''s targets, and the interfaces that lead to them';

-- Where the time of each phase's threads went, as shares of their time; what is left is the
-- threads' own work.
CREATE OR REPLACE VIEW thread_time AS
SELECT
  t.run_id,
  t.phase,
  p.name AS phase_name,
  w.host,
  l.name AS workload,
  t.thread,
  t.operations,
  t.execution_time_ns / 1e9 AS execution_seconds,
  t.wait_time_ns::double precision / nullif(total, 0) AS in_io,
  t.fsync_time_ns::double
  precision / nullif(total, 0) AS in_fsync,
  t.think_time_ns::double precision / nullif(total, 0) AS thinking,
  t.rate_time_ns::double
  precision / nullif(total, 0) AS waiting_for_rate,
  t.cpu_time_ns::double precision / nullif(total, 0) AS processor
FROM (SELECT
  *,
  greatest(
    execution_time_ns, wait_time_ns + fsync_time_ns + think_time_ns
    + rate_time_ns
  ) AS total
FROM thread_results) t
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN run_workers w USING (run_id, worker_index)
JOIN workloads l USING (run_id, phase, workload);
COMMENT ON VIEW thread_time IS 'Where the threads'' time went';

-- What verification found, per phase, host and workload.
CREATE OR REPLACE VIEW verification AS
SELECT
  r.run_id,
  r.phase,
  p.name AS phase_name,
  w.host,
  l.name AS workload,
  coalesce((
    v.found ->> 'checked'
  )::bigint, 0) AS checked,
  coalesce((
    v.found
    ->> 'notCheckable'
  )::bigint, 0) AS not_checkable,
  coalesce((
    v.found ->> 'corrupt'
  )::bigint, 0) AS corrupt,
  coalesce((
    v.found
    ->> 'stale'
  )::bigint, 0) AS stale,
  coalesce((
    v.found ->> 'misplaced'
  )::bigint, 0) AS misplaced,
  coalesce((
    v.found
    ->> 'torn'
  )::bigint, 0) AS torn,
  coalesce(
    (v.found ->> 'neverWritten')::bigint, 0
  ) AS never_written,
  coalesce(
    v.found
    -> 'mismatches', '[]'
  ) AS mismatches
FROM worker_results r
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN run_workers w USING (run_id, worker_index)
CROSS JOIN
  LATERAL (SELECT
    coalesce((e ->> 'workload')::integer, 0) AS workload,
    e
    -> 'verification' AS found
  FROM jsonb_array_elements(coalesce(r.result -> 'workloads', '[]')) e) v
JOIN workloads l ON l.run_id = r.run_id AND l.phase = r.phase AND l.workload = v.workload
WHERE v.found IS NOT null;
COMMENT ON VIEW verification IS 'What verification found';

-- Every attempt of every phase; phase_overview has the last ones. State `void`: begun again under
-- the next number.
CREATE OR REPLACE VIEW phase_attempts AS
SELECT
  run_id,
  phase,
  attempt,
  name,
  kind,
  state,
  reason,
  go_at,
  ended_at
FROM phases;
COMMENT ON VIEW phase_attempts IS 'Every attempt of every phase';

-- Workers that were given up, and why.
CREATE OR REPLACE VIEW lost_workers AS
SELECT
  run_id,
  worker_index,
  host,
  lost AS reason
FROM run_workers
WHERE lost IS NOT null;
COMMENT ON VIEW lost_workers IS 'Workers that were given up, and why';

-- What the hosts of each run were: kernel, processor, queue settings of the devices.
CREATE OR REPLACE VIEW run_environment AS
SELECT
  f.run_id,
  w.host,
  f.worker_index,
  f.name,
  f.value
FROM environment_facts f JOIN
  run_workers w
  USING (run_id, worker_index);
COMMENT ON VIEW run_environment IS 'Facts about the hosts of a run';

CREATE OR REPLACE VIEW phase_findings AS
SELECT
  f.run_id,
  f.phase,
  p.name AS phase_name,
  f.kind,
  f.hosts,
  f.device,
  f.begin_seconds,
  f.end_seconds,
  f.seconds,
  f.share,
  f.cause,
  f.sentence
FROM findings f JOIN phase_overview p USING (run_id, phase);
COMMENT ON VIEW phase_findings IS
'What the report concludes: stragglers, starvation, cross-checks, splits, queues, flushes, '
'interference, lost paths, promises that were exceeded';

-- What observe phases say of limits that earlier runs measured.
CREATE OR REPLACE VIEW device_shares AS
SELECT
  s.run_id,
  s.phase,
  p.name AS phase_name,
  s.device,
  s.hosts,
  s.identity,
  s.compared_run,
  s.compared_phase,
  s.measured_at,
  s.iops,
  s.read_ratio,
  s.read_request_bytes,
  s.write_request_bytes,
  s.limit_iops,
  s.limit_read_ratio,
  s.limit_read_request_bytes,
  s.limit_write_request_bytes,
  s.share,
  s.p99_at_60_ns / 1e6 AS p99_at_60_ms,
  s.p99_at_90_ns / 1e6 AS p99_at_90_ms,
  s.difference,
  s.sentence
FROM observed_shares s JOIN phase_overview p USING (run_id, phase);
COMMENT ON VIEW device_shares IS
'Devices of observe phases beside a limit that an earlier run measured';

CREATE OR REPLACE VIEW phase_settings AS
SELECT
  r.run_id,
  r.phase,
  p.name AS phase_name,
  w.host,
  s.change ->> 'thing' AS thing,
  s.change ->> 'name' AS setting,
  coalesce(s.change ->> 'before', '') AS before,
  coalesce(s.change ->> 'value', '') AS value,
  coalesce(s.change ->> 'notRestored', '') AS not_restored
FROM worker_results r
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN run_workers w USING (run_id, worker_index)
CROSS JOIN LATERAL (
  SELECT jsonb_array_elements(CASE jsonb_typeof(r.result -> 'settings')
    WHEN 'array' THEN r.result -> 'settings' ELSE '[]'
  END) AS change
) s;
COMMENT ON VIEW phase_settings IS
'Settings that hosts had during a phase and no longer: schedulers, queues, mount options';

CREATE OR REPLACE VIEW device_paths AS
SELECT
  d.run_id,
  d.phase::integer AS phase,
  p.name AS phase_name,
  w.host,
  d.device,
  d.interval,
  d.begin_ns / 1e9 AS begin_seconds,
  d.end_ns / 1e9 AS end_seconds,
  d.paths,
  d.paths_running
FROM device_samples d
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN run_workers w USING (run_id, worker_index)
WHERE d.paths IS NOT null;
COMMENT ON VIEW device_paths IS
'Paths to each device of several paths, and how many of them ran, per interval';

-- What the workers found underneath the targets. Numbers are as `underneath` names them.
CREATE OR REPLACE VIEW device_layers AS
SELECT
  w.run_id,
  w.host,
  l.number::integer AS layer,
  l.found ->> 'kind' AS kind,
  coalesce(l.found ->> 'deviceName', '') AS device,
  coalesce(l.found ->> 'label', '') AS label,
  coalesce(l.found ->> 'identity', '') AS identity,
  coalesce(l.found ->> 'mountPoint', '') AS mount_point,
  array(
    SELECT part::integer FROM jsonb_array_elements_text(
      CASE jsonb_typeof(l.found -> 'underneath')
        WHEN 'array' THEN l.found -> 'underneath' ELSE '[]'
      END
    ) AS part
  ) AS underneath
FROM run_workers w
CROSS JOIN LATERAL jsonb_array_elements(
  CASE jsonb_typeof(w.inspection -> 'layers')
    WHEN 'array' THEN w.inspection -> 'layers' ELSE '[]'
  END
) WITH ORDINALITY AS l (found, number);
COMMENT ON VIEW device_layers IS
'File systems and devices underneath a run''s targets, and what each of them lies on';

CREATE OR REPLACE VIEW fleet_timeline AS
SELECT
  f.run_id,
  f.phase,
  p.name AS phase_name,
  f.interval,
  f.intervals,
  class_name(f.interval_class) AS class,
  f.begin_ns / 1e9 AS begin_seconds,
  f.end_ns / 1e9 AS end_seconds,
  f.hosts,
  o.operations,
  o.bytes,
  o.errors,
  o.operations::double precision * 1e9
  / rate_length(f.end_ns - f.begin_ns, n.interval_ns) AS iops,
  o.bytes::double precision * 1e9
  / rate_length(f.end_ns - f.begin_ns, n.interval_ns) / 1048576 AS mib_per_second,
  if_above(50, f.operations, f.p50_ns) / 1e6 AS p50_ms,
  if_above(90, f.operations, f.p90_ns) / 1e6 AS p90_ms,
  if_above(99, f.operations, f.p99_ns) / 1e6 AS p99_ms,
  if_above(99.9, f.operations, f.p999_ns) / 1e6 AS p999_ms,
  o.latency_max_ns::double precision / 1e6 AS max_ms,
  o.host_iops[1] AS min_host_iops,
  o.host_iops[3] AS median_host_iops,
  o.host_iops[5] AS max_host_iops,
  o.jain,
  f.device_time_ms / nullif(f.device_requests, 0) AS await_ms,
  f.device_queue_time_ms / 1e3 / nullif(f.device_seconds, 0) AS queue_size,
  f.device_bytes / nullif(f.device_requests, 0) AS request_bytes,
  f.device_busy_ms / 1e3 / nullif(f.device_seconds, 0) AS busy_ratio,
  hist_decode(f.latencies)::histogram AS latencies
FROM fleet_intervals f
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN phases n USING (run_id, phase, attempt)
-- An observe phase has no load, of which zeros would be figures.
LEFT JOIN LATERAL (SELECT
  f.operations,
  f.bytes,
  f.errors,
  f.latency_max_ns,
  f.host_iops,
  f.jain
WHERE n.kind <> 'observe') o ON true;
COMMENT ON VIEW fleet_timeline IS
'The whole fleet, interval by interval, ramp and drain included, as when the phase ended';
