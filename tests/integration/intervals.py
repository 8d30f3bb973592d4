"""Checks of the intervals that a run has stored."""


def whole(test, fleet, report, seconds):
    """Every interval of every host is stored once, and adds up to the report."""
    rows = fleet.sql(
        "SELECT sum(operations) FROM interval_operations WHERE run_id = last_run() AND "
        "interval_class = 2"
    )
    mix = [p for p in report["phases"] if p["name"] == "mix"][0]
    test.assertEqual(float(rows[0][0]), mix["total"]["operations"])
    hosts = fleet.sql(
        "SELECT count(DISTINCT (worker_index, interval)), count(DISTINCT worker_index) FROM "
        "interval_operations WHERE run_id = last_run() AND interval_class = 2 "
        "AND (phase, attempt) IN (SELECT phase, attempt FROM phase_overview WHERE run_id = "
        "last_run())"
    )
    test.assertEqual(int(hosts[0][0]), seconds * int(hosts[0][1]))
    twice = fleet.sql(
        "SELECT count(*) FROM (SELECT 1 FROM interval_operations WHERE run_id = last_run() "
        "GROUP BY phase, attempt, worker_index, workload, interval, kind HAVING "
        "count(*) > 1) x"
    )
    test.assertEqual(twice, [["0"]])
