"""The directories depend on each other in one direction (docs/design/architecture.md): checked by
bazel query.
"""

import subprocess
import unittest

from fleet import ROOT

# Code that is on the controller's loop, feeds it or stands in front of it.
DECIDING = "//controller/runs/... + //controller/ingest/... + //controller/api/..."

# (from, to): nothing of `from` may depend on anything of `to`.
FORBIDDEN = [
    ("//worker/...", "//controller/..."),
    ("//controller/...", "//worker/..."),
    ("//worker/...", "//storage/..."),
    ("//worker/...", "//web/..."),
    (
        "//common/...",
        "//measure/... + //worker/... + //controller/... + //storage/... + //web/... + //proto/...",
    ),
    ("//doctor/...", "//worker/... + //controller/... + //storage/... + //web/..."),
    # It looks, and does no I/O on targets.
    ("//worker/doctor/...", "//worker/load/... + //worker/targets/... + //worker/link/..."),
    ("//measure/...", "//worker/... + //controller/... + //storage/... + //web/..."),
    ("//proto/...", "//worker/... + //controller/... + //storage/... + //web/..."),
    ("//storage/...", "//worker/... + //controller/... + //web/..."),
    (
        "//web:server",
        "//storage/... + //worker/... + //controller/core/... + //controller/fleet/... + "
        + DECIDING,
    ),
    (
        "//controller/cli/...",
        "//storage/... + //controller/fleet/... + //web:server + " + DECIDING,
    ),
    ("//web:page_export", "//storage/... + //worker/... + //controller/..."),
    (
        "//controller/report/...",
        "//storage/... + //controller/core/... + //controller/fleet/... + " + DECIDING,
    ),
    # Other tools' files become jobs; nothing there knows a fleet.
    (
        "//frontends/...",
        "//worker/... + //controller/... + //storage/... + //web/... + //measure/...",
    ),
    ("//worker/... + //storage/... + //web/... + " + DECIDING, "//frontends/..."),
    # Pure directories: no socket, no SQL, no I/O engine.
    (
        "//measure/... + //controller/core/... + //controller/plan/... + "
        "//controller/analysis/... + //frontends/...",
        "@system//:grpc + @system//:pq + @system//:liburing - //proto/...",
    ),
    (
        "//worker/workload/...",
        "//worker/engine/... + //worker/host/... + @system//:grpc + @system//:liburing",
    ),
    # The code that does the I/O does not know who asked for it.
    (
        "//worker/engine/... + //worker/host/... + //worker/sampler/... + //worker/targets/... + "
        "//worker/verify/... + //worker/load/...",
        "//worker/link/... + //worker/synthetic/...",
    ),
    (
        "//worker/engine/... + //worker/host/... + //worker/sampler/... + //worker/targets/... + "
        "//worker/verify/...",
        "//worker/load/...",
    ),
    ("//worker/engine/... + //worker/host/...", "//worker/targets/... + //worker/verify/..."),
    (
        "//controller/core/...",
        "//proto/... + //storage/... + //controller/fleet/... + " + DECIDING,
    ),
    (
        "//controller/plan/... + //controller/analysis/...",
        "//controller/fleet/... + //storage/... + " + DECIDING,
    ),
    # Calls reach what decides, which gives samples their way; never back.
    ("//controller/ingest/...", "//controller/runs/... + //controller/api/..."),
    ("//controller/runs/...", "//controller/api/... + //controller/daemon/..."),
    ("//controller/api/...", "//controller/daemon/..."),
    # Only storage speaks to PostgreSQL; only the engines and their buffers to io_uring.
    (
        "//worker/... + //common/... + //controller/core/... + //controller/plan/... + "
        "//web/... + " + DECIDING,
        "@system//:pq",
    ),
    ("//controller/... + //storage/... + //common/...", "@system//:liburing"),
]


class Dependencies(unittest.TestCase):
    def query(self, text):
        done = subprocess.run(
            ["bazel", "query", "--noimplicit_deps", text],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_one_direction(self):
        for source, target in FORBIDDEN:
            # Messages carry gRPC's headers with them; what counts is who links it otherwise.
            if "@system//:grpc" in target:
                deps = f"deps({source}) except deps(//proto/...)"
                found = self.query(f"({deps}) intersect ({target.replace(' - //proto/...', '')})")
            else:
                found = self.query(f"deps({source}) intersect ({target})")
            self.assertEqual(
                found,
                [],
                f"{source} depends on {found}: bazel query 'somepath({source}, {target})'",
            )

    def test_the_query_finds_what_is_there(self):
        self.assertIn("@system//:pq", self.query("deps(//storage/...) intersect @system//:pq"))
