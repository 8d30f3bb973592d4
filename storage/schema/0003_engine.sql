-- What the engine learned to do: think time of threads, syncs as operations that are not I/Os, verification.

ALTER TABLE thread_results ADD COLUMN think_time_ns bigint NOT NULL DEFAULT 0;

-- Syncs are operations of their own and no I/Os: throughput over all kinds leaves them out.
CREATE OR REPLACE VIEW host_timeline AS
  SELECT c.run_id, c.phase, p.name AS phase_name, c.interval, c.interval_class, w.host, c.worker_index, min(c.started_at) AS started_at,
         coalesce(sum(c.operations) FILTER (WHERE c.kind <> 4), 0)::double precision * 1e9 / nullif(max(c.end_ns - c.begin_ns), 0) AS iops,
         sum(c.bytes)::double precision * 1e9 / nullif(max(c.end_ns - c.begin_ns), 0) / 1048576 AS mib_per_second
  FROM interval_counters c
  JOIN phase_overview p USING (run_id, phase, attempt)
  JOIN run_workers w USING (run_id, worker_index)
  GROUP BY c.run_id, c.phase, p.name, c.interval, c.interval_class, w.host, c.worker_index;

CREATE OR REPLACE VIEW phase_fairness AS
  SELECT run_id, phase, phase_name, count(*) AS hosts, jain(iops) AS jain_iops, max(iops) / nullif(min(iops), 0) AS max_over_min
  FROM (SELECT run_id, phase, phase_name, worker_index, sum(iops) AS iops FROM host_throughput WHERE kind <> 'fsync'
        GROUP BY run_id, phase, phase_name, worker_index) per_host
  GROUP BY run_id, phase, phase_name;

-- Where the time of each phase's threads went, as shares of their time; what is left is the threads' own work.
CREATE VIEW thread_time AS
  SELECT t.run_id, t.phase, p.name AS phase_name, w.host, l.name AS workload, t.thread, t.operations,
         t.execution_time_ns / 1e9 AS execution_seconds,
         t.wait_time_ns::double precision / nullif(total, 0) AS in_io, t.fsync_time_ns::double precision / nullif(total, 0) AS in_fsync,
         t.think_time_ns::double precision / nullif(total, 0) AS thinking, t.rate_time_ns::double precision / nullif(total, 0) AS waiting_for_rate,
         t.cpu_time_ns::double precision / nullif(total, 0) AS processor
  FROM (SELECT *, greatest(execution_time_ns, wait_time_ns + fsync_time_ns + think_time_ns + rate_time_ns) AS total FROM thread_results) t
  JOIN phase_overview p USING (run_id, phase, attempt)
  JOIN run_workers w USING (run_id, worker_index)
  JOIN workloads l USING (run_id, phase, workload);

-- What verification found, per phase, host and workload.
CREATE VIEW verification AS
  SELECT r.run_id, r.phase, p.name AS phase_name, w.host, l.name AS workload,
         coalesce((v.found ->> 'checked')::bigint, 0) AS checked, coalesce((v.found ->> 'notCheckable')::bigint, 0) AS not_checkable,
         coalesce((v.found ->> 'corrupt')::bigint, 0) AS corrupt, coalesce((v.found ->> 'stale')::bigint, 0) AS stale,
         coalesce((v.found ->> 'misplaced')::bigint, 0) AS misplaced, coalesce((v.found ->> 'torn')::bigint, 0) AS torn,
         coalesce((v.found ->> 'neverWritten')::bigint, 0) AS never_written, coalesce(v.found -> 'mismatches', '[]') AS mismatches
  FROM worker_results r
  JOIN phase_overview p USING (run_id, phase, attempt)
  JOIN run_workers w USING (run_id, worker_index)
  CROSS JOIN LATERAL (SELECT coalesce((e ->> 'workload')::integer, 0) AS workload, e -> 'verification' AS found
                      FROM jsonb_array_elements(coalesce(r.result -> 'workloads', '[]')) e) v
  JOIN workloads l ON l.run_id = r.run_id AND l.phase = r.phase AND l.workload = v.workload
  WHERE v.found IS NOT NULL;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'lockstep_reader') THEN
    GRANT SELECT ON ALL TABLES IN SCHEMA lockstep TO lockstep_reader;
  END IF;
END $$;
