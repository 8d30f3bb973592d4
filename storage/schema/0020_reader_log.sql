-- A reader's messages stay out of the server's log, which has no limit: RAISE LOG and
-- debug_print_parse would fill it. Only a superuser may set this, so that on an external server its
-- administrator does (docs/security.md).

CREATE OR REPLACE FUNCTION guard_reader(limit_seconds integer) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  is_superuser CONSTANT boolean := (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);
  wanted CONSTANT text[] := ARRAY['default_transaction_read_only=on', 'search_path=lockstep',
    'statement_timeout=10min', 'idle_in_transaction_session_timeout=1min',
    'idle_session_timeout=1h'] || CASE WHEN is_superuser THEN ARRAY['log_min_messages=fatal']
                                       ELSE ARRAY[]::text[] END;
  reader oid := (SELECT oid FROM pg_roles WHERE rolname = 'lockstep_reader');
  entry record;
BEGIN
  IF reader IS NULL THEN
    RETURN;
  END IF;
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
  -- On a store of Lockstep's own nobody needs a password to read: one that a reader has set for all
  -- readers goes.
  IF current_setting('lockstep.embedded', true) = 'on'
     AND (SELECT rolpassword IS NOT NULL FROM pg_authid WHERE oid = reader) THEN
    ALTER ROLE lockstep_reader PASSWORD NULL;
  END IF;
  PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE usesysid = reader AND (
      state <> 'idle' AND xact_start < clock_timestamp() - make_interval(secs => limit_seconds)
      -- Cursors WITH HOLD keep their rows on disk for as long as their session lasts.
      OR state = 'idle' AND state_change < clock_timestamp() - interval '1 hour'
      -- Notifications stay on disk while a session that listens does not take them (of 8 GiB).
      OR pg_notification_queue_usage() > 0.005);
EXCEPTION WHEN insufficient_privilege THEN
  RAISE NOTICE 'the role lockstep_reader is not guarded: %', SQLERRM;
END
$$;
REVOKE EXECUTE ON FUNCTION guard_reader(integer) FROM PUBLIC;
SELECT guard_reader(600);
