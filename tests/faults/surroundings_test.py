"""What is around the daemon misbehaves: the clock is set, there are no more processes to be
had, somebody holds what is to be removed. Each prints what came of it."""

import calendar
import contextlib
import os
import pathlib
import signal
import subprocess
import time
import unittest

from live import Daemon, all_pids, is_alive, told_of, wait_until
from standstill import agent_of

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
SHIFTS = {"+1 h": "+3600", "-1 h": "-3600", "+1 day": "+86400", "-1 day": "-86400"}
CLEARED_WITHIN = 20  # seconds


class Clock(unittest.TestCase):
    """The wall's clock is set, of the daemon alone; lives are measured by another one."""

    def setUp(self):
        if not os.path.exists(FAKETIME):
            raise AssertionError("faketime is not installed: ./dev setup test")
        self.daemon = Daemon()
        self.shift = os.path.join(self.daemon.directory, "shift")
        self.set("+0")
        os.chmod(self.shift, 0o644)
        self.start()
        self.addCleanup(self.daemon.end, "27, after clocks that were set and daemons that were killed")  # asserts that nothing is left

    def start(self):
        self.daemon.start(env={"LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": self.shift, "FAKETIME_NO_CACHE": "1",
                               "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_RESET": "1"})

    def set(self, shift):
        pathlib.Path(self.shift).write_text(shift + "\n")

    def test_nobody_ends_too_early_or_too_late_when_the_clock_is_set(self):
        stays = self.daemon.create(driver="native", ttl_s=600)
        idles = self.daemon.create(driver="native", ttl_s=600, idle_s=300)
        wrong = 0
        for name, shift in SHIFTS.items():
            with self.subTest(shift=name):
                self.set(shift)
                short = self.daemon.create(driver="native", ttl_s=3)
                begun = time.monotonic()
                told = self.daemon.call("GET", f"/v1/sandboxes/{short}").json
                made = calendar.timegm(time.strptime(told["created_at"][:19], "%Y-%m-%dT%H:%M:%S"))
                self.assertLess(abs(made - (time.time() + int(shift))), 60, "the daemon's clock was not set")
                wait_until(lambda: self.daemon.call("GET", f"/v1/sandboxes/{short}").json.get("state") != "running",  # noqa: B023
                           "the short one ends", 20)
                lived = time.monotonic() - begun
                self.assertGreater(lived, 2, "it has ended too early")
                # The next one finds the clock set since, and what it reads was written by another.
                self.daemon.kill()
                self.start()
                self.assertEqual(self.daemon.exec(idles, "echo", "fine")["stdout"], "fine\n")
                for box in (stays, idles):
                    state = self.daemon.call("GET", f"/v1/sandboxes/{box}").json["state"]
                    wrong += state != "running"
                    self.assertEqual(state, "running", box)
        self.set("+0")
        self.assertEqual(self.daemon.exec(stays, "echo", "fine")["stdout"], "fine\n")
        print(f"figure: 27, clock set by {', '.join(SHIFTS)}: kill -9 and a start after each; wrong ends {wrong}", flush=True)

    def test_sessions_and_keys_last_as_long_when_the_clock_is_set_and_the_daemon_starts_again(self):
        keyed = {"Idempotency-Key": "once"}
        held = self.daemon.call("POST", "/v1/sessions", {"scope": "workspace", "key": "web", "ttl_s": 300})
        self.assertEqual(held.status, 201, held)
        box = held.json["sandbox"]
        first = self.daemon.call("POST", "/v1/sandboxes", {"driver": "native", "ttl_s": 600}, keyed)
        self.assertEqual(first.status, 201, first)
        self.daemon.made |= {box, first.json["id"]}
        short = self.daemon.call("POST", "/v1/sessions", {"scope": "workspace", "key": "short", "ttl_s": 5}).json
        self.daemon.made.add(short["sandbox"])
        begun = time.monotonic()
        wrong = twice = 0
        for name, shift in {**SHIFTS, "+3 days": "+259200"}.items():
            with self.subTest(shift=name):
                self.set(shift)
                again = self.daemon.call("POST", "/v1/sandboxes", {"driver": "native", "ttl_s": 600}, keyed)
                self.daemon.made.add(again.json.get("id"))
                self.daemon.kill()
                self.start()
                after = self.daemon.call("POST", "/v1/sandboxes", {"driver": "native", "ttl_s": 600}, keyed)
                self.daemon.made.add(after.json.get("id"))
                twice += sum(answer.json.get("id") != first.json["id"] for answer in (again, after))
                self.assertEqual([again.json.get("id"), after.json.get("id")], [first.json["id"]] * 2)
                told = self.daemon.call("GET", f"/v1/sessions/{held.json['id']}")
                wrong += told.status != 200
                self.assertEqual(told.status, 200, told)
                self.assertEqual(self.daemon.exec(box, "echo", "fine")["stdout"], "fine\n")
        self.set("-86400")
        self.daemon.kill()
        self.start()
        wait_until(lambda: self.daemon.call("GET", f"/v1/sessions/{short['id']}").status == 404, "the short one is over", 40)
        ended = time.monotonic() - begun
        wait_until(lambda: self.daemon.call("GET", f"/v1/sandboxes/{short['sandbox']}").status == 404, "and nobody holds its sandbox", 40)
        print(f"figure: 27, clock set and the daemon killed, {len(SHIFTS) + 1} times: sessions lost {wrong}, keys that made another {twice}; one of 5 s"
              f" was over after at most {ended:.0f} s", flush=True)


