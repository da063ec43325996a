"""How it feels in a terminal: keys, job control, sizes, colours, pipes and progress, in a real tmux."""

import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

from live import ATOLL, LIBEXEC, Daemon, files_of, stat_of, wait_until
from tmux import Tmux

ESCAPE = "\x1b["
# Wide, combining, turned around, long.
LABELS = ["日本語の名前がとても長いとき" * 4, "🚀" * 60, "e\u0301" * 80, "exe.\u202egpj.txt",
          "an ordinary label that is much longer than eighty columns of a terminal, and still goes on " * 2]


class InTmux(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.end)

    def open(self, columns=80, rows=24, env=None):
        tmux = Tmux(columns, rows, {"ATOLL_STATE": self.daemon.state, "ATOLL_LIBEXEC": LIBEXEC,
                                    "PATH": f"{os.path.dirname(os.path.abspath(ATOLL))}:{os.environ['PATH']}", **(env or {})})
        self.addCleanup(tmux.__exit__)
        return tmux

    def create(self, **request):
        box = self.daemon.create(**request)
        self.addCleanup(self.daemon.call, "DELETE", f"/v1/sandboxes/{box}")
        return box

    def boxes(self):
        return [box["id"] for box in self.daemon.call("GET", "/v1/sandboxes?limit=1000").json["sandboxes"]]

    def processes(self, box):
        """The commands in a box that have not ended."""
        processes = self.daemon.call("GET", f"/v1/sandboxes/{box}/processes").json["processes"]
        return [process for process in processes if process.get("state", "running") == "running"]


class Keys(InTmux):
    def test_a_shell_in_a_sandbox_has_the_size_of_the_window_and_all_keys(self):
        box = self.create(driver="native")
        tmux = self.open(100, 30)
        before = tmux.modes()
        tmux.type(f"atoll exec -it {box} -- bash --norc\n")
        tmux.type("PS1='in''side> '\n")
        tmux.expect("inside>")
        tmux.type("stty size\n")
        tmux.expect("30 100")
        tmux.type("trap 'stty size' WINCH; echo tr''apped\n")
        tmux.expect("trapped")
        tmux.resize(71, 22)
        tmux.type("\n")
        tmux.expect("22 71")

        tmux.type("sleep 1000\n")
        wait_until(lambda: "sleep" in self.names_in(box), "it sleeps")
        tmux.key("C-c")
        wait_until(lambda: "sleep" not in self.names_in(box), "Ctrl-C ends what is in the foreground there")
        tmux.type("echo code''=$?\n")
        tmux.expect("code=130")

        tmux.type("sleep 1001\n")
        wait_until(lambda: "sleep" in self.names_in(box), "it sleeps")
        tmux.key("C-z")
        tmux.expect("Stopped")
        tmux.type("kill -9 %1\n")
        wait_until(lambda: "sleep" not in self.names_in(box), "it is gone")
        tmux.type("\n")
        tmux.expect("Killed")
        tmux.type("exit 7\n")
        tmux.expect_prompt()
        self.assertEqual(tmux.modes(), before)

    def names_in(self, box):
        done = self.daemon.exec(box, "sh", "-c", "cat /proc/[0-9]*/comm")
        return done["stdout"].split()

    def test_the_terminal_is_as_it_was_when_the_command_is_killed(self):
        box = self.create(driver="native")
        tmux = self.open()
        before = tmux.modes()
        tmux.type(f"atoll exec -it {box} -- bash --norc\n")
        tmux.type("PS1='in''side> '\n")
        tmux.expect("inside>")
        process = self.processes(box)[-1]["process"]
        self.daemon.call("POST", f"/v1/sandboxes/{box}/processes/{process}/signal", {"signal": "SIGKILL"})
        tmux.expect("the command was killed")
        tmux.expect_prompt()
        self.assertEqual(tmux.modes(), before)

    def test_ctrl_c_ends_a_run_and_leaves_no_sandbox(self):
        for state in (self.daemon.state, ""):
            with self.subTest("with a daemon" if state else "without"):
                tmux = self.open(env={"ATOLL_STATE": state, "HOME": self.daemon.directory})
                tmux.type("atoll run -q -- sh -c 'echo u''p; exec sleep 1000'; echo code''=$?\n")
                tmux.expect("up")
                tmux.key("C-c")
                tmux.expect("code=130")
                wait_until(lambda: self.boxes() == [], "no sandbox is left")
                wait_until(lambda: not children_of(tmux.shell()), "no process is left")

    def test_ctrl_z_stops_a_run_with_its_command_and_fg_goes_on(self):
        for state in (self.daemon.state, ""):
            with self.subTest("with a daemon" if state else "without"):
                tmux = self.open(env={"ATOLL_STATE": state, "HOME": self.daemon.directory})
                before = tmux.modes()
                tmux.type("atoll run -q -- sh -c 'i=0; while :; do i=$((i+1)); echo ti''ck $i; sleep 0.1; done'\n")
                tmux.expect("tick 5")
                tmux.key("C-z")
                tmux.expect("Stopped")
                self.assertEqual(tmux.modes(), before)
                stopped = self.last_tick(tmux.run("echo quiet; sleep 1"))
                self.assertIsNone(stopped, "it goes on though it was stopped")
                tmux.type("fg\n")
                tmux.expect("tick")
                tmux.key("C-c")
                tmux.expect_prompt()
                self.assertEqual(tmux.modes(), before)
                wait_until(lambda: self.boxes() == [], "no sandbox is left")

    @staticmethod
    def last_tick(lines):
        ticks = [line for line in lines if line.startswith("tick")]
        return ticks[-1] if ticks else None

    def test_ctrl_z_and_fg_of_logs(self):
        box = self.create(driver="native")
        self.daemon.start_process(box, "sh", "-c", "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.1; done")
        tmux = self.open()
        before = tmux.modes()
        tmux.type(f"atoll logs -f {box}\n")
        tmux.expect("line 3")
        tmux.key("C-z")
        tmux.expect("Stopped")
        self.assertEqual(tmux.modes(), before)
        tmux.key("C-l")
        tmux.type("fg\n")
        tmux.expect("line")
        tmux.key("C-c")
        tmux.expect_prompt()
        self.assertEqual(tmux.modes(), before)

    def test_the_terminal_is_as_it_was_when_the_daemon_dies(self):
        daemon = Daemon().start()
        self.addCleanup(lambda: daemon.start().end())
        box = daemon.create(driver="native")
        tmux = self.open()  # whose environment does not name that daemon: it would seem to be left by it
        before = tmux.modes()
        tmux.type(f"atoll exec -it --state {daemon.state} {box} -- bash --norc\n")
        tmux.type("PS1='in''side> '\n")
        tmux.expect("inside>")
        daemon.kill()
        tmux.expect("the daemon broke off")
        tmux.expect_prompt()
        self.assertEqual(tmux.modes(), before)


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        return children.read().split()


