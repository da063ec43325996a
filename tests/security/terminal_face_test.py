"""The terminal as a way in: what a sandbox can do to whoever opens one in it."""

import json
import unittest

from live import Daemon, wait_until

PLANTS = {
    "a link to a device that never ends": "ln -s zero /dev/ptmx",
    "a link to nowhere": "ln -s /nowhere /dev/ptmx",
    "a pipe that nobody reads": "mkfifo /dev/ptmx",
    "a file": "echo > /dev/ptmx",
    "nothing": "true",
}


class TerminalFace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.end()

    def open(self, box, *argv, **more):
        return self.daemon.call("POST", f"/v1/sandboxes/{box}/exec",
                                {"argv": list(argv), "tty": {}, "stdin_open": False, **more}, timeout=20)

    def test_a_terminal_device_that_is_none_is_an_error_and_holds_nobody_up(self):
        for what, plant in PLANTS.items():
            with self.subTest(what):
                box = self.daemon.create(driver="native")
                planted = self.daemon.exec(box, "sh", "-c", f"rm -f /dev/ptmx && {plant}", user="root")
                answer = self.open(box, "tty")
                if planted["exit_code"] == 0:
                    self.assertNotEqual(answer.status, 200, answer)
                    self.assertIn("terminal", answer.json["detail"])
                else:
                    self.assertEqual(answer.json["exit_code"], 0, answer)  # it could not be planted
                self.assertEqual(self.daemon.exec(box, "echo", "on")["stdout"], "on\n")

    def test_nothing_can_be_typed_for_whoever_comes_next(self):
        box = self.daemon.create(driver="native")
        answer = self.open(box, "python3", "-c",
                           "import fcntl, termios\n"
                           "for letter in b'id\\n': fcntl.ioctl(0, termios.TIOCSTI, bytes([letter]))")
        self.assertNotEqual(answer.json["exit_code"], 0)
        self.assertIn("Operation not permitted", answer.json["stdout"])

    def test_a_sandbox_sees_no_terminal_but_its_own(self):
        box = self.daemon.create(driver="native")
        seen = self.open(box, "sh", "-c", "ls /dev/pts; tty").json["stdout"].split()
        self.assertEqual(sorted(seen), ["/dev/pts/0", "0", "ptmx"])

    def test_terminals_run_out_for_the_sandbox_alone(self):
        box, other = self.daemon.create(driver="native"), self.daemon.create(driver="native")
        self.daemon.start_process(box, "python3", "-c",
                                  "import os, time\nheld = []\n"
                                  "try:\n while True: held.append(os.openpty())\n"
                                  "except OSError: print('all', len(held), flush=True)\ntime.sleep(1000)")
        wait_until(lambda: "all" in self.daemon.call("GET", f"/v1/sandboxes/{box}/logs").body.decode(), "all are taken")
        self.assertNotEqual(self.open(box, "true").status, 200)
        self.assertEqual(self.open(other, "tty").json["stdout"].strip(), "/dev/pts/0")

    # Gives the terminal up, so that its end hangs up nobody, and leaves somebody behind who goes on writing.
    NOISY = ("import fcntl, os, signal, sys, termios, time, tty\n"
             "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
             "while not os.path.exists('go'): time.sleep(0.01)\n"
             "tty.setraw(0)\n"
             "for _ in range(8):\n if os.fork() == 0:\n  while True: os.write(1, b'x' * 4096)\n"
             "fcntl.ioctl(0, termios.TIOCNOTTY)\nos._exit(7)")

    def test_whoever_goes_on_writing_does_not_hold_up_the_end(self):
        box = self.daemon.create(driver="native")
        self.daemon.exec(box, "touch", "go")
        answer = self.open(box, "python3", "-c", self.NOISY, max_output_bytes=1000)
        self.assertEqual(answer.json["exit_code"], 7, answer)
        self.assertEqual(self.writers(box), 8)

    def writers(self, box):
        return int(self.daemon.exec(box, "sh", "-c", "grep -l 'set[r]aw' /proc/[0-9]*/cmdline | wc -l")["stdout"])

    def test_nor_the_agent_when_nobody_follows(self):
        box = self.daemon.create(driver="native")
        connection = self.daemon.connection()
        connection.request("POST", f"/v1/sandboxes/{box}/exec", json.dumps({"argv": ["python3", "-c", self.NOISY], "tty": {}}),
                           {"Content-Type": "application/json", "Accept": "application/x-ndjson"})
        answer = connection.getresponse()
        process = json.loads(answer.readline())["process"]
        connection.close()
        answer.close()
        self.daemon.exec(box, "touch", "go")
        def ended():
            rows = self.daemon.call("GET", f"/v1/sandboxes/{box}/processes", timeout=20).json["processes"]
            return not next(row for row in rows if row["process"] == process)["running"]
        wait_until(ended, "the command has ended")
        self.assertEqual(self.writers(box), 8)
        self.assertEqual(self.daemon.exec(box, "echo", "on")["stdout"], "on\n")

    def test_output_without_end_is_bounded(self):
        box = self.daemon.create(driver="native")
        answer = self.open(box, "yes", output_limit=50_000_000, max_output_bytes=1000, timeout_ms=60_000)
        self.assertEqual(answer.json["reason"], "policy", answer)
        self.assertEqual(len(answer.json["stdout"]), 1000)


if __name__ == "__main__":
    unittest.main()
