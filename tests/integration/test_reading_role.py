"""The role with which people read the store: what it cannot do, and what it is limited to."""

import os

from fleet import FleetTest


class ReadingRole(FleetTest):
    workers = 0

    def refused(self, query):
        done = self.fleet.lockstep("sql", "-c", query)
        self.assertNotEqual(done.status, 0, f"{query}\n{done}")

    def test_it_makes_nothing_and_locks_nothing(self):
        for query in (
            "CREATE TEMP TABLE x (a int)",
            "SELECT lo_create(0)",
            "SELECT lo_from_bytea(0, 'x')",
            "CREATE TABLE x (a int)",
            "LOCK TABLE lockstep.controller_lock IN EXCLUSIVE MODE",
            "SELECT * FROM lockstep.controller_lock",
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "COPY (SELECT 1) TO PROGRAM 'id'",
        ):
            with self.subTest(query):
                self.refused(query)

    def test_its_own_settings_do_not_last(self):
        # A role may change its own defaults; what the controller gives out, and looks after, is
        # stronger.
        self.fleet.lockstep("sql", "-c", "ALTER ROLE lockstep_reader SET statement_timeout = 0")
        stop_and_start(self)
        self.assertEqual(
            self.fleet.sql(
                "SELECT count(*) FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = "
                "s.setrole WHERE r.rolname = 'lockstep_reader' AND "
                "'statement_timeout=0' = ANY(s.setconfig)"
            )[0][0],
            "0",
        )

    def test_a_statement_cannot_lift_its_memory_limit(self):
        # 1.6 GB, each piece below what PostgreSQL itself refuses.
        hoard = (
            "DO $$ DECLARE a text; b text; c text; d text; BEGIN "
            "a := repeat('x', 400000000); b := repeat('y', 400000000); "
            "c := repeat('z', 400000000); d := repeat('w', 400000000); "
            "RAISE EXCEPTION 'it has % bytes', length(a) + length(b) + length(c) + length(d); "
            "END $$"
        )
        done = self.fleet.lockstep("sql", "-c", f"SET work_mem = '2000GB'; {hoard}")
        self.assertNotEqual(done.status, 0, str(done))
        self.assertIn("out of memory", done.err)
        self.assertEqual(self.fleet.sql("SELECT 1")[0][0], "1")

    def test_its_messages_do_not_fill_the_servers_log(self):
        self.fleet.lockstep("sql", "-c", "ALTER ROLE lockstep_reader SET log_min_messages = log")
        flood = "DO $$ BEGIN FOR i IN 1..1000 LOOP RAISE LOG 'flooded'; END LOOP; END $$"
        done = self.fleet.lockstep(
            "sql", "-c", f"SET debug_print_parse = on; {flood}; SELECT 'as wide as ' || pi()"
        )
        self.assertEqual(done.status, 0, str(done))
        self.refused("SELECT 1 / 0 AS flooded")
        with open(os.path.join(self.fleet.state, "postgres", "postgres.log"), "rb") as log:
            said = log.read()
        self.assertNotIn(b"flooded", said)
        self.assertNotIn(b"as wide as", said)

    def test_a_role_cannot_lift_its_limit_of_temporary_files(self):
        self.assertEqual(self.fleet.sql("SHOW temp_file_limit")[0][0], "1GB")
        self.refused("SET temp_file_limit = -1")
        self.refused("ALTER ROLE lockstep_reader SET temp_file_limit = -1")

    def test_sessions_are_limited(self):
        limit = self.fleet.sql(
            "SELECT rolconnlimit FROM pg_roles WHERE rolname = 'lockstep_reader'"
        )[0][0]
        self.assertEqual(limit, "20")

    def test_a_connection_pool_resets_its_connections(self):
        # As asyncpg does before a connection is used again.
        reset = self.fleet.lockstep(
            "sql", "-c", "SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL"
        )
        self.assertEqual(reset.status, 0, str(reset))

    def test_an_advisory_lock_keeps_no_controller_out(self):
        held = self.fleet.start_lockstep("sql", stdin=None)
        try:
            held.stdin.write(
                "SELECT count(pg_try_advisory_lock(i)) FROM generate_series(0, 5000) "
                "i;\nSELECT 'locked';\n"
            )
            held.stdin.flush()
            for line in held.stdout:
                if "locked" in line:
                    break
            self.fleet.controller.kill()
            self.fleet.controller.wait()
            self.fleet.start_controller()  # waits until it is active
            self.assertEqual(self.fleet.lockstep("status").status, 0)
        finally:
            held.kill()
            held.communicate()


def stop_and_start(test):
    test.fleet.controller.terminate()
    test.fleet.controller.wait(60)
    test.fleet.start_controller()
