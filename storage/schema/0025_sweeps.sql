CREATE TABLE sweep_figures (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  sweep integer NOT NULL,
  phase_name text NOT NULL,
  axes text[] NOT NULL,
  sentence text NOT NULL,
  figure text NOT NULL,
  higher_is_better boolean NOT NULL,
  rounds integer NOT NULL,
  more_rounds integer,
  PRIMARY KEY (run_id, sweep)
);
COMMENT ON TABLE sweep_figures IS 'What the report concludes of each sweep';

CREATE TABLE sweep_point_figures (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  sweep integer NOT NULL,
  number integer NOT NULL,
  point jsonb NOT NULL,
  phases integer[] NOT NULL,
  standing text NOT NULL,
  reason text NOT NULL,
  rounds integer NOT NULL,
  mean double precision,
  low double precision,
  high double precision,
  ratio double precision,
  ratio_low double precision,
  ratio_high double precision,
  p_value double precision,
  more_rounds integer,
  iops double precision,
  bytes_per_second double precision,
  p50_ns double precision,
  p99_ns double precision,
  thread_jain double precision,
  PRIMARY KEY (run_id, sweep, number)
);
COMMENT ON TABLE sweep_point_figures IS
'The points of each sweep, and how they compare with the best one';
