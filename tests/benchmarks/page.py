"""bench page: how soon the page shows a chart, what it loads, what a live view of a large fleet
costs the browser, and what watchers cost the controller. Synthetic fleets, a real PostgreSQL and
headless Chromium share the machine.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
sys.path.insert(0, HERE)
import verdict  # noqa: E402
from fleet import BIN, ROOT, Fleet, wait_for  # noqa: E402
from report import stretch  # noqa: E402
from scale import JOB, memory_mib  # noqa: E402

KIB = 1024

# A browser's stand-in: holds COUNT event streams and reads them until it is told to end. Prints
# the bytes and seconds of the first.
WATCH = """
import selectors, socket, sys, time
host, port, path, count = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
ask = f"GET {path} HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n".encode()
poll, first = selectors.DefaultSelector(), None
for _ in range(count):
    stream = socket.create_connection((host, port), timeout=30)
    stream.sendall(ask)
    stream.recv(65536)
    stream.setblocking(False)
    poll.register(stream, selectors.EVENT_READ)
    first = first or stream
poll.register(sys.stdin, selectors.EVENT_READ)
print("open", flush=True)
# Earlier events come first, and do not count among those of each second.
began, got, closed = time.monotonic() + 2, 0, 0
while True:
    for key, _ in poll.select():
        if key.fileobj is sys.stdin:
            print(got, time.monotonic() - began, closed, flush=True)
            sys.exit(0)
        more = key.fileobj.recv(65536)
        if not more:
            closed += 1
            poll.unregister(key.fileobj)
        elif key.fileobj is first and time.monotonic() > began:
            got += len(more)
