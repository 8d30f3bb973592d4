-- What a report concludes of hosts and devices, as rows.

CREATE TABLE findings (
  run_id        uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase         integer NOT NULL,
  finding       integer NOT NULL,
  kind          text NOT NULL,
  hosts         text[] NOT NULL,
  device        text NOT NULL,
  begin_seconds double precision,
  end_seconds   double precision,
  seconds       double precision,
  share         double precision,
  cause         text NOT NULL,
  sentence      text NOT NULL,
  PRIMARY KEY (run_id, phase, finding)
);
CREATE INDEX findings_by_kind ON findings (kind, run_id);

ALTER TABLE phase_verdicts
  ADD COLUMN p99_spread_median double precision,
  ADD COLUMN p99_spread_worst double precision;

CREATE VIEW phase_findings AS
  SELECT f.run_id, f.phase, p.name AS phase_name, f.kind, f.hosts, f.device, f.begin_seconds,
         f.end_seconds, f.seconds, f.share, f.cause, f.sentence
  FROM findings f JOIN phase_overview p USING (run_id, phase);

-- With the spread of p99 over the hosts in time.
CREATE OR REPLACE VIEW phase_fairness AS
  SELECT f.run_id, f.phase, p.name AS phase_name, count(*) AS hosts, v.jain_iops,
         v.max_over_min_iops AS max_over_min,
         stddev_pop(f.iops) / nullif(avg(f.iops), 0) AS variation,
         max(f.p99_ns) / nullif(min(f.p99_ns), 0) AS p99_max_over_min,
         v.p99_spread_median, v.p99_spread_worst
  FROM phase_figures f
  JOIN phase_overview p USING (run_id, phase)
  JOIN phase_verdicts v USING (run_id, phase)
  WHERE f.worker_index IS NOT NULL AND f.workload = '' AND f.kind = 'total' AND f.is_reported
    AND f.operations > 0
  GROUP BY f.run_id, f.phase, p.name, v.jain_iops, v.max_over_min_iops, v.p99_spread_median,
           v.p99_spread_worst;

COMMENT ON TABLE findings IS 'The report''s findings, in its order';
COMMENT ON VIEW phase_findings IS
    'What the report concludes: stragglers, starvation, cross-checks, splits, queues, flushes, '
    'interference';
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
      ('finding', 'its number in the phase, from 0'),
      ('kind', 'straggler, starvation, page cache, coalesced, amplified, not attributable, split, '
          'queue, flushes, interference'),
      ('hosts', 'the hosts that it is of'),
      ('device', 'the device''s name on them; empty where it is of a host'),
      ('begin_seconds', 'from when on, seconds from T; NULL: of the phase as a whole'),
      ('end_seconds', 'until when, seconds from T'),
      ('seconds', 'how long of that time, seconds'),
      ('share', 'straggler, starvation: its IOPS over the median of the others''; cross-checks: '
          'the device''s bytes over the engines'''),
      ('cause', 'straggler: the likely cause'),
      ('sentence', 'what the report says of it'),
      ('p99_spread_median', 'largest over smallest p99 of a host in an interval: the median over '
          'the intervals; NULL where it is not known'),
      ('p99_spread_worst', 'the largest over the intervals'),
      ('p99_max_over_min', 'largest host''s p99 over the smallest''s')) AS d(name, meaning)
    JOIN pg_attribute a ON a.attname = d.name AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_class c ON c.oid = a.attrelid AND c.relnamespace = 'lockstep'::regnamespace AND
        c.relname IN ('findings', 'phase_findings', 'phase_verdicts', 'phase_fairness')
    WHERE col_description(a.attrelid, a.attnum) IS NULL
  LOOP
    EXECUTE format('COMMENT ON COLUMN lockstep.%I.%I IS %L', named.relname, named.attname,
        named.meaning);
  END LOOP;
END $$;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'lockstep_reader') THEN
    GRANT SELECT ON findings, phase_findings TO lockstep_reader;
  END IF;
END $$;