class Shortage(unittest.TestCase):
    def test_without_processes_a_create_is_refused_and_soon_served_again(self):
        daemon = Daemon().start()
        self.addCleanup(daemon.end, "16, after a lack of processes")  # asserts that nothing is left
        first = daemon.create(driver="native", ttl_s=600)
        group = pathlib.Path(f"/sys/fs/cgroup/pids/atoll-shortage-{os.getpid()}")
        if not pathlib.Path("/sys/fs/cgroup/pids").is_dir():
            group = pathlib.Path(f"/sys/fs/cgroup/atoll-shortage-{os.getpid()}")
        group.mkdir()
        self.addCleanup(group.rmdir)
        launcher = daemon.launcher()
        home = [line.split(":", 2) for line in pathlib.Path(f"/proc/{launcher}/cgroup").read_text().splitlines()]
        place = next(path for _, controllers, path in home if "pids" in controllers.split(",") or controllers == "")
        (group / "pids.max").write_text("1")
        (group / "cgroup.procs").write_text(str(launcher))
        try:
            refused, made = None, []
            # What was made ahead still serves.
            for _ in range(200):
                answer = daemon.call("POST", "/v1/sandboxes", {"driver": "native", "ttl_s": 600})
                if answer.status != 201:
                    refused = answer
                    break
                made.append(answer.json["id"])
                daemon.made.add(made[-1])
            self.assertIsNotNone(refused, "it was never refused")
            # The host has none left: that is no quota of whoever asks, and passes.
            self.assertEqual((refused.status, refused.json["code"]), (503, "unavailable"), refused)
            self.assertIn("this host has no process left", refused.json["detail"])
            self.assertTrue(refused.json["retryable"])
            self.assertGreaterEqual(int(refused.headers["Retry-After"]), 1)
            self.assertEqual(daemon.exec(first, "echo", "fine")["stdout"], "fine\n")
        finally:
            (group / "pids.max").write_text("max")
        begun = time.monotonic()
        box = wait_until(lambda: self.try_create(daemon), "creates work again", 30)
        self.assertEqual(daemon.exec(box, "echo", "fine")["stdout"], "fine\n")
        print(f"figure: 16, no processes: {len(made)} served from what was there, then {refused.status} ({refused.json['code']}); served again after"
              f" {(time.monotonic() - begun) * 1000:.0f} ms", flush=True)
        # Everybody out, so that the group can go.
        top = group.parent / place.lstrip("/")
        wait_until(lambda: self.leave(group, top), "the group is empty", 10)

    @staticmethod
    def leave(group, top):
        for pid in (group / "cgroup.procs").read_text().split():
            try:
                (top / "cgroup.procs").write_text(pid)
            except OSError:
                pass
        return not (group / "cgroup.procs").read_text().split()

    @staticmethod
    def try_create(daemon):
        answer = daemon.call("POST", "/v1/sandboxes", {"driver": "native", "ttl_s": 600})
        if answer.status == 201:
            daemon.made.add(answer.json["id"])
            return answer.json["id"]
        return None


