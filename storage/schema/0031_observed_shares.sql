CREATE TABLE observed_shares (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase integer NOT NULL,
  number integer NOT NULL,
  device text NOT NULL,
  hosts text[] NOT NULL,
  identity text NOT NULL,
  compared_run text NOT NULL,
  compared_phase text NOT NULL,
  measured_at timestamptz,
  iops double precision NOT NULL,
  read_ratio double precision,
  read_request_bytes double precision,
  write_request_bytes double precision,
  limit_iops double precision NOT NULL,
  limit_read_ratio double precision,
  limit_read_request_bytes double precision,
  limit_write_request_bytes double precision,
  share double precision,
  p99_at_60_ns double precision,
  p99_at_90_ns double precision,
  difference text NOT NULL,
  sentence text NOT NULL,
  PRIMARY KEY (run_id, phase, number)
);
COMMENT ON TABLE observed_shares IS
'Devices of observe phases beside a limit that an earlier run measured';
