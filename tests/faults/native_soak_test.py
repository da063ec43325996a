"""Native sandboxes come and go in great number, one after the other and all at once, and everything that can be counted
is as it was: processes, mounts, namespaces, cgroups, files, loop devices, descriptors, locks of id ranges, memory.

The short form is part of every run of the tests, the full one of ./dev test full.
"""

import concurrent.futures
import os
import pathlib
import time
import unittest

from counting import cgroups_of, family_of, locks_of, marked_with, namespaces_of, networks_held_by, rss_of
from live import Daemon, descriptors_of, wait_until
from memory_group import MemoryGroup

WARM_UP = 20
WORKERS = 16
# What the launcher keeps of them (kMostKept of clean_networks.cc), and its own.
MOST_NETWORKS = 32 + 1
MOST_SPARE = 32
MIB = 1 << 20


class Soak:
    """What both sizes do. Where others are at work beside us, only what is ours is counted."""

    parked = 0  # as many are made ahead: none or a number, so that what is there can be compared exactly

    def setUp(self):
        self.daemon = Daemon(arguments=("--parked", str(self.parked))).start()
        self.addCleanup(self.daemon.end)  # asserts that nothing is left

    def counts(self):
        launchers = self.daemon.launchers()
        pids = family_of([self.daemon.process.pid, *launchers])
        # Network namespaces that nobody used wait for the next sandbox: some, and never more than a shelf of them.
        waiting = networks_held_by(self.daemon.launcher())
        return {
            "processes": len(pids | marked_with(self.daemon.made)),
            "mounts": len(pathlib.Path(f"/proc/{self.daemon.launcher()}/mountinfo").read_text().splitlines()),
            "namespaces": len(namespaces_of(pids) - set(waiting)),
            "cgroups": cgroups_of(self.daemon.made),
            "locked id ranges": locks_of(pids),
            "files": sum(len(directories) + len(files) for _, directories, files in os.walk(self.daemon.state)) - self.spare(),
            "loop devices": len(list(pathlib.Path("/sys/block").glob("loop*/loop/backing_file"))),
            "descriptors of the daemon": descriptors_of(self.daemon.process.pid),
            "descriptors of the launcher": descriptors_of(self.daemon.launcher()) - len(waiting),
        }

    def spare(self):
        """What is kept of sandboxes that have ended, for the next: their directories, each with a record, and its place."""
        place = pathlib.Path(self.daemon.state, "run", "spare")
        if not place.exists():
            return 0
        kept = list(place.rglob("*"))
        self.assertLessEqual(len(kept), 2 * MOST_SPARE)
        return len(kept) + 1

    def resting(self):
        """The counts once those that are made ahead are there, and nobody else."""
        boxes = pathlib.Path(self.daemon.state, "run", "box")
        wait_until(lambda: len(list(boxes.glob("*/record"))) == len(list(boxes.iterdir())) == self.parked, "the shelf is full", 60)
        return self.counts()

    def check_equal(self, before):
        seen = {}

        def equal():
            seen.update(self.counts())
            return seen == before

        try:
            wait_until(equal, "all counts are as before")
        except AssertionError:
            self.assertEqual(seen, before)
        self.assertLessEqual(len(networks_held_by(self.daemon.launcher())), MOST_NETWORKS + self.parked)

    def memory(self):
        return {"daemon": rss_of(self.daemon.process.pid), "launcher": rss_of(self.daemon.launcher())}

    def once(self, number):
        """One life, in one of the shapes that lives have."""
        if number % 4 == 0:
            answer = self.daemon.call("POST", "/v1/runs", {"sandbox": {"driver": "native"}, "exec": {"argv": ["true"]}})
            self.assertEqual((answer.status, answer.json.get("exit_code")), (200, 0), answer)
            return
        box = self.daemon.create(driver="native")
        if number % 4 == 1:
            done = self.daemon.exec(box, "sh", "-c", "echo x > file; mkdir -p /tmp/a/b; sleep 100 & setsid sleep 100 &")
            self.assertEqual(done["exit_code"], 0, done)
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)

    def test_one_after_the_other(self):
        for number in range(WARM_UP):
            self.once(number)
        before = self.resting()
        memory = {}

        begun = time.monotonic()
        for number in range(1, self.sequential + 1):
            self.once(number)
            if number in self.weighed:
                memory[number] = self.memory()
        seconds = time.monotonic() - begun

        print(f"{self.sequential} sandboxes in {seconds:.0f} s; {before}; resident bytes {memory}", flush=True)
        self.check_equal(before)
        for first, last in zip(self.weighed, self.weighed[1:]):
            for who in ("daemon", "launcher"):
                self.assertLessEqual(memory[last][who] - memory[first][who], MIB, f"{who} has grown: {memory}")

    def test_all_at_once(self):
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            self.live_together(pool, WORKERS)
            before = self.resting()

            self.live_together(pool, self.concurrent)

            self.check_equal(before)

    def live_together(self, pool, number):
        def begin(_):
            box = self.daemon.create(driver="native")
            return box, self.daemon.exec(box, "sh", "-c", "sleep 1000 & hostname")

        begun = time.monotonic()
        living = list(pool.map(begin, range(number)))
        self.assertEqual(len({box for box, _ in living}), number)
        for _, done in living:
            self.assertEqual((done["exit_code"], done["stdout"]), (0, "sandbox\n"))
        # All at once means all at once: an agent, a range of ids and cgroups each.
        launchers = self.daemon.launchers()
        self.assertIn(locks_of(family_of(launchers)), range(number, number + self.parked + 1))
        self.assertGreaterEqual(len(family_of(launchers)), 2 * number)
        print(f"{number} at once after {time.monotonic() - begun:.0f} s; resident bytes {self.memory()}", flush=True)

        ends = pool.map(lambda box: self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, [box for box, _ in living])
        self.assertEqual(set(ends), {204})


