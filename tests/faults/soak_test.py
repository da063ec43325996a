"""A daemon under mixed load stays flat: descriptors, memory, threads, processes, mounts, cgroups, files and rows.

Every few seconds the clients are held still, the daemon clears away what it has to, and everything is counted. Over the
steady part a line is laid through each count (Theil and Sen: the median of the slopes between all pairs of samples), with
its 95 % interval. A count passes if the interval holds 0, or if what it leads to stays within the stated allowance.

    ./dev test soak [MINUTES]     the long form
    ./dev test full               the short one among others

The samples are in build/soak as JSON.
"""

import contextlib
import json
import math
import os
import pathlib
import shutil
import sqlite3
import statistics
import tempfile
import time
import unittest

from counting import cgroups_of, family_of, private_of, pss_of, rss_of, threads_of
from live import Daemon, descriptors_of, wait_until
from soak_load import Load

SEED = 20261116
CLIENTS = 5
MIB = 1 << 20
EVENTS_KEPT = 20_000  # of the daemon's own memory; full before the steady part begins
HISTORY = 300         # ended sandboxes that the store remembers
PRUNED_EVERY_S = 60 + 30 + 10  # once a minute, by a sweeper that wakes every 30 s, and a little
RESULTS = pathlib.Path(__file__).resolve().parents[2] / "build" / "soak"

# By how much a count may grow in an hour and still be called flat: nothing, but for memory, where an allocator that is
# asked for blocks of all sizes goes on finding new holes for a while.
ALLOWED_PER_HOUR = {"daemon rss": 4 * MIB, "daemon private": 4 * MIB, "launcher rss": MIB / 2, "launcher private": MIB / 2}
# What a page counts for here depends on how many others on the host run the same program just now.
NOT_JUDGED = {"daemon pss", "launcher pss"}
MOST_ENDED_PER_THING = 8  # a batch has eight runs
# What the store keeps by design has a bound of its own: see check_rows.
KEPT_BY_DESIGN = {"rows sandbox", "rows intent", "rows idempotency", "database bytes", "journal bytes"}


def slope_of(times, values):
    """The median slope and its 95 % interval, per second."""
    slopes = sorted((b - a) / (t - s) for i, (s, a) in enumerate(zip(times, values)) for t, b in list(zip(times, values))[i + 1:])
    n = len(times)
    spread = 1.96 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = max(0, int((len(slopes) - spread) / 2))
    high = min(len(slopes) - 1, int((len(slopes) + spread) / 2) + 1)
    return statistics.median(slopes), slopes[low], slopes[high]


