-- Views of sweeps.

-- The report's conclusions of each sweep.
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
COMMENT ON VIEW sweep_conclusions IS 'The report''s conclusions of each sweep';

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
