"""The daemon and the launcher die, or are replaced, while sandboxes work: nothing stops and nothing is lost."""

import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from live import ATOLL, LIBEXEC, Daemon, is_alive, pid_on_host, wait_until

BOXES = 50
MAKERS = 3
PATIENCE = 60  # seconds, on a machine that is busy with other things
# Counts as fast as a pipe takes it for a moment, then slowly: the ring must hold every line.
COUNTER = "i=0; while :; do echo $i; i=$((i+1)); sleep 0.05; done"


class Restart(unittest.TestCase):
    drivers = ("subprocess", "local")

    def setUp(self):
        self.daemon = Daemon().start()
        self.addCleanup(self.daemon.end)  # asserts that nothing is left
        self.boxes = {}
        for number in range(BOXES):
            driver = self.drivers[number % len(self.drivers)]
            box = self.daemon.create(driver=driver, name=f"counter-{number}", ttl_s=600, env={"SECRET": f"s{number}"})
            self.boxes[box] = self.daemon.start_process(box, "sh", "-c", COUNTER)
            self.boxes[box]["pid"] = pid_on_host(box, self.boxes[box]["pid"])

    def counted(self, box):
        """How far a counter got; fails if any line of its output is missing, doubled or out of order."""
        text, following = "", 0
        for event in self.daemon.events(box, self.boxes[box]["process"]):
            if event["type"] != "stdout":
                self.assertEqual(event["type"], "start", event)
                continue
            self.assertEqual(event["offset"], following, "the offsets have a hole")
            following += len(event["data"])
            text += event["data"]
            if text.count("\n") >= 3:
                break
        lines = text.split("\n")[:-1]
        self.assertEqual(lines, [str(i) for i in range(len(lines))])
        return len(lines)

    def check_all_adopted(self):
        pids = {box: start["pid"] for box, start in self.boxes.items()}
        for box, pid in pids.items():
            answer = self.daemon.call("GET", f"/v1/sandboxes/{box}")
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual(answer.json["state"], "running", answer)
            self.assertTrue(is_alive(pid), f"the counter of {box} has stopped")
            self.assertGreater(self.counted(box), 0)
        # Adopted means usable: new commands run, with the environment that only the agent knows.
        box = next(iter(self.boxes))
        self.assertEqual(self.daemon.exec(box, "sh", "-c", "echo $SECRET")["stdout"], "s0\n")

    def test_kill_9_of_the_daemon_then_of_the_launcher(self):
        self.daemon.kill()
        self.daemon.start()
        self.check_all_adopted()

        launcher = self.daemon.launcher()
        os.kill(launcher, signal.SIGKILL)
        wait_until(lambda: self.daemon.launcher() not in (None, launcher), "the keeper starts another launcher")
        self.check_all_adopted()

        os.kill(self.daemon.launcher(), signal.SIGKILL)
        self.daemon.kill()
        self.daemon.start()
        self.check_all_adopted()

    def test_kill_9_of_daemon_keeper_and_launcher_at_once(self):
        for pid in self.daemon.launchers():
            os.kill(pid, signal.SIGKILL)
        self.daemon.kill()
        self.daemon.start()
        self.check_all_adopted()

    def test_kill_9_of_the_keeper_then_of_the_launcher_it_left(self):
        launcher = self.daemon.launcher()
        (keeper,) = self.daemon.keepers()
        os.kill(keeper, signal.SIGKILL)
        wait_until(lambda: not is_alive(keeper), "the keeper is gone")
        self.check_all_adopted()

        os.kill(launcher, signal.SIGKILL)
        box = wait_until(self.try_create, "a new keeper and launcher serve")
        self.assertEqual(self.daemon.exec(box, "echo", "new")["stdout"], "new\n")
        self.check_all_adopted()

    def test_a_second_launcher_waits_for_one_that_lost_its_keeper(self):
        launcher = self.daemon.launcher()
        keeper = self.daemon.keepers()[0]
        os.kill(keeper, signal.SIGKILL)
        wait_until(lambda: not is_alive(keeper), "the keeper is dead")
        # What a daemon does that comes while the socket is not there, which is so for a moment after every start.
        run = os.open(os.path.join(self.daemon.state, "run"), os.O_RDONLY | os.O_DIRECTORY)
        self.addCleanup(os.close, run)
        subprocess.run(["sh", "-c", f'exec "$0" --keep 0 0 3<&{run}', os.path.join(LIBEXEC, "atoll-launcher")],
                       pass_fds=[run], stderr=subprocess.DEVNULL, check=True)
        wait_until(lambda: len(self.daemon.launchers()) == 3, "there are a new keeper and a second launcher")
        self.daemon.kill()
        self.daemon.start()
        self.check_all_adopted()
        for box in self.boxes:
            self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)

        # For as long as a launcher without work stays, which on leaving takes the directory and the socket away.
        end = time.monotonic() + 3
        while time.monotonic() < end:
            box = self.try_create()
            self.assertTrue(box, "the launchers are in each other's way")
            self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
        self.assertTrue(is_alive(launcher), "the one that served goes on")

    def test_kill_9_while_sandboxes_are_being_made(self):
        made = []
        for who in ("launcher", "daemon", "keeper", "all") * 3:
            made += self.kill_in_the_midst(who)

        self.check_all_adopted()
        # What was promised is there; what was not is not, here or (asserted at the end) on the host.
        states = {box["id"]: box["state"] for box in self.all_sandboxes()}
        known = {box for box, state in states.items() if state == "running"}
        missing = (set(made) | set(self.boxes)) - known
        self.assertFalse(missing, [(box, states.get(box), self.told_of(box)) for box in missing])
        for box in known:
            self.assertEqual(self.daemon.exec(box, "echo", "alive")["stdout"], "alive\n")

    def kill_in_the_midst(self, who):
        """Kills while sandboxes are being made, and gives those that were promised before and after."""
        launcher = wait_until(self.daemon.launcher, "a launcher is there")
        keepers = self.daemon.keepers()
        boxes = os.path.join(self.daemon.state, "run", "box")
        before = set(os.listdir(boxes))
        killed = threading.Event()
        with concurrent.futures.ThreadPoolExecutor(MAKERS) as pool:
            makers = [pool.submit(self.make_until_after, killed) for _ in range(MAKERS)]
            try:
                # Without a pause between two looks: nothing else says that one is only half made.
                deadline = time.monotonic() + PATIENCE
                while not set(os.listdir(boxes)) - before:
                    self.assertLess(time.monotonic(), deadline, "no sandbox is being made")
                for pid in {"launcher": [launcher], "daemon": [], "keeper": keepers, "all": [launcher, *keepers]}[who]:
                    os.kill(pid, signal.SIGKILL)
                if who in ("daemon", "all"):
                    self.daemon.kill()
            finally:
                killed.set()
            # Also what nobody will be told of must be gone in the end.
            self.daemon.made.update(os.listdir(boxes))
            if who in ("daemon", "all"):
                self.daemon.start()
            return [box for maker in makers for box in maker.result()]

    def make_until_after(self, killed):
        """Makes one after the other until one is made that was asked for after the kill."""
        made = []

        def make():
            try:
                return self.try_create()
            except OSError:
                return None  # no daemon answers, or one was killed while it did

        while True:
            is_last = killed.is_set()
            made.append(wait_until(make, "sandboxes are made again", PATIENCE))
            if is_last:
                return made

    def try_create(self):
        answer = self.daemon.call("POST", "/v1/sandboxes", {"driver": self.drivers[0]})
        if answer.status != 201:
            return None
        self.daemon.made.add(answer.json["id"])
        return answer.json["id"]

    def told_of(self, box):
        logs = [self.daemon.log()]
        with contextlib.suppress(OSError):
            logs.append(pathlib.Path(self.daemon.state, "run", "launcher.log").read_text())
        return [line for log in logs for line in log.splitlines() if box in line]

    def all_sandboxes(self):
        answer = self.daemon.call("GET", "/v1/sandboxes?limit=1000")
        self.assertEqual(answer.status, 200, answer)
        return answer.json["sandboxes"]

    def test_sigterm_and_a_new_binary(self):
        elsewhere = tempfile.mkdtemp(prefix="atoll-new-binary-")
        self.addCleanup(shutil.rmtree, elsewhere)
        shutil.copytree(os.path.dirname(ATOLL), os.path.join(elsewhere, "bin"))
        shutil.copytree(LIBEXEC, os.path.join(elsewhere, "libexec", "atoll"))

        self.daemon.terminate()
        self.assertEqual(self.daemon.process.returncode, 0)
        self.daemon.atoll = os.path.join(elsewhere, "bin", "atoll")
        self.daemon.start()

        self.check_all_adopted()
        box = self.daemon.create(driver=self.drivers[0])
        self.assertEqual(self.daemon.exec(box, "echo", "new")["stdout"], "new\n")

    def test_output_written_while_the_daemon_is_away_is_complete(self):
        box = next(iter(self.boxes))
        counted = self.counted(box)
        self.daemon.kill()
        # Progress is seen from outside: the agent's own count of output cannot be asked without a daemon.
        pid = self.boxes[box]["pid"]
        ticks = self.switches(pid)
        wait_until(lambda: self.switches(pid) > ticks + 20, "the counter goes on without a daemon")
        self.daemon.start()
        self.assertGreaterEqual(self.counted(box), counted)

    @staticmethod
    def switches(pid):
        with open(f"/proc/{pid}/status") as status:
            return sum(int(line.split()[1]) for line in status if "ctxt_switches" in line)


@unittest.skipUnless(os.geteuid() == 0, "the native driver needs root")
class NativeRestart(Restart):
    drivers = ("native",)


class TimeToLive(unittest.TestCase):
    driver = "subprocess"

    def test_holds_while_the_daemon_is_away(self):
        daemon = Daemon().start()
        box = daemon.create(driver=self.driver, ttl_s=2)
        pid = pid_on_host(box, daemon.start_process(box, "sleep", "600")["pid"])
        daemon.kill()

        wait_until(lambda: not is_alive(pid), "the launcher ends the sandbox", 10)

        daemon.start()
        self.assertIn(daemon.call("GET", f"/v1/sandboxes/{box}").json.get("state", "gone"), ("destroyed", "gone"))
        daemon.end()


@unittest.skipUnless(os.geteuid() == 0, "the native driver needs root")
class NativeTimeToLive(TimeToLive):
    driver = "native"


if __name__ == "__main__":
    unittest.main()
