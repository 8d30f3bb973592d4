-- Who asked for a change, or for what the role forbids, and the answer.

CREATE TABLE audit_log (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL,
  principal text NOT NULL,
  role text NOT NULL,
  peer text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  answer text NOT NULL,
  details text NOT NULL
);
CREATE INDEX audit_log_at ON audit_log (at);

COMMENT ON TABLE audit_log IS
    'Who changed what, when, from where, with which answer; appended only, kept for 400 days';
COMMENT ON COLUMN audit_log.id IS 'ascending in the order of the answers';
COMMENT ON COLUMN audit_log.at IS 'when the call was answered, by the controller''s clock';
COMMENT ON COLUMN audit_log.principal IS 'the name in the caller''s certificate; local without one';
COMMENT ON COLUMN audit_log.role IS 'the caller''s role: viewer, submitter, worker, admin';
COMMENT ON COLUMN audit_log.peer IS 'the address from which the call came';
COMMENT ON COLUMN audit_log.action IS
    'submit, stop, label, prune, forget, import; for a call that the role forbids, its name';
COMMENT ON COLUMN audit_log.subject IS 'a run''s id, a host, a job''s name';
COMMENT ON COLUMN audit_log.answer IS 'OK, or the name of gRPC''s status';
COMMENT ON COLUMN audit_log.details IS 'what the caller said, and why it was refused';

CREATE FUNCTION keep_audit_log() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND OLD.at < now() - interval '400 days' THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'the audit log is appended to, and nothing else';
END
$$;
COMMENT ON FUNCTION keep_audit_log() IS
    'Refuses every change of the log but new entries and the removal of expired ones';
REVOKE EXECUTE ON FUNCTION keep_audit_log() FROM PUBLIC;
CREATE TRIGGER keep_audit_log BEFORE UPDATE OR DELETE ON audit_log
  FOR EACH ROW EXECUTE FUNCTION keep_audit_log();
CREATE TRIGGER keep_audit_log_whole BEFORE TRUNCATE ON audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION keep_audit_log();

REVOKE ALL ON audit_log FROM PUBLIC;
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'lockstep_reader') THEN
    REVOKE ALL ON audit_log FROM lockstep_reader;
  END IF;
END
$$;