def rows_of(state):
    """Rows by table, from a copy of the store: the daemon holds it for itself."""
    with tempfile.TemporaryDirectory() as directory:
        for name in ("atoll.db", "atoll.db-wal"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copy(os.path.join(state, name), os.path.join(directory, name))
        with contextlib.closing(sqlite3.connect(os.path.join(directory, "atoll.db"))) as store:
            assert store.execute("PRAGMA quick_check").fetchone() == ("ok",)
            tables = [name for name, in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {name: store.execute(f"SELECT count(*) FROM \"{name}\"").fetchone()[0] for name in tables
                    if not name.startswith("sqlite_")}


def size_of(path):
    with contextlib.suppress(FileNotFoundError):
        return os.path.getsize(path)
    return 0


class Soak:
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="atoll-soak-")
        self.addCleanup(self.temporary.cleanup)
        os.chmod(self.temporary.name, 0o1777)
        self.daemon = Daemon(arguments=("--parked", "4", "--rate", "0", "--history", str(HISTORY)))
        self.daemon.start(env={"TMPDIR": self.temporary.name})
        self.addCleanup(self.daemon.end)  # asserts that nothing is left
        self.samples, self.known, self.last_event = [], set(), "0"

    # Counting.

    def counts(self):
        daemon, launcher = self.daemon.process.pid, self.daemon.launcher()
        family = family_of([daemon, *self.daemon.launchers()])
        return {
            "daemon descriptors": descriptors_of(daemon),
            "daemon threads": threads_of(daemon),
            "launcher descriptors": descriptors_of(launcher),
            "launcher threads": threads_of(launcher),
            "processes": len(family),
            "mounts": len(pathlib.Path(f"/proc/{launcher}/mountinfo").read_text().splitlines()),
            "cgroups": cgroups_of(self.known),
            "files of the state": sum(len(directories) + len(files) for _, directories, files in os.walk(self.daemon.state)),
            "temporary files": len(os.listdir(self.temporary.name)),
        }

    def weights(self):
        daemon, launcher = self.daemon.process.pid, self.daemon.launcher()
        return {
            "daemon rss": rss_of(daemon), "daemon pss": pss_of(daemon), "daemon private": private_of(daemon),
            "launcher rss": rss_of(launcher), "launcher pss": pss_of(launcher), "launcher private": private_of(launcher),
            "database bytes": size_of(os.path.join(self.daemon.state, "atoll.db")),
            "journal bytes": size_of(os.path.join(self.daemon.state, "atoll.db-wal")),
        }

    def no_box_is_left(self):
        return self.daemon.call("GET", "/v1/sandboxes?limit=1").json["sandboxes"] == []

    def settled_counts(self):
        """The same at three looks: whoever was cleared away is gone, and what is made ahead has been made."""
        wait_until(self.no_box_is_left, "every sandbox has ended", seconds=60)
        looks = []

        def settled():
            self.learn()
            looks.append(self.counts())
            time.sleep(0.1)  # between two looks
            return len(looks) > 2 and looks[-1] == looks[-2] == looks[-3]

        wait_until(settled, "the counts are settled", seconds=60)
        return looks[-1]

    def sample(self, load, begun):
        with load.held():
            taken = {**self.settled_counts(), **self.weights()}
            taken.update({f"rows {name}": number for name, number in rows_of(self.daemon.state).items()})
        self.samples.append({"at": time.monotonic() - begun, "done": sum(load.done.values()), **taken})

    # The course of it.

    def learn(self):
        """Whose cgroups are ours: every sandbox that events tell of, and those that wait to be taken."""
        while True:
            page = self.daemon.call("GET", "/v1/events?limit=1000&after=" + self.last_event).json
            if not page["events"]:
                break
            self.last_event = page["last"]
            self.known |= {event["sandbox"] for event in page["events"] if "sandbox" in event}
        self.known |= set(os.listdir(os.path.join(self.daemon.state, "run", "box")))

    def fill_up(self):
        """Until the daemon forgets events as fast as it learns them."""
        while int(self.last_event.rpartition("-")[2]) <= EVENTS_KEPT:
            answer = self.daemon.call("POST", "/v1/runs:batch", {
                "concurrency": 16, "sandbox": {"driver": "local"}, "runs": [{"argv": ["true"]}] * 500}, timeout=300)
            self.assertEqual(answer.status, 200, answer)
            self.learn()

    def test_everything_stays_flat(self):
        self.fill_up()
        load = Load(self.daemon, CLIENTS, SEED)
        begun = time.monotonic()
        try:
            pause = max(5.0, self.seconds / 200)
            while not load.failures and time.monotonic() - begun < self.warm_up_seconds + self.seconds:
                time.sleep(pause)  # they work
                self.sample(load, begun)
        finally:
            load.end()
            self.write(load)
        self.assertEqual(load.failures, [], "\n".join(load.failures[:3]))
        steady = [sample for sample in self.samples if sample["at"] >= self.warm_up_seconds]
        self.check_rows(load, steady)
        self.check_slopes(steady)

    def write(self, load):
        RESULTS.mkdir(parents=True, exist_ok=True)
        path = RESULTS / f"{type(self).__name__}.json"
        path.write_text(json.dumps({"seed": SEED, "clients": CLIENTS, "warm_up_s": self.warm_up_seconds,
                                    "done": load.done, "samples": self.samples}, indent=1))
        print(f"{sum(load.done.values())} things done by {CLIENTS} clients: {dict(load.done)}\nsamples: {path}", flush=True)

    def check_slopes(self, steady):
        times = [sample["at"] for sample in steady]
        self.assertGreaterEqual(len(times), 8, "too few samples to lay a line through")
        print(f"\n{len(times)} samples over {times[-1] - times[0]:.0f} s; what a day would add, with its 95 % interval")
        grown = []
        for name in steady[0]:
            if name in ("at", "done"):
                continue
            values = [sample[name] for sample in steady]
            slope, low, high = slope_of(times, values)
            allowed = ALLOWED_PER_HOUR.get(name, 0) / 3600
            if name in KEPT_BY_DESIGN:
                verdict = "bounded by design"
            elif name in NOT_JUDGED:
                verdict = "not judged"
            elif low <= allowed:
                verdict = "flat"
            else:
                verdict = "GROWS"
                grown.append(name)
            print(f"  {name:<22} {values[0]:>11} → {values[-1]:>11}   {slope * 86400:>14,.0f} "
                  f"({low * 86400:,.0f} … {high * 86400:,.0f})  {verdict}")
        self.assertEqual(grown, [], "these grow")

    def check_rows(self, load, steady):
        """Ended sandboxes: no more than are remembered, and what has ended since the store was pruned last. Keys of
        creates that were sent twice: one for each, for a day."""
        for sample in steady:
            since = next((s["done"] for s in reversed(self.samples) if s["at"] <= sample["at"] - PRUNED_EVERY_S), 0)
            most = HISTORY + MOST_ENDED_PER_THING * (sample["done"] - since)
            self.assertLessEqual(sample["rows sandbox"], most, f"of {sample['done'] - since} things done since it was pruned")
            self.assertLessEqual(sample["rows intent"], 6 * most)
        self.assertEqual(steady[-1]["rows idempotency"], load.done["repeat_a_create"])


@unittest.skipUnless(os.geteuid() == 0, "the native driver needs root")
class ShortSoak(Soak, unittest.TestCase):
    warm_up_seconds, seconds = 30, 75


@unittest.skipUnless(os.geteuid() == 0, "the native driver needs root")
class LongSoak(Soak, unittest.TestCase):
    """As many minutes as ATOLL_SOAK_MINUTES says, a fifth of them to warm up."""

    minutes = float(os.environ.get("ATOLL_SOAK_MINUTES", "10"))
    warm_up_seconds, seconds = minutes * 12, minutes * 48


if __name__ == "__main__":
    unittest.main()
