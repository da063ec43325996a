"""A thousand sandboxes come and go and leave nothing: no process, file, descriptor, cgroup or mount."""

import os
import unittest

from live import Daemon, census, descriptors_of, wait_until


class Leaks(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon().start()

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


if __name__ == "__main__":
    unittest.main()
