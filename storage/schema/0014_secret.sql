-- What only controllers of this store know.

CREATE TABLE store_secret (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  secret text NOT NULL CHECK (secret ~ '^[0-9a-f]{64}$')
);
COMMENT ON TABLE store_secret IS
    'Endorses workers'' keys and signs plans'' tokens; for controllers alone';
COMMENT ON COLUMN store_secret.only_row IS 'always true: there is one row';
COMMENT ON COLUMN store_secret.secret IS '32 bytes in hexadecimal digits';

REVOKE ALL ON store_secret FROM PUBLIC;
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'lockstep_reader') THEN
    REVOKE ALL ON store_secret FROM lockstep_reader;
  END IF;
END
$$;
