-- The reading role, what it may read, and its limits. A controller whose own role may not create
-- roles uses the role that an administrator has made (docs/reference/operations.md). A right that
-- is missing is therefore a notice, not an error: the store works without it.

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lockstep_reader') THEN
    CREATE ROLE lockstep_reader LOGIN;
  END IF;
  ALTER ROLE lockstep_reader CONNECTION LIMIT 20;
EXCEPTION WHEN insufficient_privilege THEN
  RAISE NOTICE 'the role lockstep_reader is not set up: %', SQLERRM;
END $$;

-- The secret, the lock that elects, the audit log, and the ids that a worker and the controller
-- share are not for readers: whoever reads results needs none of them.
REVOKE ALL ON store_secret, controller_lock, audit_log, host_bindings, device_stamps FROM PUBLIC;
DO $$
DECLARE
  part record;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lockstep_reader') THEN
    RETURN;
  END IF;
  GRANT USAGE ON SCHEMA lockstep TO lockstep_reader;
  GRANT SELECT ON ALL TABLES IN SCHEMA lockstep TO lockstep_reader;
  ALTER DEFAULT PRIVILEGES IN SCHEMA lockstep GRANT SELECT ON TABLES TO lockstep_reader;
  REVOKE ALL ON store_secret, controller_lock, audit_log, host_bindings, device_stamps
    FROM lockstep_reader;
  -- A right on a whole table covers its columns: it goes before the columns are granted.
  FOR part IN
    SELECT c.relname, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns
    FROM pg_class c JOIN pg_attribute a
      ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relnamespace = 'lockstep'::regnamespace
      AND c.relname IN ('hosts', 'workers', 'devices', 'run_workers', 'device_stamps')
      AND a.attname NOT IN ('host_id', 'worker_id', 'hello', 'number', 'device_key')
    GROUP BY 1
  LOOP
    EXECUTE format('REVOKE ALL ON %I FROM lockstep_reader', part.relname);
    EXECUTE format('GRANT SELECT (%s) ON %I TO lockstep_reader', part.columns, part.relname);
  END LOOP;
END $$;

-- Only the owner makes temporary tables or large objects, fills the lock table with advisory locks,
-- writes into the log of changes, signals others or holds snapshots. If the owner may not forbid
-- it, an administrator does (docs/reference/operations.md). In a cluster of Lockstep's own only the
-- owner enters another database.
DO $$
DECLARE
  maker regprocedure;
  other name;
BEGIN
  IF current_setting('lockstep.embedded', true) = 'on' THEN
    FOR other IN SELECT datname FROM pg_database WHERE datname <> current_database() LOOP
      EXECUTE format('REVOKE CONNECT, TEMPORARY ON DATABASE %I FROM PUBLIC', other);
    END LOOP;
  END IF;
  EXECUTE format('REVOKE TEMPORARY, CREATE ON DATABASE %I FROM PUBLIC', current_database());
  FOR maker IN
    SELECT oid::regprocedure FROM pg_proc
    WHERE pronamespace = 'pg_catalog'::regnamespace
      AND (proname LIKE 'pg%advisory%'
           OR proname IN ('lo_creat', 'lo_create', 'lo_import', 'lo_export', 'lo_from_bytea',
                          'lo_put', 'lowrite', 'lo_open', 'lo_truncate', 'lo_truncate64',
                          'lo_unlink', 'pg_logical_emit_message', 'pg_export_snapshot',
                          'pg_notify', 'txid_current', 'pg_current_xact_id'))
  LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', maker);
  END LOOP;
  -- Connection pools (asyncpg's reset()) give up the advisory locks that a reader cannot have.
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'lockstep_reader') THEN
    GRANT EXECUTE ON FUNCTION pg_advisory_unlock_all() TO lockstep_reader;
  END IF;
EXCEPTION WHEN insufficient_privilege THEN
  RAISE NOTICE 'the reading role is not kept from what fills the server: %', SQLERRM;
END $$;

-- A role may change its own settings and its own password (PostgreSQL, ALTER ROLE), and a session
-- may lift its statement_timeout. The active controller therefore calls this about every ten
-- seconds. Settings are compared before they are written: ALTER ROLE would otherwise leave a dead
-- row in the catalog each time.
CREATE OR REPLACE FUNCTION guard_reader(limit_seconds integer) RETURNS text
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
