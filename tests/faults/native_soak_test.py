"""Native sandboxes come and go in great number, one after the other and all at once, and everything that can be counted
is as it was: processes, mounts, namespaces, cgroups, files, loop devices, descriptors, locks of id ranges, memory.

The short form is part of every run of the tests, the full one of ./dev test full.
"""

import concurrent.futures
import contextlib
import os
import pathlib
import time
import unittest

from live import Daemon, all_pids, descriptors_of, parent_of, stat_of, wait_until

WARM_UP = 20
WORKERS = 16
MIB = 1 << 20
IDS = "/run/atoll/ids"


def rss_of(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"process {pid} tells no VmRSS")


def family_of(ancestors):
    """They and everything below them."""
    parents = {pid: parent_of(pid) for pid in all_pids()}
    family = set(ancestors)
    grown = True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in family} - family
        grown = bool(more)
        family |= more
    return {pid for pid in family if stat_of(pid)}


def marked_with(ids):
    """Processes of our sandboxes, whoever their parent is."""
    found = set()
    for pid in all_pids():
        with contextlib.suppress(OSError):
            for entry in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                name, _, value = entry.partition(b"=")
                if name == b"ATOLL_SANDBOX_ID" and value.decode(errors="replace") in ids:
                    found.add(pid)
    return found


def namespaces_of(pids):
    """Namespaces that they are in, or that they hold open."""
    found = set()
    for pid in pids:
        for directory in (f"/proc/{pid}/ns", f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                for name in os.listdir(directory):
                    with contextlib.suppress(OSError):
                        target = os.readlink(f"{directory}/{name}")
                        if directory.endswith("ns") or target.startswith(("user:[", "net:[", "mnt:[", "pid:[")):
                            found.add(target)
    return found


def locks_of(pids):
    """How many ranges of ids are locked by these processes, or by what they have started."""
    ranges = {entry.inode() for entry in os.scandir(IDS)} if os.path.isdir(IDS) else set()
    held = 0
    for line in pathlib.Path("/proc/locks").read_text().splitlines():
        fields = line.split()
        if "FLOCK" in fields:
            at = fields.index("FLOCK")
            if int(fields[at + 3]) in pids and int(fields[at + 4].split(":")[2]) in ranges:
                held += 1
    return held


def cgroups_of(ids):
    return sum(name in ids for _, directories, _ in os.walk("/sys/fs/cgroup") for name in directories)


class Soak:
    """What both sizes do. Where others are at work beside us, only what is ours is counted."""

    def setUp(self):
        # None are made ahead, so that what is there can be compared exactly.
        self.daemon = Daemon(arguments=("--parked", "0")).start()
        self.addCleanup(self.daemon.end)  # asserts that nothing is left

    def counts(self):
        launchers = self.daemon.launchers()
        pids = family_of([self.daemon.process.pid, *launchers])
        return {
            "processes": len(pids | marked_with(self.daemon.made)),
            "mounts": len(pathlib.Path(f"/proc/{self.daemon.launcher()}/mountinfo").read_text().splitlines()),
            "namespaces": len(namespaces_of(pids)),
            "cgroups": cgroups_of(self.daemon.made),
            "locked id ranges": locks_of(pids),
            "files": sum(len(directories) + len(files) for _, directories, files in os.walk(self.daemon.state)),
            "loop devices": len(list(pathlib.Path("/sys/block").glob("loop*/loop/backing_file"))),
            "descriptors of the daemon": descriptors_of(self.daemon.process.pid),
            "descriptors of the launcher": descriptors_of(self.daemon.launcher()),
        }

    def check_equal(self, before):
        seen = {}

        def equal():
            seen.update(self.counts())
            return seen == before

        try:
            wait_until(equal, "all counts are as before")
        except AssertionError:
            self.assertEqual(seen, before)

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
        before = self.counts()
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
            before = self.counts()

            self.live_together(pool, self.concurrent)

            self.check_equal(before)

    def live_together(self, pool, number):
        def begin(_):
            box = self.daemon.create(driver="native")
            return box, self.daemon.exec(box, "sh", "-c", "sleep 100 & hostname")

        begun = time.monotonic()
        living = list(pool.map(begin, range(number)))
        self.assertEqual(len({box for box, _ in living}), number)
        for _, done in living:
            self.assertEqual((done["exit_code"], done["stdout"]), (0, "sandbox\n"))
        # All at once means all at once: an agent, a range of ids and cgroups each.
        launchers = self.daemon.launchers()
        self.assertEqual(locks_of(family_of(launchers)), number)
        self.assertGreaterEqual(len(family_of(launchers)), 2 * number)
        print(f"{number} at once after {time.monotonic() - begun:.0f} s; resident bytes {self.memory()}", flush=True)

        ends = pool.map(lambda box: self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, [box for box, _ in living])
        self.assertEqual(set(ends), {204})


@unittest.skipUnless(os.geteuid() == 0, "the native driver needs root")
class ShortSoak(Soak, unittest.TestCase):
    sequential, concurrent, weighed = 200, 50, ()


@unittest.skipUnless(os.geteuid() == 0, "the native driver needs root")
class FullSoak(Soak, unittest.TestCase):
    sequential, concurrent, weighed = 10_000, 500, (2_000, 10_000)


if __name__ == "__main__":
    unittest.main()
