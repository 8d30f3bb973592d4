-- Which stamps count. What lies on a device proves that a worker wrote it once; that nobody has
-- released the device since, only the store can say.

CREATE TABLE device_stamps (
  number uuid PRIMARY KEY,
  device_key text NOT NULL,
  identity text NOT NULL,
  host text NOT NULL,
  path text NOT NULL,
  enrolled_by text NOT NULL,
  enrolled_at timestamptz NOT NULL,
  ended_by text,
  ended_at timestamptz,
  CHECK ((ended_by IS NULL) = (ended_at IS NULL))
);
CREATE INDEX device_stamps_live ON device_stamps (device_key) WHERE ended_at IS NULL;

COMMENT ON TABLE device_stamps IS
    'Devices that were enrolled; ended ones are kept for 400 days';
COMMENT ON COLUMN device_stamps.number IS 'as the stamp on the device has it';
COMMENT ON COLUMN device_stamps.device_key IS
    'the same for all hosts that see the device; has the boot id of one that a host alone has';
COMMENT ON COLUMN device_stamps.identity IS 'the device''s identity';
COMMENT ON COLUMN device_stamps.host IS 'the host whose worker wrote the stamp';
COMMENT ON COLUMN device_stamps.path IS 'the device''s path there';
COMMENT ON COLUMN device_stamps.enrolled_by IS 'the admin who enrolled it';
COMMENT ON COLUMN device_stamps.enrolled_at IS 'when, by the controller''s clock';
COMMENT ON COLUMN device_stamps.ended_by IS
    'who released it, or enrolled the device anew; NULL while it counts';
COMMENT ON COLUMN device_stamps.ended_at IS 'when';

REVOKE ALL ON device_stamps FROM PUBLIC;
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'lockstep_reader') THEN
    REVOKE ALL ON device_stamps FROM lockstep_reader;
    GRANT SELECT (identity, host, path, enrolled_by, enrolled_at, ended_by, ended_at)
      ON device_stamps TO lockstep_reader;
  END IF;
END
$$;

-- Each part of the guard stands alone: what one may not do undoes nothing of the others.
DROP FUNCTION guard_reader(integer);
CREATE FUNCTION guard_reader(limit_seconds integer) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  is_superuser CONSTANT boolean := (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);
  wanted CONSTANT text[] := ARRAY['default_transaction_read_only=on', 'search_path=lockstep',
    'statement_timeout=10min', 'idle_in_transaction_session_timeout=1min',
    'idle_session_timeout=1h'] || CASE WHEN is_superuser THEN ARRAY['log_min_messages=fatal']
                                       ELSE ARRAY[]::text[] END;
  reader oid := (SELECT oid FROM pg_roles WHERE rolname = 'lockstep_reader');
  has_password boolean;
  entry record;
  problems text[] := ARRAY[]::text[];
BEGIN
  IF reader IS NULL THEN
    RETURN '';
  END IF;
  BEGIN
    IF (SELECT array_agg(c ORDER BY c) FROM pg_db_role_setting s, unnest(s.setconfig) c
        WHERE s.setrole = reader AND s.setdatabase = 0
        AND (is_superuser OR c NOT LIKE 'log\_min\_messages=%'))
       IS DISTINCT FROM (SELECT array_agg(c ORDER BY c) FROM unnest(wanted) c)
       OR EXISTS (SELECT FROM pg_db_role_setting s WHERE s.setrole = reader AND s.setdatabase <> 0)
    THEN
      FOR entry IN
        SELECT d.datname FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
        WHERE s.setrole = reader
      LOOP
        EXECUTE format('ALTER ROLE lockstep_reader IN DATABASE %I RESET ALL', entry.datname);
      END LOOP;
      ALTER ROLE lockstep_reader RESET ALL;
      FOR entry IN
        SELECT split_part(c, '=', 1) AS name, split_part(c, '=', 2) AS value FROM unnest(wanted) c
      LOOP
        EXECUTE format('ALTER ROLE lockstep_reader SET %I = %L', entry.name, entry.value);
      END LOOP;
    END IF;
  EXCEPTION WHEN OTHERS THEN
    problems := problems || ('its limits cannot be set: ' || SQLERRM);
  END;
  -- On a store of Lockstep's own nobody needs a password to read: one that a reader has set for all
  -- readers goes. Only a superuser may look, and elsewhere passwords are the administrator's.
  IF is_superuser AND current_setting('lockstep.embedded', true) = 'on' THEN
    EXECUTE 'SELECT rolpassword IS NOT NULL FROM pg_authid WHERE oid = $1'
      INTO has_password USING reader;
    IF has_password THEN
      ALTER ROLE lockstep_reader PASSWORD NULL;
    END IF;
  END IF;
  IF NOT is_superuser AND NOT pg_has_role('pg_read_all_stats', 'USAGE')
     AND NOT pg_has_role(reader, 'USAGE') THEN
    problems := problems || 'its sessions cannot be seen: grant this role pg_read_all_stats and '
      'pg_signal_backend'::text;
  END IF;
  BEGIN
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE usesysid = reader AND (
        state <> 'idle' AND xact_start < clock_timestamp() - make_interval(secs => limit_seconds)
        -- Cursors WITH HOLD keep their rows on disk for as long as their session lasts.
        OR state = 'idle' AND state_change < clock_timestamp() - interval '1 hour'
        -- Notifications stay on disk while a session that listens does not take them (of 8 GiB).
        OR pg_notification_queue_usage() > 0.005);
  EXCEPTION WHEN OTHERS THEN
    problems := problems || ('its sessions cannot be ended: ' || SQLERRM);
  END;
  RETURN array_to_string(problems, '; ');
END
$$;
COMMENT ON FUNCTION guard_reader(integer) IS
    'Sets the reading role''s limits again, ends sessions that exceed them; says what it cannot';
REVOKE EXECUTE ON FUNCTION guard_reader(integer) FROM PUBLIC;
SELECT guard_reader(600);
