"""The daemon and the launcher die, or are replaced, while sandboxes work: nothing stops and nothing is lost."""

import os
import shutil
import signal
import tempfile
import unittest

from live import ATOLL, LIBEXEC, Daemon, is_alive, wait_until

BOXES = 50
# Counts as fast as a pipe takes it for a moment, then slowly: the ring must hold every line.
COUNTER = "i=0; while :; do echo $i; i=$((i+1)); sleep 0.05; done"


class Restart(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon().start()
        self.boxes = {}
        for number in range(BOXES):
            driver = "local" if number % 2 else "subprocess"
            box = self.daemon.create(driver=driver, name=f"counter-{number}", ttl_s=600, env={"SECRET": f"s{number}"})
            self.boxes[box] = self.daemon.start_process(box, "sh", "-c", COUNTER)

    def tearDown(self):
        self.daemon.end()  # asserts that nothing is left

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
        box = self.daemon.create(driver="local")
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


class TimeToLive(unittest.TestCase):
    def test_holds_while_the_daemon_is_away(self):
        daemon = Daemon().start()
        box = daemon.create(driver="subprocess", ttl_s=2)
        process = daemon.start_process(box, "sleep", "600")
        daemon.kill()

        wait_until(lambda: not is_alive(process["pid"]), "the launcher ends the sandbox", 10)

        daemon.start()
        self.assertIn(daemon.call("GET", f"/v1/sandboxes/{box}").json.get("state", "gone"), ("destroyed", "gone"))
        daemon.end()


if __name__ == "__main__":
    unittest.main()