class Top(InTmux):
    def setUp(self):
        self.box = self.create(driver="native", name="busy")

    def begin(self):
        tmux = self.open(90, 20)
        tmux.run("echo what was there")
        self.before = tmux.modes()
        tmux.type("atoll top -d 60\n")
        tmux.expect("q leaves")
        self.assertTrue(tmux.has_second_screen())
        return tmux

    def check_left(self, tmux):
        tmux.expect_prompt()
        self.assertFalse(tmux.has_second_screen())
        self.assertNotIn("q leaves", tmux.screen())
        self.assertEqual(tmux.modes(), self.before)

    def test_q_and_ctrl_c_bring_the_screen_back(self):
        for key in "q", "C-c":
            with self.subTest(key):
                tmux = self.begin()
                tmux.key(key)
                tmux.expect_gone("q leaves")
                self.check_left(tmux)

    def test_a_signal_brings_it_back_too(self):
        for number in signal.SIGTERM, signal.SIGHUP:
            with self.subTest(number):
                tmux = self.begin()
                os.kill(int(children_of(tmux.shell())[0]), number)
                tmux.expect_gone("q leaves")
                self.check_left(tmux)

    def test_it_is_drawn_anew_for_another_size_at_once(self):
        tmux = self.begin()
        tmux.resize(40, 10)
        wait_until(lambda: len(tmux.lines()[0]) <= 40 and "…" in tmux.screen(), "it fits the narrow window")
        self.assertEqual(sum("sbx" in line for line in tmux.lines()), 1)
        self.assertEqual(len(tmux.lines()), 4, tmux.screen())
        tmux.resize(120, 20)
        tmux.expect(self.box)
        tmux.key("q")
        tmux.expect_gone("q leaves")
        self.check_left(tmux)

    def test_ctrl_z_gives_the_terminal_back_and_fg_takes_it_again(self):
        tmux = self.begin()
        tmux.key("C-z")
        tmux.expect("Stopped")
        self.assertFalse(tmux.has_second_screen())
        self.assertEqual(tmux.modes(), self.before)
        tmux.type("fg\n")
        tmux.expect("q leaves")
        self.assertTrue(tmux.has_second_screen())
        tmux.key("q")
        tmux.expect_gone("q leaves")
        self.check_left(tmux)


