"""A thousand sandboxes come and go and leave nothing: no process, file, descriptor, cgroup or mount."""

import os
import unittest

from live import Daemon, census, descriptors_of, wait_until


MOST_PARKED = 64


class Leaks(unittest.TestCase):
    """Without sandboxes that are made ahead, so that what is there can be compared exactly."""

    def setUp(self):
        self.daemon = Daemon(arguments=("--parked", "0")).start()

    def tearDown(self):
        self.daemon.end()  # asserts that nothing is left

    def create_and_delete(self, connection_calls, number):
        box = self.daemon.create(driver="local" if number % 2 else "subprocess")
        if number % 10 == 0:
            self.daemon.exec(box, "sh", "-c", "echo x > file; mkdir -p a/b; sleep 100 & setsid sleep 100 & true")
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
        connection_calls.append(box)

    def test_a_thousand_pairs(self):
        done = []
        for number in range(20):
            self.create_and_delete(done, number)
        quiet = {"daemon": self.settled(self.daemon.process.pid), "launcher": self.settled(self.daemon.launcher())}
        resting = census(self.daemon.directory)

        for number in range(1000):
            self.create_and_delete(done, number)

        self.assertEqual(len(set(done)), 1020)
        wait_until(lambda: census(self.daemon.directory) == resting, "the host is as it was")
        wait_until(lambda: descriptors_of(self.daemon.process.pid) <= quiet["daemon"], "the daemon closed its descriptors")
        wait_until(lambda: descriptors_of(self.daemon.launcher()) <= quiet["launcher"], "the launcher closed its descriptors")
        self.assertEqual(os.listdir(os.path.join(self.daemon.state, "run", "box")), [])

    def test_runs_of_which_some_fail(self):
        resting = census(self.daemon.directory)
        for number in range(300):
            command = ("true", "false", "no-such-program")[number % 3]
            answer = self.daemon.call("POST", "/v1/runs", {"sandbox": {}, "exec": {"argv": [command]}})
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual(answer.json["exit_code"], (0, 1, 127)[number % 3])
        wait_until(lambda: census(self.daemon.directory) == resting, "the host is as it was")

    @staticmethod
    def settled(pid):
        return descriptors_of(pid) + 2  # connections that are just closing


class ParkedLeaks(unittest.TestCase):
    """What waits to be taken is bounded, and gone with the daemon."""

    def test_runs_and_pairs(self):
        daemon = Daemon().start()
        for number in range(150):
            argv = (["true"], ["sh", "-c", "sleep 100 & setsid sleep 100 & true"])[number % 2]
            answer = daemon.call("POST", "/v1/runs", {"sandbox": {"driver": "native"}, "exec": {"argv": argv}})
            self.assertEqual((answer.status, answer.json["exit_code"]), (200, 0), answer)
            box = daemon.create(driver="native")
            self.assertEqual(daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
        boxes = os.path.join(daemon.state, "run", "box")
        wait_until(lambda: len(os.listdir(boxes)) <= MOST_PARKED, "what is left is what waits to be taken")
        daemon.made |= set(os.listdir(boxes))
        daemon.end()  # asserts that nothing is left


if __name__ == "__main__":
    unittest.main()
