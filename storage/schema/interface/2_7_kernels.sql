-- Views of kernels, and of what their control groups leave to workers: vmstat, cpu.stat.

-- vmstat, interval by interval, ramp and drain included, in vmstat's names and units. If the
-- samples of a run were pruned, its roll-ups stand for them.
CREATE OR REPLACE VIEW kernel_timeline AS
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
  -- The worker itself wakes in each interval: 0 is of a kernel that does not count.
  nullif(c.interrupts, 0) / c.rated_seconds AS "in",
  nullif(c.context_switches, 0) / c.rated_seconds AS cs,
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
      phase,
      attempt,
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
    -- Its columns are these, in this order.
    SELECT * FROM host_rollups
  ) s
  JOIN phases n USING (run_id, phase, attempt)
) c
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN run_workers w USING (run_id, worker_index);
COMMENT ON VIEW kernel_timeline IS
'vmstat of every interval and host, ramp and drain included';

-- The processor quota of each worker's control groups, interval by interval, ramp and drain
-- included: of the group, among the worker's own and those above it, that used its quota up most.
-- Workers of one kernel have quotas of their own. An interval without a quota has no row. If the
-- samples of a run were pruned, its roll-ups stand for them.
CREATE OR REPLACE VIEW quota_timeline AS
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
  -- The bounds of an interval are not those of periods: it may have one more than its length says.
  -- least() leaves NULL out, a quotient does not.
  least(c.throttled_seconds, c.rated_seconds) / c.rated_seconds AS throttled_ratio,
  c.throttled_seconds,
  c.periods,
  c.throttled_periods,
  c.throttled_time_ns
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
      interval,
      1 AS intervals,
      interval_class,
      started_at,
      begin_ns,
      end_ns,
      (end_ns - begin_ns) / 1e9::double precision AS seconds,
      periods::double precision AS periods,
      throttled_periods::double precision AS throttled_periods,
      throttled_seconds(
        periods, throttled_periods, period_ns, (end_ns - begin_ns) / 1e9::double precision
      ) AS throttled_seconds,
      throttled_time_ns::double precision AS throttled_time_ns
    FROM quota_samples
    UNION ALL
    -- Its columns are these, in this order.
    SELECT * FROM quota_rollups
  ) s
  JOIN phases n USING (run_id, phase, attempt)
) c
JOIN phase_overview p USING (run_id, phase, attempt)
JOIN run_workers w USING (run_id, worker_index);
COMMENT ON VIEW quota_timeline IS
'Processor quotas of every interval and worker that has one, ramp and drain included';