class Colours(InTmux):
    COMMANDS = ("ps", "doctor", "drivers", "inspect nobody", "run -- true")

    def setUp(self):
        self.box = self.create(driver="local")

    def has_colour(self, tmux, command):
        tmux.run(command)
        return ESCAPE in tmux.coloured()

    def test_a_terminal_has_colours(self):
        tmux = self.open(120, 200)
        for command in self.COMMANDS:
            with self.subTest(command):
                self.assertTrue(self.has_colour(tmux, f"atoll {command}"), tmux.coloured())

    def test_no_colour_is_left_where_it_is_not_wanted(self):
        for prefix, suffix in (("NO_COLOR=1 ", ""), ("TERM=dumb ", ""), ("", " 2>&1 | cat")):
            tmux = self.open(120, 200)
            for command in self.COMMANDS:
                with self.subTest(prefix + command + suffix):
                    self.assertFalse(self.has_colour(tmux, f"{prefix}atoll {command}{suffix}"), tmux.coloured())


class Pipes(InTmux):
    def setUp(self):
        self.box = self.create(driver="native")

    def test_a_reader_that_leaves_ends_it_at_once_and_without_a_word(self):
        self.daemon.start_process(self.box, "sh", "-c", "echo only; exec sleep 1000")
        tmux = self.open(120, 40)
        for command, shown in (("atoll ps | head -1", "ID"), (f"atoll logs -f {self.box} | head -1", "only"),
                               ("yes | atoll run -i -q -- cat | head -1", "y"), ("atoll --help | head -1", "usage"),
                               ("atoll events --after 0 | head -1", "pending"),
                               (f"atoll exec {self.box} -- yes | head -1", "y"), ("atoll doctor | head -1", "atoll")):
            with self.subTest(command):
                lines = tmux.run(command)
                self.assertEqual(len(lines), 1, lines)
                self.assertIn(shown, lines[0])
                self.assertRegex(tmux.screen(), r"theend\d+=0")

    def test_its_exit_code_is_that_of_any_program(self):
        for command in (["logs", "-f", self.box], ["events", "--after", "0"], ["ps"]):
            with self.subTest(command):
                self.daemon.start_process(self.box, "sh", "-c", "echo only; exec sleep 1000")
                atoll = subprocess.Popen([ATOLL, command[0], "--state", self.daemon.state, *command[1:]],
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                if command != ["ps"]:
                    atoll.stdout.readline()
                atoll.stdout.close()
                said = atoll.stderr.read()
                atoll.stderr.close()
                self.assertIn(atoll.wait(timeout=20), (141, 0) if command == ["ps"] else (141,))
                self.assertEqual(said, b"")


class Tables(InTmux):
    def setUp(self):
        for label in LABELS:
            key = self.daemon.call("POST", "/v1/keys", {"role": "viewer", "label": label}).json
            self.addCleanup(self.daemon.call, "DELETE", "/v1/keys/" + key["id"])
        for number in range(3):
            self.create(driver="local", name=f"a-name-of-{'many-' * 8}letters-{number}")

    def test_every_row_fits_on_a_line(self):
        keys = len(self.daemon.call("GET", "/v1/keys").json["keys"])
        for columns in 80, 120, 200:
            tmux = self.open(columns, 40)
            for command, rows in (("keys list", keys + 1), ("ps", 4), ("stats", 4)):
                with self.subTest(f"{command} in {columns} columns"):
                    lines = tmux.run(f"atoll {command}")
                    self.assertEqual(len(lines), rows, "\n".join(lines))
                    self.assertEqual(len({len(line.split()[0]) for line in lines[1:]}), 1, lines)

    def test_nothing_that_a_guest_names_reaches_the_terminal_as_a_command(self):
        box = self.create(driver="native")
        made = self.daemon.exec(box, "python3", "-c", r"open('a\x1b[31mred\x1b[2J\u202egpj', 'w').write('word')")
        self.assertEqual(made["exit_code"], 0, made)
        tmux = self.open(120, 40)
        for command in ("keys list", f"find {box} .", f"grep word {box} .", f"diff {box}", f"cp {box}:nothing /tmp/nothing"):
            with self.subTest(command):
                lines = tmux.run(f"NO_COLOR=1 atoll {command}")
                self.assertNotIn(ESCAPE, tmux.coloured())
                self.assertNotIn("\u202e", "\n".join(lines))
                self.assertIn(command.split()[0], tmux.screen(), "the screen was cleared")

    def test_a_pipe_gets_all_of_it(self):
        shown = subprocess.run([ATOLL, "keys", "--state", self.daemon.state, "list"], capture_output=True, text=True, timeout=30)
        self.assertIn(LABELS[0], shown.stdout)
        self.assertIn(LABELS[-1].strip(), shown.stdout)


class Bars(InTmux):
    def setUp(self):
        self.box = self.create(driver="local")
        directory = tempfile.TemporaryDirectory(prefix="atoll-live-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def test_map_redraws_one_line_and_leaves_nothing_of_it(self):
        tmux = self.open(80, 24)
        go = os.path.join(self.directory, "go")
        # The second run waits until the file is there; the third fails.
        tmux.type("printf '0\\n1\\n2\\n' | atoll map -j 1 --driver local -- sh -c "
                  f"'test {{}} != 1 || until test -e {go}; do sleep 0.05; done; test {{}} != 2'; echo code''=$?\n")
        tmux.expect("33% 1 of 3, 0 failed")
        self.assertEqual(sum("of 3" in line for line in tmux.lines()), 1, tmux.screen())
        tmux.resize(30, 24)
        open(go, "w").close()
        tmux.expect("code=1")
        tmux.expect_gone("[=")
        self.assertNotIn("0 failed", tmux.screen())
        self.assertIn("2 of 3 succeeded", tmux.screen("-J"))

    def test_cp_shows_how_far_it_is_and_leaves_nothing_of_it(self):
        big = os.path.join(self.directory, "big")
        with open(big, "wb") as file:
            file.truncate(64 << 20)
        record = os.path.join(self.directory, "record")
        tmux = self.open(60, 24)
        tmux.record(record)

        def recorded():
            with open(record, "rb") as file:
                return file.read()
        # The daemon holds its breath for longer than a copy stays without a bar.
        os.kill(self.daemon.process.pid, signal.SIGSTOP)
        try:
            tmux.type(f"atoll cp {big} {self.box}:big; echo code''=$?\n")
            wait_until(lambda: self.asks(tmux), "cp waits for the daemon")
            wait_until(lambda begun=time.monotonic(): time.monotonic() - begun > 0.6, "more than 300 ms pass")
        finally:
            os.kill(self.daemon.process.pid, signal.SIGCONT)
        tmux.expect("code=0")
        wait_until(lambda: b"code=0" in recorded(), "all of it is recorded")
        bars = re.findall(rb"\r\x1b\[K(\[=*>? *\] \d+% [^\r\n]*)", recorded())
        self.assertTrue(bars, "no bar was drawn")
        self.assertTrue(all(len(bar) < 60 for bar in bars), bars)
        self.assertNotIn("%", tmux.screen())

    @staticmethod
    def asks(tmux):
        """Whether the shell's child has connected, and sleeps."""
        return any((stat_of(int(pid)) or "?")[0] == "S" and any("socket:" in name for name in files_of(int(pid)))
                   for pid in children_of(tmux.shell()))

    def test_a_pipe_gets_none_of_it(self):
        done = subprocess.run([ATOLL, "map", "--state", self.daemon.state, "--driver", "local", "--", "true"], input=b"1\n2\n",
                              capture_output=True, timeout=60)
        self.assertEqual((done.stdout, done.stderr, done.returncode), (b"", b"", 0))
        tmux = self.open(100, 24)
        lines = tmux.run("printf '1\\n2\\n' | TERM=dumb atoll map --driver local -- true")
        self.assertEqual([line for line in lines if "[" in line], [])


if __name__ == "__main__":
    unittest.main()
