-- The reading role takes no advisory locks, and may give up the none that it has: connection pools
-- (asyncpg's reset()) do so before a connection is used again.

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'lockstep_reader') THEN
    GRANT EXECUTE ON FUNCTION pg_advisory_unlock_all() TO lockstep_reader;
  END IF;
EXCEPTION WHEN insufficient_privilege THEN
  RAISE NOTICE 'pg_advisory_unlock_all() is not granted to the reading role: %', SQLERRM;
END $$;
