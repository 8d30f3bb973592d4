-- What people noted about runs. Archives of older stores have none.
CREATE TABLE notes (
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  number integer NOT NULL,
  at timestamptz NOT NULL,
  author text NOT NULL,
  message text NOT NULL,
  written_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (run_id, number)
);
COMMENT ON TABLE notes IS 'What people noted about runs, and of which moment';
