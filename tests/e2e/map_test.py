"""`atoll map` and POST /v1/runs:batch: many runs, each in a sandbox of its own."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from live import ATOLL, LIBEXEC, Daemon, wait_until
from terminal import Terminal

LINES = "application/x-ndjson"


def setUpModule():
    global daemon
    daemon = Daemon().start()


def tearDownModule():
    daemon.end()  # asserts that nothing is left


def atoll(*arguments, stdin="", with_daemon=True, **kwargs):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ATOLL_") or k == "ATOLL_LIBEXEC"}
    if with_daemon:
        environment["ATOLL_STATE"] = daemon.state
        arguments = (arguments[0], "--state", daemon.state, *arguments[1:])
    return subprocess.run([ATOLL, *arguments], input=stdin, capture_output=True, text=True, timeout=120, env=environment,
                          **kwargs)


class Batch(unittest.TestCase):
    def batch(self, runs, accept=None, **more):
        return daemon.call("POST", "/v1/runs:batch", {"runs": runs, **more}, headers={"Accept": accept} if accept else {})

    def test_results_come_in_the_order_of_the_request(self):
        answer = self.batch([{"argv": ["echo", str(i)]} for i in range(30)], concurrency=5)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual([run["stdout"] for run in answer.json["runs"]], [f"{i}\n" for i in range(30)])
        self.assertEqual((answer.json["succeeded"], answer.json["failed"], answer.json["errors"]), (30, 0, 0))

    def test_a_stream_tells_of_each_as_it_ends(self):
        # The first ends only after the second has been told of: the test writes what it waits for.
        with tempfile.TemporaryDirectory() as shown:
            os.chmod(shown, 0o755)
            sandbox = {"driver": "native", "host_dirs": [{"path": shown, "guest_path": "/shown", "access": "ro"}]}
            runs = [{"command": "until test -e /shown/go; do sleep 0.02; done; echo slow"}, {"argv": ["echo", "quick"]}]
            connection = daemon.connection()
            connection.request("POST", "/v1/runs:batch", json.dumps({"runs": runs, "sandbox": sandbox, "concurrency": 2}),
                               {"Content-Type": "application/json", "Accept": LINES})
            with connection.getresponse() as stream:
                first = json.loads(stream.readline())
                self.assertEqual((first["type"], first["index"], first["stdout"]), ("run", 1, "quick\n"))
                pathlib.Path(shown, "go").touch()
                second, end = (json.loads(stream.readline()) for _ in range(2))
            connection.close()
        self.assertEqual((second["index"], second["stdout"]), (0, "slow\n"))
        self.assertEqual((end["type"], end["succeeded"], end["failed"]), ("end", 2, 0))

    def test_each_run_has_a_sandbox_of_its_own(self):
        answer = self.batch([{"command": "cat /tmp/mark 2>/dev/null; echo x > /tmp/mark; echo $ATOLL_SANDBOX_ID"}] * 20)
        self.assertEqual(len({run["stdout"] for run in answer.json["runs"]}), 20)
        self.assertFalse([run for run in answer.json["runs"] if run["stdout"].startswith("x")])

    def test_stdin_environment_and_limits_reach_each_run(self):
        answer = self.batch([{"argv": ["cat"], "stdin": "hello"}, {"command": "echo $A"},
                             {"argv": ["sleep", "60"], "timeout_ms": 200}], sandbox={"env": {"A": "b"}})
        first, second, third = answer.json["runs"]
        self.assertEqual((first["stdout"], second["stdout"], third["reason"]), ("hello", "b\n", "timeout"))

    def test_failures_are_tried_again_only_if_asked(self):
        self.assertEqual(self.batch([{"argv": ["false"]}], attempts=3).json["runs"][0]["attempts"], 1)
        self.assertEqual(self.batch([{"argv": ["false"]}], attempts=3, retry_failures=True).json["runs"][0]["attempts"], 3)

    def test_what_cannot_be_asked_is_refused_whole(self):
        for body, word in [({"runs": []}, "nothing"), ({"runs": [{}]}, "runs[0]"), ({}, "runs"),
                           ({"runs": [{"argv": ["true"]}], "concurrency": 0}, "concurrency"),
                           ({"runs": [{"argv": ["true"]}], "attempts": 11}, "attempts"),
                           ({"runs": [{"argv": ["true"]}], "sandbox": {"name": "one"}}, "name"),
                           ({"runs": [{"argv": ["true"]}] * 10001}, "10000"),
                           ({"runs": [{"argv": ["true"], "stdin_open": True}]}, "stdin_open"),
                           ({"runs": [{"argv": ["true"], "max_output_bytes": 67108864}] * 3}, "256 MiB")]:
            answer = daemon.call("POST", "/v1/runs:batch", body)
            self.assertIn(answer.status, (400, 413), answer)
            self.assertIn(word, answer.json["detail"])

    def test_a_batch_that_is_too_large_says_how_to_split_it(self):
        run = {"argv": ["true"]}
        too_long = [dict(run, stdin="x" * 1_000_000)] * 34  # more than 32 MiB
        for runs, status in (([run] * 10_001, 400), ([run] * 70_000, 413), (too_long, 413)):
            answer = daemon.call("POST", "/v1/runs:batch", {"runs": runs})
            self.assertEqual(answer.status, status, answer)
            self.assertIn("at most 10,000 runs and 32 MiB at a time", answer.json["hint"])
            self.assertIn("atoll map", answer.json["hint"])

    def test_a_client_that_leaves_ends_all_of_it(self):
        connection = daemon.connection()
        seconds = str(300 + os.getpid() / 1e7)  # nobody else sleeps so long
        body = json.dumps({"runs": [{"argv": ["sleep", seconds]}] * 6, "concurrency": 3})
        connection.request("POST", "/v1/runs:batch", body, {"Content-Type": "application/json", "Accept": LINES})
        sleepers = lambda: subprocess.run(["pgrep", "-fx", f"sleep {seconds}"], capture_output=True).stdout.split()
        wait_until(lambda: len(sleepers()) == 3, "three run")
        connection.close()
        wait_until(lambda: not sleepers(), "none is left, and no other has begun")


class Map(unittest.TestCase):
    def both(self, check):
        for with_daemon in (True, False):
            with self.subTest(with_daemon=with_daemon):
                check(lambda *a, **k: atoll(*a, with_daemon=with_daemon, **k))

    def test_a_run_for_each_line(self):
        def check(run):
            done = run("map", "-j", "3", "-k", "--", "echo", "{#}:{}", stdin="a b\nc\n\n$(id)\n")
            self.assertEqual((done.returncode, done.stdout), (0, "1:a b\n2:c\n3:$(id)\n"), done)
        self.both(check)

    def test_the_input_is_the_last_argument_or_stdin(self):
        def check(run):
            self.assertEqual(run("map", "-k", "--", "echo", "x", stdin="1\n2\n").stdout, "x 1\nx 2\n")
            self.assertEqual(run("map", "-k", "--stdin", "--", "cat", stdin="1\n2").stdout, "12")
        self.both(check)

    def test_failures_are_told_and_counted(self):
        def check(run):
            done = run("map", "-k", "--", "sh", "-c", "echo out{}; echo err{} >&2; exit {}", stdin="0\n3\n0\n")
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stdout, "out0\nout3\nout0\n")
            self.assertIn("input 2 '3': exit code 3", done.stderr)
            self.assertIn("2 of 3 succeeded, 1 failed", done.stderr)
        self.both(check)

    def test_json_has_the_input(self):
        def check(run):
            done = run("map", "--json", "-k", "--", "printf", "{}", stdin="a\nb\n")
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual([(l["index"], l["input"], l["stdout"], l["exit_code"]) for l in lines],
                             [(0, "a", "a", 0), (1, "b", "b", 0)])
        self.both(check)

    def test_much_output_is_whole_or_said_to_be_cut(self):
        def check(run):
            done = run("map", "--", "sh", "-c", "head -c {} /dev/zero | tr '\\0' x", stdin="200000\n")
            self.assertEqual((len(done.stdout), done.stderr), (200000, ""))
            done = run("map", "--", "sh", "-c", "head -c {} /dev/zero | tr '\\0' x", stdin="9000000\n")
            self.assertEqual(len(done.stdout), 8 << 20)
            self.assertIn("input 1 '9000000': its output was cut after 8 MiB", done.stderr)
        self.both(check)

    def test_an_input_that_no_run_can_have_is_refused_before_the_first(self):
        def check(run):
            done = run("map", "--", "echo", stdin="a\n\udcff\n", errors="surrogateescape")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("input 2: it is not UTF-8", done.stderr)
            done = run("map", "-k", "--stdin", "--", "wc", "-c", stdin="a\n\udcff\n", errors="surrogateescape")
            self.assertEqual(done.stdout, "1\n1\n")
            self.assertEqual(run("map", "-i", "--", "cat", stdin="a\n").returncode, 2)
        self.both(check)

    def test_retries(self):
        def check(run):
            done = run("map", "--json", "--retry", "2", "--", "false", stdin="a\n")
            self.assertEqual((json.loads(done.stdout)["attempts"], done.returncode), (3, 1))
        self.both(check)

    def test_files_of_inputs_with_line_ends_in_them(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "inputs")
            path.write_bytes(b"a\nb\0c\0")
            done = atoll("map", "-k", "-0", "-a", str(path), "--", "echo", "[{}]")
            self.assertEqual(done.stdout, "[a\nb]\n[c]\n")
            self.assertNotEqual(atoll("map", "-a", str(path), "--", "echo").returncode, 0)
            self.assertNotEqual(atoll("map", "-a", directory + "/none", "--", "echo").returncode, 0)

    def test_more_than_one_request_holds(self):
        done = atoll("map", "-k", "-j", "8", "--", "echo", "{}", stdin="".join(f"{i}\n" for i in range(1200)))
        self.assertEqual((done.returncode, done.stdout), (0, "".join(f"{i}\n" for i in range(1200))), done.stderr)

    def test_a_daemon_that_dies_meanwhile_is_told_with_what_is_done(self):
        other = Daemon().start()
        self.addCleanup(lambda: other.start().end())
        # The third waits for ever.
        mapped = subprocess.Popen([ATOLL, "map", "--state", other.state, "-j", "2", "--", "sh", "-c", "test $1 != 2 || sleep 600; echo $1", "sh"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        mapped.stdin.write("0\n1\n2\n")
        mapped.stdin.close()
        shown = {mapped.stdout.readline(), mapped.stdout.readline()}
        other.kill()
        said = mapped.stderr.read()
        self.assertEqual((mapped.wait(timeout=20), shown, mapped.stdout.read()), (125, {"0\n", "1\n"}, ""))
        self.assertIn("the daemon broke off before everything had run: 2 of 3 succeeded", said)
        self.assertIn("what has been shown is complete", said)
        for stream in (mapped.stdout, mapped.stderr):
            stream.close()

    def test_no_inputs_are_no_work(self):
        self.assertEqual(atoll("map", "--", "false", stdin="").returncode, 0)

    def test_what_is_wrong_is_said(self):
        for arguments, word in [(["map"], "no command"), (["map", "-j", "0", "--", "true"], "jobs"),
                                (["map", "--retry", "x", "--", "true"], "retry"),
                                (["map", "--name", "n", "--", "true"], "name")]:
            done = atoll(*arguments, stdin="1\n")
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(word, done.stderr)


class Bar(unittest.TestCase):
    """How many are done, on a terminal, with a daemon and without."""

    BAR = re.compile(rb"\[[=> ]{24}\] (\d+)% (\d+) of 3, (\d+) failed, \d+/s")
    AWAY = b"\r\x1b[K"
    # Says what it got, and ends with that.
    ECHO = ["--", "sh", "-c", "echo out{}; exit {}"]

    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory(prefix="atoll-map-"))
        self.inputs = pathlib.Path(self.directory, "inputs")
        self.inputs.write_text("0\n3\n0\n")

    def map(self, *flags, with_daemon=True, errors=None):
        """All that is seen on a terminal; where `errors` is a file, its stderr goes there."""
        environment = {"ATOLL_LIBEXEC": LIBEXEC, "HOME": self.directory, "XDG_RUNTIME_DIR": self.directory}
        argv = [ATOLL, "map", *(["--state", daemon.state] if with_daemon else []), "-j", "1", *flags, "-a", str(self.inputs), *self.ECHO]
        if errors:
            argv = ["/bin/sh", "-c", 'file=$1; shift; exec "$@" 2>"$file"', "sh", errors, *argv]
        with Terminal(argv, env=environment) as terminal:
            self.assertEqual(terminal.wait(60), 1, terminal.shown)
            return terminal.shown

    def test_it_counts_every_run_and_is_gone_in_the_end(self):
        for with_daemon in (True, False):
            with self.subTest(with_daemon=with_daemon):
                shown = self.map(with_daemon=with_daemon)
                seen = [tuple(int(number) for number in bar) for bar in self.BAR.findall(shown)]
                self.assertEqual(seen, [(0, 0, 0), (33, 1, 0), (66, 2, 1), (100, 3, 1)], shown)
                self.assertEqual(re.findall(rb"out\d", shown), [b"out0", b"out3", b"out0"])
                # What comes after the last one begins where it began.
                last = shown[[bar.end() for bar in self.BAR.finditer(shown)][-1]:]
                self.assertTrue(last.startswith(self.AWAY + b"atoll: 2 of 3 succeeded, 1 failed in "), last)

    def test_there_is_none_where_stderr_is_no_terminal(self):
        for with_daemon in (True, False):
            with self.subTest(with_daemon=with_daemon):
                errors = pathlib.Path(self.directory, "errors")
                shown = self.map(with_daemon=with_daemon, errors=str(errors))
                self.assertEqual(shown, b"out0\r\nout3\r\nout0\r\n")
                told = errors.read_text().splitlines()
                self.assertEqual(told[0], "atoll: input 2 '3': exit code 3")
                self.assertRegex(told[1], r"^atoll: 2 of 3 succeeded, 1 failed in [0-9.]+ s$")
                self.assertEqual(len(told), 2, told)

    def test_there_is_none_for_who_wants_quiet_or_json(self):
        for flag in ("--quiet", "--json"):
            with self.subTest(flag):
                shown = self.map(flag)
                self.assertIsNone(self.BAR.search(shown), shown)
                self.assertNotIn(b"\x1b", shown)


if __name__ == "__main__":
    unittest.main()
