-- Views of devices: iostat, paths and layers.

-- iostat -x, interval by interval, ramp and drain included. If the samples of a run were pruned,
-- its roll-ups of some intervals stand for them. Names are iostat's in lower case, with _ for / and
-- -, and without %. A rest of less than a tenth of an interval has no rate (rate_length()).
CREATE OR REPLACE VIEW device_timeline AS
SELECT
  c.run_id,
  p.phase,
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
      phase,
      attempt,
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
    -- Its columns are these, in this order.
    SELECT * FROM device_rollups
  ) s
  JOIN phases n USING (run_id, phase, attempt)
) c
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN run_workers w USING (run_id, worker_index)
-- For each row by itself. The planner takes a union for far smaller than it is, and may then
-- compare each row with the devices of all runs.
LEFT JOIN LATERAL (
  SELECT min(t.identity) AS identity
  FROM run_workers k
  JOIN run_targets t USING (run_id, worker_index)
  WHERE
    k.run_id = c.run_id AND k.boot_id = w.boot_id
    AND t.device = c.device AND t.identity <> ''
) i ON true
-- Devices of observe phases are underneath no target.
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
-- The counters are read up to 24 ms beside the load's time (PhaseView::SamplesFit()).
HAVING sum(d.seconds) >= 0.24;
COMMENT ON VIEW device_statistics IS 'iostat -x over the measured time of a phase';

CREATE OR REPLACE VIEW device_paths AS
SELECT
  d.run_id,
  p.phase,
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

-- The storage that the workers found underneath the targets. Numbers are those of `underneath`.
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
'File systems and devices underneath targets and observed devices, and what each lies on';

-- Observe phases beside the limits that earlier runs measured.
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