class Held(unittest.TestCase):
    def test_what_somebody_holds_open_goes_all_the_same(self):
        daemon = Daemon().start()
        self.addCleanup(daemon.end, "29, after what was held")  # asserts that nothing is left
        for paused in (False, True):
            with self.subTest(paused=paused):
                box = daemon.create(driver="native", ttl_s=600)
                daemon.exec(box, "sh", "-c", "mkdir deep; echo x > deep/file")
                root = f"/proc/{agent_of(box)}/root/workspace/deep"
                directory, file = os.open(root, os.O_RDONLY | os.O_DIRECTORY), os.open(f"{root}/file", os.O_RDWR)
                stands = subprocess.Popen(["sleep", "600"], cwd=f"/proc/self/fd/{directory}", pass_fds=[directory])
                groups = [os.open(path, os.O_RDONLY) for path in self.groups(box)]
                self.assertTrue(groups)
                if paused:
                    self.assertEqual(daemon.call("POST", f"/v1/sandboxes/{box}/pause").status, 200)
                begun = time.monotonic()
                self.assertEqual(daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
                taken, at_once = time.monotonic() - begun, self.residue(box)
                with contextlib.suppress(AssertionError):  # what is left is told first
                    wait_until(lambda: not any(self.residue(box).values()), "nothing of it is left", CLEARED_WITHIN)  # noqa: B023
                cleared, left = time.monotonic() - begun, self.residue(box)
                is_unharmed = is_alive(stands.pid)
                for fd in (directory, file, *groups):
                    os.close(fd)
                stands.kill()
                stands.wait()
                print(f"figure: 29, held by a descriptor, a directory and groups{', paused' if paused else ''}: deleted in {taken * 1000:.0f} ms;"
                      f" residue then {self.told(at_once)}, after {cleared * 1000:.0f} ms of at most {CLEARED_WITHIN} s {self.told(left)}", flush=True)
                self.assertEqual(left, {"processes": [], "mounts": [], "groups": []})
                self.assertTrue(is_unharmed, "who only stood in it is nobody's to kill")

    @classmethod
    def residue(cls, box):
        """What there is of it on this host, held or not."""
        return {"processes": [pid for pid in all_pids() if is_alive(pid) and cls.is_of(pid, box)],
                "mounts": [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if box in line],
                "groups": cls.groups(box)}

    @staticmethod
    def is_of(pid, box):
        with contextlib.suppress(OSError):
            return box in told_of(pid, "cgroup") or f"ATOLL_SANDBOX_ID={box}" in told_of(pid, "environ").split("\0")
        return False

    @staticmethod
    def told(residue):
        return ", ".join(f"{what} {len(those)}" for what, those in residue.items())

    @staticmethod
    def groups(box):
        return [os.path.join(path, box) for path, names, _ in os.walk("/sys/fs/cgroup") if box in names]


def setUpModule():
    lacking = [] if os.geteuid() == 0 else ["root"]
    if lacking and os.environ.get("ATOLL_MUST_RUN") == "1":
        raise AssertionError(f"ATOLL_MUST_RUN is set, and this host lacks: {lacking}")
    if lacking:
        raise unittest.SkipTest(f"this host lacks: {lacking}")


if __name__ == "__main__":
    unittest.main()
