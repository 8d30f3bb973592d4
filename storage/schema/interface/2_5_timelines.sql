-- Hosts and the fleet over time.

-- Throughput of every interval and host, ramp and drain included; `class` says which it is. A drain
-- interval is as long as the last I/O took, so its rate means little. All rows of an interval have
-- the same length: max() gives it once.
CREATE OR REPLACE VIEW host_timeline_all AS
SELECT
  c.run_id,
  p.phase,
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
    coalesce(
      o.end_ns - o.begin_ns,
      i.interval_ns
    ) AS length_ns
  FROM interval_operations o JOIN phases i USING (run_id, phase, attempt)
) c
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN run_workers w USING (run_id, worker_index)
LEFT JOIN worker_results x USING (run_id, phase, attempt, worker_index)
GROUP BY c.run_id, p.phase, p.name, c.interval, c.interval_class, w.host, c.worker_index;
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
  -- Rows that an older version wrote have 1 where nothing was shared.
  CASE WHEN f.hosts > 1 AND f.operations > 0 THEN o.jain END AS jain,
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