"""


def synthetic(fleet, count):
    fleet.spawn(
        "synthetic",
        [f"{BIN}/lockstep-worker", "--controller", fleet.address, "--simulate", str(count)],
    )
    fleet.wait_attached(count, 180)


def get(fleet, path):
    """The body, and how long it took."""
    began = time.monotonic()
    with urllib.request.urlopen(fleet.url.rstrip("/") + path, timeout=120) as answer:
        body = answer.read()
    return body, time.monotonic() - began


def browser(fleet, what, path, number):
    base = subprocess.run(
        ["bazel", "info", "output_base"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    modules = os.path.join(base, "external", "web_modules", "node_modules")
    done = subprocess.run(
        ["node", os.path.join(HERE, "page_drive.cjs"), fleet.url, fleet.directory, what, path]
        + [str(number)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NODE_PATH": modules},
    )
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    if done.stderr:
        print(done.stderr, file=sys.stderr)
    return json.loads(done.stdout)


def unsteered(fleet, path, seconds):
    """The tab's memory over time, MiB, in a browser that nobody steers: one that is steered keeps
    what its page was sent.
    """
    profile = os.path.join(fleet.directory, "unsteered")
    words = [os.environ.get("CHROMIUM", "/usr/bin/chromium"), "--headless", "--no-sandbox"]
    words += ["--disable-gpu", f"--user-data-dir={profile}", fleet.url + path]
    chromium = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        sizes = []
        for _ in range(max(1, int(seconds / 5))):
            time.sleep(5)
            found = subprocess.run(
                ["pgrep", "-f", f"type=renderer.*{profile}"],
                capture_output=True,
                text=True,
                check=False,
            ).stdout.split()
            sizes.append(max(anonymous_mib(pid) for pid in found))
        return sizes
    finally:
        chromium.terminate()
        chromium.wait()


def anonymous_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) / KIB for line in status if line.startswith("RssAnon"))


def stored_run(fleet, count, seconds):
    """A run that has ended, stretched to `seconds` where that is more than a few."""
    real = min(seconds, 60)
    done = fleet.lockstep(
        "run", "-", "--format", "json", stdin=JOB.format(count=count, seconds=real), timeout=600
    )
    run = done.json()["run"]["runId"]
    if seconds > real:
        began = time.monotonic()
        stretch(fleet, run, seconds - real)
        # Its series are of the stretched samples, made as those of an older schema's run are.
        fleet.owner_sql(
            "DELETE FROM lockstep.fleet_intervals; DELETE FROM lockstep.host_spans; "
            f"UPDATE lockstep.runs SET saved_report = NULL WHERE run_id = '{run}'",
        )
        print(f"  stretched after {time.monotonic() - began:.0f} s", flush=True)
        fleet.controller.send_signal(signal.SIGTERM)
        fleet.controller.wait(60)
        fleet.start_controller()
        asked = f"SELECT 1 FROM runs WHERE run_id = '{run}' AND saved_report IS NOT NULL"
        began = time.monotonic()
        wait_for("the series", lambda: fleet.sql(asked), 1800)
        print(
            f"  figures and series of its samples after {time.monotonic() - began:.0f} s, "
            f"controller {memory_mib(fleet.controller.pid, 'VmHWM'):.0f} MiB at most",
            flush=True,
        )
    return run


def reports(count, seconds, times, limit):
    """First chart and sizes of a run that has ended."""
    with Fleet(0, http=True) as fleet:
        synthetic(fleet, count)
        print(f"{count} hosts × {seconds} s", flush=True)
        run = stored_run(fleet, count, seconds)
        for path in ("", "/phases/0", "/series?phase=0", "/hosts?phase=0", "/latency?phase=0"):
            body, took = get(fleet, f"/api/runs/{run}{path}")
            print(f"  {path or 'head':<18} {len(body) / KIB:8.1f} KiB {1000 * took:6.0f} ms")
        head = len(get(fleet, f"/api/runs/{run}")[0])
        body, took = get(fleet, f"/api/runs/{run}/export.html")
        print(f"  exported file      {len(body) / KIB:8.1f} KiB {1000 * took:6.0f} ms")
        seen = browser(fleet, "first", f"#/run/{run}", times)
        median = statistics.median(seen["took"]) / 1000
        # On the wire, with the heads of answers: all that had come when the first chart was drawn.
        sizes = seen["bytes"]
        print(
            f"  first chart {median:.2f} s (median of {times}, "
            f"{min(seen['took']) / 1000:.2f} to {max(seen['took']) / 1000:.2f}), "
            f"first load {sizes['first'] / KIB:.1f} KiB: "
            f"{sizes['own'] / KIB:.1f} KiB of the page and the rest answers; "
            f"{sizes['all'] / KIB:.1f} KiB until nothing more comes",
            flush=True,
        )
        targets = [
            (f"{count} hosts × {seconds} s: first chart < {limit} s", median < limit),
            (f"{count} hosts: head < 20 KiB", head < 20 * KIB),
        ]
        # The answers of a large fleet and a long run are as large as their figures.
        if seconds <= 60:
            targets.append((f"{count} hosts: first load <= 60 KiB", sizes["first"] <= 60 * KIB))
        else:
            targets.append((f"{count} hosts: the page <= 60 KiB", sizes["own"] <= 60 * KIB))
        if count == 64:
            targets.append((f"{count} hosts: file < 300 KiB", len(body) < 300 * KIB))
        return targets


def begun(fleet, count, seconds):
    """Starts a run; returns its id and process when its load runs."""
    running = fleet.start_lockstep(
        "run", "-", "--format", "json", stdin=JOB.format(count=count, seconds=seconds)
    )
    threading.Thread(target=running.communicate, daemon=True).start()
    wait_for(
        "the load",
        lambda: fleet.sql("SELECT 1 FROM phases WHERE run_id=last_run() AND state='running'"),
        120,
    )
    return fleet.sql("SELECT last_run()")[0][0], running


def live(count, seconds):
    """Measures the browser's cost of a live view with every host."""
    with Fleet(0, http=True) as fleet:
        synthetic(fleet, count)
        run, _ = begun(fleet, count, seconds + 3600)
        seen = browser(fleet, "live", f"#/run/{run}?hosts=all", seconds)
        frames = seen["frames"]
        longest = max(frames["long"], default=0)
        print(f"{count} hosts, live for {seconds} s: {seen['label']}; {seen['line']}")
        print(f"  opened with a frame of {seen['opening']:.0f} ms; then:")
        print(
            f"  {frames['count']} frames; longest {longest:.0f} ms of work, "
            f"{frames['gap']:.0f} ms between two; {len(frames['long'])} of more than 50 ms"
        )
        for name, took in sorted(frames["scripts"].items(), key=lambda item: -item[1])[:5]:
            print(f"    {took:.0f} ms {name}")
        print(f"  tab {max(seen['memory']):.0f} MiB at most, {seen['memory'][-1]:.0f} at the end")
        every = max(1, len(seen["memory"]) // 10)
        print(
            f"  over time: {' '.join(f'{m:.0f}' for m in seen['memory'][::every])} MiB; "
            f"the script's heap {seen['heap']:.0f} MiB at the end"
        )
        alone = unsteered(fleet, f"#/run/{run}?hosts=all", min(seconds, 240))
        print(f"  a tab that nobody steers: {min(alone):.0f} to {max(alone):.0f} MiB")
        fleet.lockstep("stop", run, "--now")
        return [
            (f"{count} hosts live: frames < 100 ms", longest < 100),
            (f"{count} hosts live: tab < 150 MiB", max(seen["memory"]) < 150),
        ]


def watched_run(fleet, count, seconds, watchers, stopped):
    """A run beside so many watchers; its report's load phase and what was seen during that time."""
    run, running = begun(fleet, count, seconds)
    host, port = fleet.url.split("//")[1].rstrip("/").rsplit(":", 1)
    time.sleep(seconds / 3)
    before = memory_mib(fleet.controller.pid)
    seen = {"rate": 0, "closed": 0, "slow": []}
    tabs = []
    try:
        for number in (watchers, stopped):
            if number == 0:
                continue
            tab = subprocess.Popen(
                [sys.executable, "-c", WATCH, host, port, f"/api/runs/{run}/events", str(number)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            tabs.append(tab)
            assert tab.stdout.readline() == "open\n"
        seen["opened"] = memory_mib(fleet.controller.pid) - before
        if stopped:
            os.kill(tabs[-1].pid, signal.SIGSTOP)
        began = time.monotonic()
        while time.monotonic() - began < seconds / 3:
            for path in ("/", f"/api/runs/{run}", "/api/status", "/api/runs"):
                seen["slow"].append((get(fleet, path)[1], path))
            time.sleep(0.5)
        seen["grown"] = memory_mib(fleet.controller.pid) - before
        if stopped:
            os.kill(tabs[-1].pid, signal.SIGCONT)
        if tabs:
            tabs[0].stdin.write("\n")
            tabs[0].stdin.flush()
            got, span, closed = tabs[0].stdout.readline().split()
            seen["rate"], seen["closed"] = int(got) / float(span), int(closed)
    finally:
        for tab in tabs:
            tab.kill()
            tab.communicate()
    running.wait(300)
    report = fleet.lockstep("report", run, "--format", "json", timeout=300).json()
    seen["phase"] = report["phases"][0]
    seen["lost"] = count * seconds - int(
        fleet.sql(
            "SELECT count(DISTINCT (worker_index, interval)) FROM interval_operations WHERE "
            f"run_id = '{run}'"
        )[0][0]
    )
    return seen


def watched(count, seconds, watchers, stopped):
    """Measures the controller's cost of watchers, and whether the run notices them."""
    with Fleet(0, http=True) as fleet:
        synthetic(fleet, count)
        watched_run(fleet, count, seconds // 2, 1, 0)  # warms up
        alone = watched_run(fleet, count, seconds, 0, 0)
        beside = watched_run(fleet, count, seconds, watchers, stopped)
    grown = (beside["grown"] - alone["grown"]) * KIB / (watchers + stopped)
    opened = beside["opened"] * KIB / (watchers + stopped)
    slowest, path = max(beside["slow"])

    def iops(seen):
        return seen["phase"]["total"]["iops"]

    ratio = iops(beside) / iops(alone)
    print(f"{count} hosts × {seconds} s, {watchers} watchers and {stopped} that are stopped")
    print(
        f"  slowest answer {1000 * slowest:.0f} ms ({path}), without them "
        f"{1000 * max(alone['slow'])[0]:.0f} ms"
    )
    print(
        f"  controller {opened:.0f} KiB a watcher at first, {grown:.0f} KiB a while later "
        f"(beyond the same run's without them)"
    )
    print(f"  {beside['rate'] / KIB:.2f} KiB/s a watcher")
    print(f"  IOPS × {ratio:.4f}; intervals lost: {alone['lost']} and {beside['lost']}", flush=True)
    return [
        ("the page answers in < 200 ms", slowest < 0.2),
        ("< 64 KiB a watcher", max(opened, grown) < 64),
        ("no watcher that reads is cut off", beside["closed"] == 0),
        ("the run's IOPS within 1 %", abs(ratio - 1) < 0.01 and beside["lost"] == 0),
        ("<= 0.5 KiB/s a watcher", beside["rate"] <= 0.5 * KIB),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--live", type=int, default=600, help="seconds of the live view")
    parser.add_argument("--watched", type=int, default=60, help="seconds of the watched runs")
    parser.add_argument("--times", type=int, default=7, help="first charts")
    parser.add_argument("--only", default="", help="reports, live or watchers")
    flags = parser.parse_args()
    targets = []
    if flags.only in ("", "reports"):
        targets += reports(16, 60, flags.times, 0.5)
        targets += reports(64, 60, flags.times, 0.5)
        targets += reports(1000, 3600, flags.times, 1.5)
    if flags.only in ("", "watchers"):
        targets += watched(64, flags.watched, 200, 50)
    if flags.only in ("", "live"):
        targets += live(1000, flags.live)
    return verdict.say("page", targets)


if __name__ == "__main__":
    sys.exit(main())
