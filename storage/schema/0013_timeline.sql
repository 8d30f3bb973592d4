-- Phases over time, merged over their workers once, when they end; and reports as they were made.

CREATE TABLE fleet_intervals (
  run_id               uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase                integer NOT NULL,
  attempt              integer NOT NULL,
  interval             integer NOT NULL,
  intervals            integer NOT NULL,
  interval_class       smallint NOT NULL,
  begin_ns             bigint NOT NULL,
  end_ns               bigint NOT NULL,
  hosts                integer NOT NULL,
  operations           bigint NOT NULL,
  bytes                bigint NOT NULL,
  errors               bigint NOT NULL,
  latency_sum_ns       numeric(20) NOT NULL,
  latency_max_ns       bigint NOT NULL,
  p50_ns               double precision,
  p90_ns               double precision,
  p99_ns               double precision,
  p999_ns              double precision,
  latencies            bytea NOT NULL,
  host_iops            real[] NOT NULL,
  jain                 double precision NOT NULL,
  device_seconds       double precision NOT NULL,
  device_requests      double precision NOT NULL,
  device_bytes         double precision NOT NULL,
  device_time_ms       double precision NOT NULL,
  device_queue_time_ms double precision NOT NULL,
  device_busy_ms       double precision NOT NULL,
  PRIMARY KEY (run_id, phase, attempt, interval)
);

CREATE TABLE fleet_interval_kinds (
  run_id     uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase      integer NOT NULL,
  attempt    integer NOT NULL,
  interval   integer NOT NULL,
  kind       smallint NOT NULL,
  operations bigint NOT NULL,
  bytes      bigint NOT NULL,
  errors     bigint NOT NULL,
  PRIMARY KEY (run_id, phase, attempt, interval, kind)
);

CREATE TABLE host_spans (
  run_id         uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase          integer NOT NULL,
  attempt        integer NOT NULL,
  interval_class smallint[] NOT NULL,
  begin_ns       bigint[] NOT NULL,
  end_ns         bigint[] NOT NULL,
  PRIMARY KEY (run_id, phase, attempt)
);

CREATE TABLE host_lines (
  run_id       uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase        integer NOT NULL,
  attempt      integer NOT NULL,
  worker_index integer NOT NULL,
  iops         real[] NOT NULL,
  p99_ns       real[] NOT NULL,
  PRIMARY KEY (run_id, phase, attempt, worker_index)
);

ALTER TABLE fleet_intervals ALTER COLUMN latencies SET COMPRESSION lz4;
ALTER TABLE runs ADD COLUMN saved_report bytea;
ALTER TABLE runs ALTER COLUMN saved_report SET COMPRESSION lz4;

CREATE VIEW fleet_timeline AS
  SELECT f.run_id, f.phase, p.name AS phase_name, f.interval, f.intervals,
         class_name(f.interval_class) AS class, f.begin_ns / 1e9 AS begin_seconds,
         f.end_ns / 1e9 AS end_seconds, f.hosts, f.operations, f.bytes, f.errors,
         f.operations::double precision * 1e9 / nullif(f.end_ns - f.begin_ns, 0) AS iops,
         f.bytes::double precision * 1e9 / nullif(f.end_ns - f.begin_ns, 0) / 1048576 AS
             mib_per_second,
         f.p50_ns / 1e6 AS p50_ms, f.p90_ns / 1e6 AS p90_ms, f.p99_ns / 1e6 AS p99_ms,
         f.p999_ns / 1e6 AS p999_ms, f.latency_max_ns::double precision / 1e6 AS max_ms,
         f.host_iops[1] AS least_host_iops, f.host_iops[3] AS median_host_iops,
         f.host_iops[5] AS most_host_iops, f.jain,
         f.device_time_ms / nullif(f.device_requests, 0) AS await_ms,
         f.device_queue_time_ms / 1e3 / nullif(f.device_seconds, 0) AS queue_size,
         f.device_bytes / nullif(f.device_requests, 0) AS request_bytes,
         f.device_busy_ms / 1e3 / nullif(f.device_seconds, 0) AS busy_ratio,
         hist_decode(f.latencies)::histogram AS latencies
  FROM fleet_intervals f
  JOIN phase_overview p USING (run_id, phase, attempt);

COMMENT ON TABLE fleet_intervals IS
    'Each interval of a phase over all its workers, merged once; of long phases some in a row';
