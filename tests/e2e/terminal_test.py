"""Commands with a terminal: shells as people use them, left and found again, with a daemon and without."""

import os
import subprocess
import tempfile
import termios
import unittest

from live import ATOLL, LIBEXEC, Daemon
from terminal import Terminal

ECHO = termios.ECHO | termios.ICANON | termios.ISIG
# Marks are put together by the shell, so that what is typed is never taken for what is answered.
SLEEPER = "python3 -c 'import time; print(\"as\" \"leep\"); time.sleep(1000)'\n"
WATCHER = "python3 -c 'import os, signal\nsignal.pthread_sigmask(0, [28]); print(\"watch\" \"ing\")\n" \
          "signal.sigwait([28]); print(os.get_terminal_size())'\n"
READY = "PS1='' ; stty -echo; echo rea''dy\n"


DRIVERS = ["native", "subprocess", "local"]


def run(*argv, env=None):
    return subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


class WithoutDaemon(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="atoll-live-")
        self.addCleanup(directory.cleanup)
        self.env = {"ATOLL_LIBEXEC": LIBEXEC, "HOME": directory.name, "XDG_RUNTIME_DIR": directory.name,
                    "PATH": os.environ["PATH"]}

    def open(self, *words, **size):
        terminal = Terminal([ATOLL, *words], env=self.env, **size)
        self.addCleanup(terminal.__exit__)
        return terminal

    def test_a_shell_has_a_terminal_of_the_size_of_ours(self):
        for driver in DRIVERS:
            with self.subTest(driver):
                shell = self.open("run", "-q", "-it", "--driver", driver, "--", "sh", rows=33, columns=111)
                shell.type(READY)
                shell.expect("ready\r\n")
                shell.type("stty size; test -t 0 -a -t 1 -a -t 2 && echo all''three; echo $TERM\n")
                shell.expect("33 111\r\nallthree\r\nxterm\r\n")
                shell.type(WATCHER)
                shell.expect("watching")
                shell.resize(44, 77)
                shell.expect("lines=44")
                shell.type("exit 7\n")
                self.assertEqual(shell.wait(), 7)

    def test_keys_are_the_commands_and_the_terminal_is_ours_again_afterwards(self):
        shell = self.open("run", "-q", "-t", "--", "bash", "--norc")
        before = shell.modes() & ECHO
        shell.type(READY)
        shell.expect("ready\r\n")
        self.assertEqual(shell.modes() & ECHO, 0)
        shell.type("PS1=at''home\n")
        shell.expect("athome")
        shell.type(SLEEPER)
        shell.expect("asleep")
        shell.type("\x03")  # Ctrl-C
        shell.expect("athome")
        shell.type("echo code''=$?\n")
        shell.expect("code=130")
        shell.expect("athome")
        shell.type(SLEEPER)
        shell.expect("asleep")
        shell.type("\x1a")  # Ctrl-Z
        shell.expect("Stopped")
        shell.expect("athome")
        shell.type("kill %1; wait; echo wait''ed; exec cat\n")
        shell.expect("waited")
        shell.type("typed\n")
        shell.expect("typed")
        shell.type("\x04")  # Ctrl-D
        self.assertEqual(shell.wait(), 0)
        self.assertEqual(shell.modes() & ECHO, before)

    def test_the_last_word_is_shown(self):
        for driver in DRIVERS:
            with self.subTest(driver):
                said = self.open("run", "-q", "-t", "--driver", driver, "--", "python3", "-c",
                                 "import sys; sys.stdout.write('x' * 300000 + 'the end')")
                self.assertEqual(said.wait(), 0)
                self.assertTrue(said.shown.endswith(b"the end"), said.shown[-100:])
                self.assertEqual(len(said.shown), 300000 + len("the end"))

    def test_a_terminal_is_needed(self):
        answer = run(ATOLL, "run", "-t", "--", "true", env=self.env)
        self.assertEqual(answer.returncode, 125)
        self.assertIn("stdin is not a terminal", answer.stderr)

    def test_the_terminal_is_given_back_when_a_signal_ends_us(self):
        stubborn = self.open("run", "-q", "-t", "--", "python3", "-c",
                             # Not print(): a handler may come while the other one is at it.
                             "import os, signal, time; signal.signal(2, lambda *_: os.write(1, b'no\\n')); print('up', flush=True)\n"
                             "while True: time.sleep(1000)")
        before = stubborn.modes() & ECHO
        stubborn.expect("up")
        self.assertEqual(stubborn.modes() & ECHO, 0)
        os.kill(stubborn.pid, 2)
        stubborn.expect("no")
        os.kill(stubborn.pid, 2)  # the second one kills the command
        self.assertEqual(stubborn.wait(), 137)
        self.assertEqual(stubborn.modes() & ECHO, before)


class WithDaemon(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon().start()
        self.addCleanup(self.daemon.end)

    def open(self, verb, *words, **size):
        return Terminal([ATOLL, verb, "--state", self.daemon.state, *words], **size)

    def test_it_is_left_and_found_again(self):
        for driver in DRIVERS:
            with self.subTest(driver):
                box = self.daemon.create(driver=driver)
                with self.open("exec", "-it", box, "--", "sh") as shell:
                    shell.type(READY)
                    shell.expect("ready\r\n")
                    shell.type("kept=here\n")
                    shell.type("\x10\x11")  # Ctrl-P Ctrl-Q
                    self.assertEqual(shell.wait(), 0)
                    self.assertIn(b"atoll attach", shell.shown)
                with self.open("attach", box, rows=20, columns=60) as again:
                    again.expect("ready")  # what it showed last
                    again.type("echo and still $kept; stty size\n")
                    again.expect("and still here\r\n20 60")
                    again.type("exit 3\n")
                    self.assertEqual(again.wait(), 3)

    def test_nothing_runs_that_could_be_attached_to(self):
        box = self.daemon.create(driver="native")
        answer = run(ATOLL, "attach", "--state", self.daemon.state, box)
        self.assertEqual(answer.returncode, 125)
        self.assertIn("nothing runs", answer.stderr)

    def test_a_run_with_a_terminal(self):
        with self.open("run", "-q", "-it", "--", "sh") as shell:
            shell.type(READY)
            shell.expect("ready\r\n")
            shell.type("exit 5\n")
            self.assertEqual(shell.wait(), 5)


if __name__ == "__main__":
    unittest.main()
