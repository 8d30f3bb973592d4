-- Whose a host's name and its ids are. A row for each name, apart from `hosts`, which says what
-- hosts said of themselves.

CREATE TABLE host_bindings (
  host text PRIMARY KEY,
  certificate text NOT NULL CHECK (certificate <> ''),
  host_id uuid NOT NULL UNIQUE,
  worker_id uuid NOT NULL UNIQUE,
  since timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE host_bindings IS
    'The certificate that a host''s name and ids belong to; for controllers alone';
COMMENT ON COLUMN host_bindings.host IS 'the host''s name';
COMMENT ON COLUMN host_bindings.certificate IS 'the name in the certificate';
COMMENT ON COLUMN host_bindings.host_id IS 'the host''s id, from its worker''s state directory';
COMMENT ON COLUMN host_bindings.worker_id IS 'the worker''s id, from there';
COMMENT ON COLUMN host_bindings.since IS 'when these ids were first seen';

INSERT INTO host_bindings (host, certificate, host_id, worker_id)
  SELECT DISTINCT ON (h.name) h.name, w.certificate, w.host_id, w.worker_id
  FROM workers w JOIN hosts h USING (host_id)
  WHERE w.certificate <> ''
  ORDER BY h.name, w.last_seen DESC, w.worker_id
  ON CONFLICT DO NOTHING;
ALTER TABLE workers DROP COLUMN certificate;

-- Ids are between a worker and the controller: who reads results needs none.
REVOKE ALL ON host_bindings FROM PUBLIC;
DO $$
DECLARE
  t record;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lockstep_reader') THEN
    RETURN;
  END IF;
  REVOKE ALL ON host_bindings FROM lockstep_reader;
  FOR t IN
    SELECT c.relname, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns
    FROM pg_class c JOIN pg_attribute a
      ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relnamespace = 'lockstep'::regnamespace
      AND c.relname IN ('hosts', 'workers', 'devices', 'run_workers')
      AND a.attname NOT IN ('host_id', 'worker_id', 'hello')
    GROUP BY 1
  LOOP
    EXECUTE format('REVOKE ALL ON %I FROM lockstep_reader', t.relname);
    EXECUTE format('GRANT SELECT (%s) ON %I TO lockstep_reader', t.columns, t.relname);
  END LOOP;
END
$$;
