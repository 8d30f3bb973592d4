"""The store of a fleet: its embedded PostgreSQL, and questions to it."""

import contextlib
import glob
import io
import os
import pwd
import re
import signal
import subprocess

import psycopg2
from processes import PATIENCE, wait_for


class FleetStore:
    """The part of a Fleet that is about its store."""

    def __init__(self, state):
        self.state = state
        self.paused = []
        self.reader = None

    def postmaster(self):
        """Returns the process id of the embedded PostgreSQL."""
        with open(
            os.path.join(self.state, "postgres", "data", "postmaster.pid"), encoding="ascii"
        ) as text:
            return int(text.readline())

    def pause_postgres(self):
        """Stops the embedded PostgreSQL with all its processes: connections stay open, and nothing
        answers, until resume_postgres().
        """

        def pause(pid):
            os.kill(pid, signal.SIGSTOP)
            self.paused.append(pid)

        pause(self.postmaster())  # it makes no more of them
        with open(
            f"/proc/{self.paused[0]}/task/{self.paused[0]}/children", encoding="ascii"
        ) as text:
            for pid in text.read().split():
                pause(int(pid))

    def resume_postgres(self):
        while self.paused:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.paused.pop(), signal.SIGCONT)

    def sql(self, query):
        """Rows of a query, as lists of text."""
        text = self.copied(query)
        if text is None:
            done = self.lockstep("sql", "--csv", "-c", query)
            if done.status != 0:
                raise AssertionError(str(done))
            text = done.out.partition("\n")[2]
        return [line.split(",") for line in text.splitlines()]

    def copied(self, query):
        """Rows as CSV, over one connection of the reading role; None where it has no answer."""
        for _ in range(2):  # the server may have been restarted since
            try:
                if self.reader is None:
                    self.reader = psycopg2.connect(self.lockstep("sql", "--url").out.strip())
                    self.reader.autocommit = True
                text = io.StringIO()
                with self.reader.cursor() as cursor:
                    cursor.copy_expert(f"COPY ({query.rstrip('; ')}) TO STDOUT CSV", text)
                # COPY writes an empty text as "", psql writes nothing.
                return re.sub(r'(?m)(^|,)""(?=,|$)', r"\1", text.getvalue())
            except psycopg2.Error:
                self.close_reader()
        return None

    def close_reader(self):
        if self.reader is not None:
            self.reader.close()
            self.reader = None

    def owner_psql(self):
        """The words of a psql as the store's owner."""
        psql = sorted(glob.glob("/usr/lib/postgresql/*/bin/psql"))[-1]
        words = [psql, "-h", os.path.join(self.state, "postgres", "run"), "-U", "lockstep"]
        words += ["-v", "ON_ERROR_STOP=1", "-qAt", "-d", "lockstep"]
        owner = pwd.getpwuid(os.stat(os.path.join(self.state, "postgres", "data")).st_uid).pw_name
        if os.geteuid() == 0 and owner != "root":
            words = ["runuser", "-u", owner, "--", *words]
        return words

    def owner_sql(self, text):
        """As the store's owner: the reading role may not. The rows' fields, joined by `|`."""
        done = subprocess.run(
            self.owner_psql(), input=text, text=True, check=True, stdout=subprocess.PIPE
        )
        return done.stdout.splitlines()

    @contextlib.contextmanager
    def locked(self, table):
        """Every other session waits for this table. Yields a function: whether one does so."""
        name = f"lock of {table}"
        with subprocess.Popen(self.owner_psql(), stdin=subprocess.PIPE, text=True) as holder:
            holder.stdin.write(
                f"SET application_name = '{name}'; BEGIN; LOCK TABLE lockstep.{table};\n"
            )
            holder.stdin.flush()
            held = f"l.relation = 'lockstep.{table}'::regclass AND"
            locks = "FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE "
            mine = f"SELECT 1 {locks} {held} a.application_name = '{name}' AND l.granted"
            wait_for(name, lambda: self.owner_sql(mine))
            try:
                yield lambda: self.owner_sql(f"SELECT 1 {locks} {held} NOT l.granted")
            finally:
                holder.stdin.close()  # which ends the transaction

    def await_seconds(self, seconds, name="mix"):
        """Until so many seconds of the phase are stored of every worker that has any."""
        self.await_phase(name)
        counted = (
            "SELECT min(seconds) FROM (SELECT count(DISTINCT interval) AS seconds FROM "
            "interval_operations c JOIN phase_overview p USING (run_id, phase, attempt) WHERE "
            f"run_id = last_run() AND p.name = '{name}' GROUP BY worker_index) AS workers"
        )
        wait_for(
            f"{seconds} seconds of {name}", lambda: int(self.sql(counted)[0][0] or 0) >= seconds
        )

    def await_phase(self, name, state="running", seconds=PATIENCE):
        wait_for(
            f"phase {name} to be {state}",
            lambda: self.sql(
                f"SELECT 1 FROM phases WHERE run_id = last_run() AND name = '{name}' AND "
                f"state = '{state}'"
            ),
            seconds,
        )