@unittest.skipUnless(os.geteuid() == 0, "the native driver needs root")
class ShortSoak(Soak, unittest.TestCase):
    sequential, concurrent, weighed = 200, 50, ()


@unittest.skipUnless(os.geteuid() == 0, "the native driver needs root")
class ParkedSoak(Soak, unittest.TestCase):
    """What was made ahead is taken and made again all the time, and in the end there is as much as before."""
    sequential, concurrent, weighed, parked = 200, 50, (), 4  # a shelf begins with as many


@unittest.skipUnless(os.geteuid() == 0, "the native driver needs root")
class FullSoak(Soak, unittest.TestCase):
    sequential, concurrent, weighed = 10_000, 500, (2_000, 10_000)


@unittest.skipUnless(os.geteuid() == 0, "the native driver needs root")
class FullCrowd(Soak, unittest.TestCase):
    """A thousand that live at once, each in use, and what they take of the machine's memory, the kernel's part included."""
    sequential, concurrent, weighed = 200, 1_000, ()
    most_each = MIB  # of one that is idle: SPECIFICATION.md

    def setUp(self):
        self.group = MemoryGroup()
        self.addCleanup(self.group.remove)
        if not self.group and os.environ.get("ATOLL_MUST_RUN") == "1":
            self.fail(self.group.reason)
        with self.group.inside():
            super().setUp()

    def hostnames(self, pool, boxes):
        return {(done["exit_code"], done["stdout"]) for done in pool.map(lambda box: self.daemon.exec(box, "hostname"), boxes)}

    def test_a_thousand_that_are_idle_and_then_in_use_again(self):
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            self.live_together(pool, WORKERS)
            before, bytes_before = self.resting(), self.group.used()

            boxes = list(pool.map(lambda _: self.daemon.create(driver="native"), range(self.concurrent)))
            self.assertEqual(self.hostnames(pool, boxes), {(0, "sandbox\n")})
            self.assertEqual(locks_of(family_of(self.daemon.launchers())), self.concurrent)

            def each():
                return (self.group.used() - bytes_before) / self.concurrent

            if self.group:
                try:  # what a sandbox keeps ready for its next command goes when none comes
                    wait_until(lambda: each() <= self.most_each, f"each takes {self.most_each >> 10} KiB at most", 60)
                finally:
                    print(f"figure: each of {self.concurrent} sandboxes that live at once takes {each() / 1024:.0f} KiB", flush=True)
            else:
                print(f"not tried, memory: {self.group.reason}", flush=True)
            self.assertEqual(self.hostnames(pool, boxes), {(0, "sandbox\n")})

            ends = pool.map(lambda box: self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, boxes)
            self.assertEqual(set(ends), {204})
            self.check_equal(before)


if __name__ == "__main__":
    unittest.main()
