"""docs/guide/first-ten-minutes.md, typed: every command, and what it says."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

from live import ATOLL, LIBEXEC, NOTHING, census, wait_until
from shell import Shell, matches
from terminal import Terminal

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/guide/first-ten-minutes.md"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def blocks(text):
    """(kind, [(command, expected lines)]) of each."""
    for kind, body in re.findall(r"^```(console|background|terminal)\n(.*?)^```$", text, re.S | re.M):
        steps = []
        for line in body.splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line)
        yield kind, steps


class Guide(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="atoll-guide-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.ports = {"7070": str(free_port()), "18000": str(free_port())}
        self.environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": self.directory, "LANG": "C.UTF-8",
            "ATOLL_STATE": os.path.join(self.directory, "state"), "ATOLL_SERVE_LISTEN": "127.0.0.1:" + self.ports["7070"],
            "ATOLL_SKIP_SETUP": "1"}
        self.background = []

    def on_this_machine(self, text):
        """With ports that are free here, and a project beside nobody's."""
        for usual, free in self.ports.items():
            text = re.sub(rf"\b{usual}\b", free, text)
        return text.replace("mkdir project && cd project", f"mkdir {self.directory}/project && cd {self.directory}/project")

    def test_every_command_says_what_the_guide_says(self):
        shell = Shell(self.environment, ROOT)
        self.addCleanup(self.end_background)
        self.addCleanup(shell.end)
        kinds = []
        for kind, steps in blocks(self.on_this_machine(GUIDE.read_text())):
            kinds.append(kind)
            with self.subTest(steps[0][0]):
                {"console": self.type_all, "background": self.start, "terminal": self.sit_at_a_terminal}[kind](shell, steps)
        self.assertEqual({kind: kinds.count(kind) for kind in set(kinds)}, {"console": 9, "background": 2, "terminal": 1})
        self.end_background()
        shell.end()
        wait_until(lambda: census(self.directory) == NOTHING, "nothing is left", seconds=20)

    def type_all(self, shell, steps):
        for command, expected in steps:
            lines, code = shell.type(command)
            if command.startswith("./dev "):
                lines = lines[-len(expected):]  # what it built before, it says
            if command.startswith("curl "):  # a person would have waited for the server to begin
                lines, code = wait_until(lambda: next((again for again in [shell.type(command)] if again[1] == 0), None), command)
            self.assertEqual(len(lines), len(expected), (command, lines))
            for want, line in zip(expected, lines):
                self.assertTrue(matches(want, line), f"{command}: {line!r} instead of {want!r}")
            self.assertEqual(code, 0, (command, lines))

    def start(self, shell, steps):
        (command, expected), = steps
        search, _ = shell.type("echo $PATH")
        process = subprocess.Popen(command.split(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, env={**self.environment, "PATH": search[0]}, executable=os.path.abspath(ATOLL))
        self.background.append(process)
        for line in process.stdout:
            if matches(expected[0], line.rstrip("\n")):
                return
        self.fail(f"{command} has ended")

    def sit_at_a_terminal(self, _, steps):
        argv = [os.path.abspath(ATOLL), *steps[0][0].split()[1:]]
        with Terminal(argv, env=self.environment) as terminal:
            for command, expected in steps[1:]:
                terminal.expect("$ ")
                terminal.type(command + "\r")
                terminal.expect(command)
                for line in expected:
                    terminal.expect(line)

    def end_background(self):
        for process in self.background:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
            process.stdout.close()
        self.background.clear()


if __name__ == "__main__":
    unittest.main()
