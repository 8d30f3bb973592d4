-- Views of the network between hosts and their targets' servers.

-- Network interfaces that carry the traffic of targets, interval by interval, ramp and drain
-- included, in the names of `sar -n DEV,EDEV`; rxutil and txutil are the shares of the line rate in
-- each direction. Each worker samples the interfaces of its network namespace: workers in one
-- namespace have rows of the same interface. If the samples of a run were pruned, its roll-ups
-- stand for them.
CREATE OR REPLACE VIEW network_timeline AS
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
      phase,
      attempt,
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
    -- Its columns are these, in this order.
    SELECT * FROM interface_rollups
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
      phase,
      attempt,
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
    -- Its columns are these, in this order.
    SELECT * FROM nfs_rollups
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
  coalesce(e.route ->> 'notSampled', '') AS not_sampled,
  ARRAY(
    SELECT jsonb_array_elements_text(coalesce(e.route -> 'noLineRate', '[]'))
  ) AS no_line_rate
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
