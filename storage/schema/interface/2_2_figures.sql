-- Views of what phases came to, over the fleet, by host and by thread.

-- The figures of a phase over the whole fleet, one row for each run and phase with load.
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
  t.amplification,
  f.stalled_ratio,
  f.corrected_p99_ns / 1e6 AS corrected_p99_ms
FROM runs r
JOIN phase_figures f
  ON
    f.run_id = r.run_id AND f.worker_index IS null AND f.workload = ''
    AND f.kind = 'total' AND f.is_reported
JOIN phase_verdicts v ON v.run_id = r.run_id AND v.phase = f.phase
JOIN phase_overview p ON p.run_id = r.run_id AND p.phase = f.phase
LEFT JOIN time_figures t ON t.run_id = r.run_id AND t.phase = f.phase;
COMMENT ON VIEW phase_summary IS
'The figures of each phase with load over the whole fleet: for trends';

-- What closed loops hide: of the fleet (host NULL), of each workload and of each host.
CREATE OR REPLACE VIEW phase_stalls AS
SELECT
  f.run_id,
  f.phase,
  p.name AS phase_name,
  f.host,
  f.worker_index,
  f.workload,
  f.p99_ns / 1e6 AS p99_ms,
  f.stalled_ratio,
  f.corrected_p99_ns / 1e6 AS corrected_p99_ms
FROM phase_figures f JOIN phase_overview p USING (run_id, phase)
WHERE f.kind = 'total' AND f.is_reported AND f.stalled_ratio IS NOT null;
COMMENT ON VIEW phase_stalls IS
'The share of time in which closed loops stood still, and what the p99 hides of it';

-- How long each worker's measured intervals lasted, seconds. An interval has a row for every
-- workload and kind, so the sum of the lengths would count it several times.
CREATE OR REPLACE VIEW measured_seconds AS
SELECT
  c.run_id,
  last.phase,
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
GROUP BY c.run_id, last.phase, c.attempt, c.worker_index;
COMMENT ON VIEW measured_seconds IS 'How long each worker measured';

-- The figures of every host, by workload and kind of operation; syncs too (is_io is false: they
-- are no I/Os).
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
'The figures of every host, by workload and kind of operation, syncs too';

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

-- The use of the time of each phase with load, over all hosts.
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
'The use of the time of each phase with load, over all hosts';

-- The use of the time of each phase's threads, as shares of their time. The rest is the
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
COMMENT ON VIEW thread_time IS 'The use of the threads'' time';

-- With the spread of p99 over the hosts in time.
CREATE OR REPLACE VIEW phase_fairness AS
SELECT
  f.run_id,
  f.phase,
  p.name AS phase_name,
  count(*) AS hosts,
  v.jain_iops,
  v.max_over_min_iops AS max_over_min,
  -- A host alone would be without a spread, and so perfectly fair.
  CASE
    WHEN count(f.iops) > 1 THEN stddev_pop(f.iops) / nullif(avg(f.iops), 0)
  END AS variation,
  CASE
    WHEN count(f.p99_ns) > 1 THEN max(f.p99_ns) / nullif(min(f.p99_ns), 0)
  END AS p99_max_over_min,
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
'The report''s findings: outages, omissions, changes of level, stragglers, starvation, '
'cross-checks, splits, queues, flushes, interference, lost paths, promises that were exceeded, '
'copies that left blocks out; of observe phases devices, shares, mounts and programs';
