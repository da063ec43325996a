"""What stands around a gVisor sandbox is killed in the middle of its creation, of a command and of its destruction: nothing leaks.

There is no server to kill: a sandbox is atoll-oci, the runsc that it starts, and what that starts. Each of them is killed, at the
moment at which it is first seen; in a destruction while the launcher, stopped, has not yet come to it.
"""

import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import signal
import time
import unittest

from counting import namespaces_of
from live import Daemon, all_pids, cgroups_of_boxes, is_alive, name_of, parent_of, processes_of, wait_until

# Whom of the family: atoll-oci, the first runsc, and one of those below it.
MEMBERS = ("atoll-oci", "runsc", "below runsc")
DEADLINE = 30
# The launcher keeps network namespaces that nobody has used for sandboxes to come, this many at most (ADR 27).
KEPT_FOR_OTHERS = 32


class Deaths:
    @classmethod
    def setUpClass(cls):
        # None made ahead: they are no leak, and come and go.
        cls.daemon = Daemon(arguments=("--parked", "0")).start()
        cls.figures = {}
        # Somebody else's, of the same daemon: it must not notice anything. Its launcher is then there, too.
        cls.bystander = cls.daemon.create(driver="gvisor", ttl_s=3600)
        cls.launchers = set(cls.daemon.launchers())
        cls.before = processes_of(cls.daemon.directory)
        cls.mounts_before, cls.networks_before = cls.mounts(), cls.networks()

    @classmethod
    def tearDownClass(cls):
        print("figure: gvisor's processes killed: " + ", ".join(f"{count} {what}" for what, count in sorted(cls.figures.items())), flush=True)
        cls.daemon.end()  # asserts that nothing is left

    def count(self, what, number=1):
        self.figures[what] = self.figures.get(what, 0) + number

    # What is there.

    @classmethod
    def mounts(cls):
        """Below the daemon's directory, where we are and where the launcher is."""
        found = set()
        for place in ("self", *cls.launchers):
            with contextlib.suppress(FileNotFoundError):
                lines = pathlib.Path(f"/proc/{place}/mountinfo").read_text().splitlines()
                found |= {line.split()[4] for line in lines if cls.daemon.directory in line}
        return found

    @classmethod
    def networks(cls):
        """The network namespaces that somebody of ours is in or holds open."""
        return {name for name in namespaces_of(processes_of(cls.daemon.directory) | cls.launchers) if name.startswith("net:[")}

    # Who is there.

    def family(self):
        """The members of the youngest sandbox, as far as they are there yet."""
        parents = {pid: parent_of(pid) for pid in all_pids()}
        found = {}
        for pid, parent in parents.items():
            if parent in self.launchers and pid not in self.before and name_of(pid) == "atoll-oci":
                found["atoll-oci"] = pid
        for pid, parent in parents.items():
            if parent == found.get("atoll-oci"):
                found["runsc"] = pid
        for pid, parent in parents.items():
            if parent == found.get("runsc"):
                found["below runsc"] = pid
        return found

    def kill_at_first_sight(self, member, is_over):
        """As soon as it is there; whether it was."""
        deadline = time.monotonic() + DEADLINE
        while not is_over() and time.monotonic() < deadline:
            pid = self.family().get(member)
            if pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    return True
        return False

    # Afterwards.

    def state(self, box):
        answer = self.daemon.call("GET", f"/v1/sandboxes/{box}")
        return answer.json["state"] if answer.status == 200 else "gone"

    def works(self, box):
        answer = self.daemon.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["echo", "works"]})
        return answer.status == 200 and answer.json["stdout"] == "works\n"

    def left(self, boxes):
        living = processes_of(self.daemon.directory) - self.before
        found = [f"process {pid} {name_of(pid)}" for pid in living if is_alive(pid) and not self.is_bystanders(pid)]
        found += [f"cgroup {path}" for path in cgroups_of_boxes() if os.path.basename(path) in boxes]
        place = os.path.join(self.daemon.state, "run", "box")
        found += [f"directory {name}" for name in os.listdir(place) if name != self.bystander]
        found += [f"mount {path}" for path in self.mounts() - self.mounts_before]
        networks = sorted(self.networks() - self.networks_before)
        return found + [f"network namespace {name}" for name in networks[KEPT_FOR_OTHERS:]]

    def is_bystanders(self, pid):
        with contextlib.suppress(OSError):
            return self.bystander in pathlib.Path(f"/proc/{pid}/cgroup").read_text()
        return False

    def settle(self, *boxes):
        for box in boxes:
            wait_until(lambda box=box: self.state(box) != "running", f"the end of {box} is told", DEADLINE)
            self.count("sandboxes gone and told")
            answer = self.daemon.call("DELETE", f"/v1/sandboxes/{box}")
            self.assertIn(answer.status, (204, 404), answer)
        try:
            wait_until(lambda: not self.left(boxes), "nothing is left", DEADLINE)
        except AssertionError:
            self.fail(f"left: {self.left(boxes)}")
        self.count("leaks", len(self.left(boxes)))
        self.count("kills")
        self.figures["network namespaces kept"] = len(self.networks() - self.networks_before)
        self.assertEqual(self.daemon.exec(self.bystander, "echo", "here")["stdout"], "here\n")

    # The points.

    def test_killed_in_the_middle_of_a_creation(self):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            hits = 0
            # A member that comes and goes between two looks is looked for again.
            for attempt in range(self.rounds * 4):
                if hits == self.rounds:
                    break
                creation = pool.submit(self.daemon.call, "POST", "/v1/sandboxes", {"driver": "gvisor", "ttl_s": 600})
                was_hit = self.kill_at_first_sight(MEMBERS[attempt % len(MEMBERS)], creation.done)
                answer = creation.result(DEADLINE * 2)
                if not was_hit:
                    self.assertEqual(answer.status, 201, answer)
                    self.daemon.call("DELETE", f"/v1/sandboxes/{answer.json['id']}")
                    continue
                hits += 1
                if answer.status == 201 and self.works(answer.json["id"]):
                    # A driver that could not is asked a second time, which nobody has disturbed.
                    self.count("creations done at the second try")
                    self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{answer.json['id']}").status, 204)
                    self.settle()
                    continue
                if answer.status == 201:
                    self.settle(answer.json["id"])
                    continue
                self.assertIn(answer.status, (500, 502, 503), answer)
                self.assertTrue(answer.json["detail"], answer)
                self.count("creations refused")
                self.settle()
            self.assertEqual(hits, self.rounds, "the moment was not hit often enough")

    def test_killed_in_the_middle_of_a_command(self):
        for number in range(self.rounds):
            with self.subTest(round=number):
                box = self.daemon.create(driver="gvisor", ttl_s=600)
                process = self.daemon.start_process(box, "sh", "-c", "echo up; exec sleep 1000")["process"]
                events = self.daemon.events(box, process)
                text = ""
                while "up\n" not in text:
                    text += next(events).get("data", "")
                os.kill(self.family()[MEMBERS[number % len(MEMBERS)]], signal.SIGKILL)
                self.assertNotIn("more", "".join(event.get("data", "") for event in events))
                self.count("commands whose end was told")
                self.settle(box)

    def test_killed_in_the_middle_of_a_destruction(self):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for number in range(self.rounds):
                with self.subTest(round=number):
                    box = self.daemon.create(driver="gvisor", ttl_s=600)
                    victim = self.family()[MEMBERS[number % len(MEMBERS)]]
                    launcher = self.daemon.launcher()
                    os.kill(launcher, signal.SIGSTOP)
                    try:
                        destruction = pool.submit(self.daemon.call, "DELETE", f"/v1/sandboxes/{box}")
                        wait_until(lambda box=box: self.state(box) == "stopping", "it is being destroyed", DEADLINE)
                        self.assertFalse(destruction.done())
                        os.kill(victim, signal.SIGKILL)
                    finally:
                        os.kill(launcher, signal.SIGCONT)
                    self.assertEqual(destruction.result(DEADLINE).status, 204)
                    self.count("destructions done")
                    self.settle()


class Few(Deaths, unittest.TestCase):
    rounds = 3


class Many(Deaths, unittest.TestCase):
    rounds = 50


def setUpModule():
    if shutil.which("runsc") and os.geteuid() == 0:
        return
    if os.environ.get("ATOLL_MUST_RUN") == "1":
        raise AssertionError("ATOLL_MUST_RUN is set, and this host lacks runsc, or root")
    raise unittest.SkipTest("needs runsc and root")


if __name__ == "__main__":
    unittest.main()
