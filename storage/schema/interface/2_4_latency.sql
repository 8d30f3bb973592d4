-- Views of latencies and their percentiles.

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

-- Latencies of every measured interval, of I/Os, in the report's metric.
CREATE OR REPLACE VIEW interval_latency AS
SELECT
  h.run_id,
  p.phase,
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
