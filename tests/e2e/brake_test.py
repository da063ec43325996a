"""A command that does nothing but run against its limits is slowed down, and nobody else is."""

import time
import unittest

from live import Daemon, wait_until

# Forks without end; what it gets waits. Most of its time goes to the kernel, which refuses.
FORK_BOMB = """
import os, signal, sys
while True:
    try:
        if os.fork() == 0: signal.pause()
    except BlockingIOError:
        pass
"""
MEMORY_BOMB = """
import os
while True:
    if os.fork() == 0: bytearray(1 << 30)
    os.wait()
"""
FEW = {"pids": 64}


class Braking(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon().start()
        self.addCleanup(self.daemon.end)

    def braked(self, box):
        return self.daemon.call("GET", f"/v1/sandboxes/{box}/stats").json["braked"]

    def cpu_ms(self, box):
        return self.daemon.call("GET", f"/v1/sandboxes/{box}/stats").json["cpu_ms"]

    def bomb(self, code, *, resources, prefix=()):
        box = self.daemon.create(driver="native", resources=resources)
        self.daemon.start_process(box, *prefix, "python3", "-c", code)
        wait_until(lambda: self.braked(box) == 1, "the brake is on")
        return box

    def assert_is_slow(self, box):
        before, start = self.cpu_ms(box), time.monotonic()
        wait_until(lambda: time.monotonic() > start + 2, "two seconds have passed")
        self.assertLess(self.cpu_ms(box) - before, 200)

    def test_a_fork_bomb_is_slowed_down_and_its_sandbox_ends_at_once(self):
        box = self.bomb(FORK_BOMB, resources=FEW)
        self.assert_is_slow(box)
        start = time.monotonic()
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
        self.assertLess(time.monotonic() - start, 5)

    def test_a_memory_bomb_is_slowed_down(self):
        self.assert_is_slow(self.bomb(MEMORY_BOMB, resources={"memory_mb": 64}))

    def test_one_that_was_left_behind_is_slowed_down(self):
        self.assert_is_slow(self.bomb(FORK_BOMB, resources=FEW, prefix=("sh", "-c", '"$@" & exit 0', "sh")))

    def test_other_commands_of_the_sandbox_are_not(self):
        box = self.bomb(MEMORY_BOMB, resources={"memory_mb": 64})
        done = self.daemon.exec(box, "python3", "-c", "print(sum(range(3000000)))")
        self.assertEqual((done["exit_code"], done["reason"]), (0, "exited"))
        self.assertLess(done["duration_ms"], 10_000)

    def test_it_goes_on_when_it_has_fewer_processes(self):
        box = self.bomb(FORK_BOMB, resources=FEW)
        resized = self.daemon.call("PATCH", f"/v1/sandboxes/{box}", {"resources": {"pids": 256}})
        self.assertEqual(resized.status, 200, resized)
        wait_until(lambda: self.braked(box) == 0, "the brake is let go")

    def test_a_timeout_ends_it_in_time(self):
        box = self.daemon.create(driver="native", resources=FEW)
        done = self.daemon.exec(box, "python3", "-c", FORK_BOMB, timeout_ms=4000)
        self.assertEqual(done["reason"], "timeout")
        self.assertLess(done["duration_ms"], 8000)
        self.assertEqual(self.daemon.exec(box, "echo", "fine")["stdout"], "fine\n")

    def test_many_processes_that_work_are_left_alone(self):
        box = self.daemon.create(driver="native", resources=FEW)
        code = """
import os, time
end = time.monotonic() + 3
while True:
    try:
        if os.fork() == 0: break
    except BlockingIOError:
        break
while time.monotonic() < end: sum(range(1000))
"""
        self.daemon.start_process(box, "python3", "-c", code)
        start, seen = time.monotonic(), set()
        wait_until(lambda: seen.add(self.braked(box)) or time.monotonic() > start + 3, "three seconds have passed")
        self.assertEqual(seen, {0})


if __name__ == "__main__":
    unittest.main()