COMMENT ON TABLE fleet_interval_kinds IS 'The same by kind of operation';
COMMENT ON TABLE host_spans IS 'The spans of time that host_lines have a value for';
COMMENT ON TABLE host_lines IS 'What each worker did over time, one value for each of host_spans';
COMMENT ON VIEW fleet_timeline IS
    'The whole fleet, interval by interval, ramp and drain included, as when the phase ended';
DO $$
DECLARE
  named record;
BEGIN
  FOR named IN
    SELECT c.relname, a.attname, d.meaning
    FROM (VALUES
      ('run_id', 'the run'),
      ('phase', 'number of the phase in the run, from 0'),
      ('phase_name', 'the phase''s name'),
      ('attempt', 'the attempt, from 1'),
      ('interval', 'the interval''s number, from 0; the first of several'),
      ('intervals', 'how many in a row it is: 1, but of long phases'),
      ('interval_class', '1 ramp, 2 measured, 3 drain'),
      ('class', 'ramp, measured, drain'),
      ('kind', 'kind of operation (kind_name)'),
      ('begin_ns', 'begin, ns after the phase''s start'),
      ('end_ns', 'end, ns after the phase''s start'),
      ('begin_seconds', 'begin, seconds after the phase''s start'),
      ('end_seconds', 'end, seconds after the phase''s start'),
      ('hosts', 'workers that are in it'),
      ('operations', 'operations that were completed; in fleet_intervals I/Os alone'),
      ('bytes', 'their bytes'),
      ('errors', 'those that failed'),
      ('iops', 'I/Os per second; in host_lines NaN where there is none'),
      ('mib_per_second', 'MiB per second'),
      ('latency_sum_ns', 'sum of the I/Os'' latencies, ns'),
      ('latency_max_ns', 'the longest latency, ns'),
      ('p50_ns', 'median latency, ns; NULL of no I/O'),
      ('p90_ns', '90th percentile, ns'),
      ('p99_ns', '99th percentile, ns; in host_lines of the span''s worst interval'),
      ('p999_ns', '99.9th percentile, ns'),
      ('p50_ms', 'median latency, ms; NULL of no I/O'),
      ('p90_ms', '90th percentile, ms'),
      ('p99_ms', '99th percentile, ms'),
      ('p999_ms', '99.9th percentile, ms'),
      ('max_ms', 'the longest latency, ms'),
      ('latencies', 'of the I/Os, in the report''s metric; encoded in the table'),
      ('host_iops', 'IOPS over the hosts: least, 10th percentile, median, 90th, most'),
      ('least_host_iops', 'IOPS of the host that did least'),
      ('median_host_iops', 'IOPS of the median host'),
      ('most_host_iops', 'IOPS of the host that did most'),
      ('jain', 'Jain''s index of IOPS over the hosts'),
      ('device_seconds', 'length of the interval times devices under the targets; 0: not known'),
      ('device_requests', 'requests that they completed'),
      ('device_bytes', 'bytes of these'),
      ('device_time_ms', 'time that these took, ms'),
      ('device_queue_time_ms', 'time of all requests in queue or in flight, ms'),
      ('device_busy_ms', 'time with a request in flight, ms'),
      ('await_ms', 'time of a request at the devices, ms'),
      ('queue_size', 'requests in queue or in flight at a device, on average'),
      ('request_bytes', 'size of a request, bytes'),
      ('busy_ratio', 'share of the time with a request in flight, of a device on average'),
      ('worker_index', 'the worker''s number in the run'),
      ('saved_report', 'the report as it was when the run ended, without series; a message')
    ) AS d(name, meaning)
    JOIN pg_attribute a ON a.attname = d.name AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_class c ON c.oid = a.attrelid AND c.relnamespace = 'lockstep'::regnamespace AND
        c.relname IN ('fleet_intervals', 'fleet_interval_kinds', 'host_spans', 'host_lines',
                      'fleet_timeline', 'runs')
    WHERE col_description(a.attrelid, a.attnum) IS NULL
  LOOP
    EXECUTE format('COMMENT ON COLUMN lockstep.%I.%I IS %L', named.relname, named.attname,
        named.meaning);
  END LOOP;
END $$;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'lockstep_reader') THEN
    GRANT SELECT ON fleet_intervals, fleet_interval_kinds, host_spans, host_lines, fleet_timeline
        TO lockstep_reader;
  END IF;
END $$;
