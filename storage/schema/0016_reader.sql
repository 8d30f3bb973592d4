-- The reading role's limits that a session cannot lift: who may set something for itself is held by
-- the server's own limits (storage/embedded.cc) and by what is looked for here.

CREATE OR REPLACE FUNCTION guard_reader(limit_seconds integer) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  wanted CONSTANT text[] := ARRAY['default_transaction_read_only=on', 'search_path=lockstep',
    'statement_timeout=10min', 'idle_in_transaction_session_timeout=1min',
    'idle_session_timeout=1h'];
  reader oid := (SELECT oid FROM pg_roles WHERE rolname = 'lockstep_reader');
  setting record;
BEGIN
  IF reader IS NULL THEN
    RETURN;
  END IF;
  IF (SELECT array_agg(c ORDER BY c) FROM pg_db_role_setting s, unnest(s.setconfig) c
      WHERE s.setrole = reader AND s.setdatabase = 0)
     IS DISTINCT FROM (SELECT array_agg(c ORDER BY c) FROM unnest(wanted) c)
     OR EXISTS (SELECT FROM pg_db_role_setting s WHERE s.setrole = reader AND s.setdatabase <> 0)
  THEN
    FOR setting IN
      SELECT d.datname FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
      WHERE s.setrole = reader
    LOOP
      EXECUTE format('ALTER ROLE lockstep_reader IN DATABASE %I RESET ALL', setting.datname);
    END LOOP;
    ALTER ROLE lockstep_reader RESET ALL;
    ALTER ROLE lockstep_reader SET default_transaction_read_only = on;
    ALTER ROLE lockstep_reader SET search_path = lockstep;
    ALTER ROLE lockstep_reader SET statement_timeout = '10min';
    ALTER ROLE lockstep_reader SET idle_in_transaction_session_timeout = '1min';
    ALTER ROLE lockstep_reader SET idle_session_timeout = '1h';
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
