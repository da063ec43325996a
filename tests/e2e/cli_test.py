"""The command line as a person uses it: with no daemon, and with one."""

import contextlib
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import unittest

from live import ATOLL, NOTHING, Daemon, census, wait_until


RUNTIME = tempfile.mkdtemp(prefix="atoll-e2e-")  # where embedded runs live


def tearDownModule():
    os.rmdir(os.path.join(RUNTIME, "atoll"))
    os.rmdir(RUNTIME)


def clean_environment(**more):
    """Without what the host may be running: its daemon is none of our business."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("ATOLL_") or k == "ATOLL_LIBEXEC"}
    return {**inherited, "ATOLL_STATE": "/nonexistent/atoll", "XDG_RUNTIME_DIR": RUNTIME, **more}


def atoll(*arguments, stdin=b"", cwd=None, env=None, timeout=60):
    environment = clean_environment(**(env or {}))
    return subprocess.run([ATOLL, *arguments], input=stdin, capture_output=True, cwd=cwd, env=environment,
                          timeout=timeout)


# What a run gets that names no driver.
STRONGEST = "native" if os.geteuid() == 0 else "rootless"


class Embedded(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(census(RUNTIME), NOTHING)
        self.assertEqual(os.listdir(os.path.join(RUNTIME, "atoll")), [])

    def test_run_prints_what_the_program_prints_and_nothing_else(self):
        done = atoll("run", "--", "python3", "-c", "print(6*7)")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"42\n", b""))

    def test_run_without_the_dashes(self):
        self.assertEqual(atoll("run", "echo", "-n", "hi").stdout, b"hi")

    def test_exit_codes(self):
        for command, code in ((("true",), 0), (("sh", "-c", "exit 7"), 7), (("no-such-program",), 127),
                              (("/etc/passwd",), 126), (("sh", "-c", "kill -TERM $$"), 143)):
            self.assertEqual(atoll("run", "--", *command).returncode, code, command)
        self.assertEqual(atoll("run", "--timeout", "200ms", "--", "sleep", "60").returncode, 124)
        self.assertEqual(atoll("run", "--no-such-flag", "--", "true").returncode, 2)
        self.assertEqual(atoll("run", "--driver", "no-such-driver", "--", "true").returncode, 125)

    def test_nonsense_is_a_usage_error(self):
        for flags in (("--name", "No Good"), ("--label", "novalue"), ("--label", "a b=c"), ("--ttl", "99999999999d"),
                      ("--idle", "99999999999d"), ("--timeout", "99999999999d"), ("-e", "A B=hidden"), ("-e", "=hidden")):
            done = atoll("run", *flags, "--", "true")
            self.assertEqual(done.returncode, 2, (flags, done.stderr))
            self.assertNotIn(b"hidden", done.stderr)

    def test_what_the_engine_refuses_is_told_in_flags(self):
        for flag, words in (("--ttl", b"300 days is longer than the 7 days that a sandbox may live"),
                            ("--idle", b"300 days is longer than the 7 days that a sandbox may live unused"),
                            ("--timeout", b"300 days is longer than the 30 days that a command may run")):
            done = atoll("run", flag, "300d", "--", "true")
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(flag.encode() + b": " + words, done.stderr)
            self.assertNotIn(b"_s", done.stderr)

    def test_a_number_alone_counts_mib_for_a_flag_as_for_a_variable(self):
        total = ("sh", "-c", "grep MemTotal /proc/meminfo")
        flag = atoll("run", "--driver", "native", "--memory", "64", "--", *total)
        variable = atoll("run", "--driver", "native", "--", *total, env={"ATOLL_MEMORY": "64"})
        self.assertIn(f"{64 << 10} kB".encode(), flag.stdout, flag.stderr)
        self.assertEqual(flag.stdout, variable.stdout, variable.stderr)

    def test_output_that_has_nowhere_to_go_is_told(self):
        for words in (("version",), ("run", "--json", "--", "echo", "hi")):
            done = subprocess.run(["sh", "-c", '"$0" "$@" >&-', ATOLL, *words], capture_output=True, env=clean_environment(),
                                  timeout=60)
            self.assertEqual(done.returncode, 125, done)
            self.assertIn(b"stdout is closed", done.stderr)

    def test_home_is_not_needed(self):
        environment = clean_environment()
        for name in ("HOME", "ATOLL_STATE", "XDG_STATE_HOME"):
            environment.pop(name, None)
        # What the user's own daemon would answer is not asked here, only that nobody refuses.
        done = subprocess.run([ATOLL, "version"], env=environment, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_refused_floor_says_why_and_what_helps(self):
        done = atoll("run", "--min-isolation", "vm", "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"vm", done.stderr)
        self.assertIn(b"hint", done.stderr)

    def test_stdin_streams_through(self):
        data = os.urandom(3_000_000)
        self.assertEqual(atoll("run", "-i", "--", "cat", stdin=data).stdout, data)

    def test_binary_output_is_unchanged_and_streams_are_apart(self):
        done = atoll("run", "--", "sh", "-c", r"printf '\377\000x'; printf err >&2; exit 3")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, b"\xff\x00x", b"err"))

    def test_environment_is_given_not_inherited(self):
        done = atoll("run", "-e", "GIVEN=1", "-e", "TAKEN", "--", "env", env={"TAKEN": "2", "LEAKED": "3"})
        lines = done.stdout.decode().splitlines()
        self.assertIn("GIVEN=1", lines)
        self.assertIn("TAKEN=2", lines)
        self.assertNotIn("LEAKED=3", lines)

    def test_here_shows_the_current_directory(self):
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "data.txt"), "w") as file:
                file.write("hello")
            read = atoll("run", "--here=ro", "--", "cat", "data.txt", cwd=directory)
            self.assertEqual(read.stdout, b"hello")
            write = atoll("run", "--here=ro", "--", "sh", "-c", "echo x > data.txt", cwd=directory)
            self.assertNotEqual(write.returncode, 0)
            changed = atoll("run", "--here=rw", "--", "sh", "-c", "echo new > data.txt", cwd=directory)
            self.assertEqual(changed.returncode, 0, changed.stderr)
            with open(os.path.join(directory, "data.txt")) as file:
                self.assertEqual(file.read(), "new\n")
            copied = atoll("run", "--here=cow", "--", "sh", "-c", "cat data.txt; echo x > data.txt; cat data.txt",
                           cwd=directory)
            self.assertEqual((copied.returncode, copied.stdout), (0, b"new\nx\n"), copied.stderr)
            with open(os.path.join(directory, "data.txt")) as file:
                self.assertEqual(file.read(), "new\n")
            refused = atoll("run", "--driver", "subprocess", "--here=cow", "--", "true", cwd=directory)
            self.assertEqual(refused.returncode, 125)
            self.assertIn(b"copy-on-write", refused.stderr)

    def test_json_tells_everything(self):
        done = atoll("run", "--json", "--", "echo", "hi")
        told = json.loads(done.stdout)
        self.assertEqual((told["exit_code"], told["stdout"], told["driver"], told["isolation"]),
                         (0, "hi\n", STRONGEST, "container"))

    def test_json_keeps_as_much_output_as_a_daemon_does(self):
        told = json.loads(atoll("run", "--json", "--", "sh", "-c", "head -c 9000000 /dev/zero | tr '\\0' x").stdout)
        self.assertEqual((len(told["stdout"]), told["truncated"]), (8 << 20, True))

    def test_a_killed_run_is_reclaimed_by_the_next(self):
        environment = clean_environment()
        run = subprocess.Popen([ATOLL, "run", "--", "sh", "-c", "echo up; sleep 600"], stdout=subprocess.PIPE,
                               env=environment)
        self.assertEqual(run.stdout.readline(), b"up\n")
        companions = [pid for name, pid in census(RUNTIME)["processes"] if name.startswith("atoll")]
        self.assertGreaterEqual(len(companions), 3, "the run itself, its launcher, its agent")
        for pid in companions:
            with contextlib.suppress(ProcessLookupError):  # the death of one may have been another's
                os.kill(pid, signal.SIGKILL)
        run.wait()
        run.stdout.close()
        self.assertEqual(atoll("run", "--", "true").returncode, 0)
        wait_until(lambda: census(RUNTIME) == NOTHING, "the next run has cleaned up")

    def test_ctrl_c_ends_the_program(self):
        environment = clean_environment()
        run = subprocess.Popen([ATOLL, "run", "--", "sh", "-c", "trap 'exit 9' INT; echo up; while :; do sleep 0.1; done"],
                               stdout=subprocess.PIPE, env=environment, start_new_session=True)
        self.assertEqual(run.stdout.readline(), b"up\n")
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does
        self.assertEqual(run.wait(timeout=20), 9)
        run.stdout.close()

    def test_ctrl_c_of_a_program_that_dies_of_it_leaves_nothing(self):
        with tempfile.NamedTemporaryFile() as inputs:
            inputs.write(b"1\n2\n3\n")
            inputs.flush()
            run = subprocess.Popen([ATOLL, "map", "-a", inputs.name, "--", "sleep", "600"], stderr=subprocess.DEVNULL,
                                   env=clean_environment(), start_new_session=True)
            agents = lambda: [pid for name, pid in census(RUNTIME)["processes"] if name == "atoll-agent"]
            wait_until(lambda: len(agents()) == 3, "all of them run")
            os.killpg(run.pid, signal.SIGINT)
            run.wait(timeout=20)
        wait_until(lambda: census(RUNTIME) == NOTHING and not os.listdir(os.path.join(RUNTIME, "atoll")), "nothing is left")

    def test_on_a_terminal_one_line_tells_what_it_cost(self):
        leader, follower = pty.openpty()
        environment = clean_environment(NO_COLOR="1")
        run = subprocess.Popen([ATOLL, "run", "--", "true"], stdin=follower, stdout=follower, stderr=follower,
                               env=environment)
        os.close(follower)
        run.wait(timeout=20)
        shown = b""
        while select.select([leader], [], [], 0)[0]:
            try:
                shown += os.read(leader, 4096)
            except OSError:
                break
        os.close(leader)
        self.assertIn(STRONGEST.encode(), shown)
        self.assertIn(b"cpu", shown)
        self.assertEqual(shown.strip().count(b"\n"), 0, shown)


class WithDaemon(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.end()  # asserts that nothing is left

    def cli(self, *arguments, **more):
        return atoll(*arguments, env={"ATOLL_STATE": self.daemon.state}, **more)

    def test_a_copy_goes_through_no_link_and_spares_what_is_there(self):
        self.assertEqual(self.cli("create", "--name", "box", "--driver", "local").returncode, 0)
        with tempfile.TemporaryDirectory() as directory:
            victim, out = os.path.join(directory, "victim"), os.path.join(directory, "out")
            os.mkdir(victim)
            os.mkdir(out)
            # A link comes first, and then a directory of the same name.
            self.cli("exec", "box", "--", "sh", "-c", f"mkdir res; ln -s {victim} res/d; ln -s /nonexistent gone")
            self.assertEqual(self.cli("cp", "box:res", out).returncode, 0)
            self.assertEqual(os.readlink(os.path.join(out, "res/d")), victim)
            self.cli("exec", "box", "--", "sh", "-c", "rm res/d; mkdir res/d; echo x > res/d/k")
            for source, target in (("box:res/d", f"{out}/res"), ("box:res/d/k", f"{out}/res/d"), ("box:res", out)):
                self.assertNotEqual(self.cli("cp", source, target).returncode, 0, (source, target))
            self.assertEqual(os.listdir(victim), [])
            self.assertEqual(self.cli("cp", "box:res/d/k", f"{out}/res/d/").returncode, 0, "a link that was meant")
            self.assertEqual(os.listdir(victim), ["k"])
            # What cannot be read leaves the old file as it was, and nothing else.
            keep = os.path.join(out, "keep")
            pathlib.Path(keep).write_text("precious")
            self.cli("exec", "box", "--", "sh", "-c", "mkdir locked; mkfifo pipe")
            for source in ("box:gone", "box:pipe", "box:missing"):
                self.cli("cp", source, keep)
                self.assertEqual(pathlib.Path(keep).read_text(), "precious", source)
            self.assertEqual(sorted(os.listdir(out)), ["keep", "res"])
            # A device is written to, not replaced.
            self.assertEqual(self.cli("cp", "box:res/d/k", "/dev/null").returncode, 0)
            self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        self.assertEqual(self.cli("rm", "box").returncode, 0)

    def test_the_life_of_a_sandbox(self):
        created = self.cli("create", "--name", "box", "--driver", "local", "-e", "K=v", "--label", "team=a", "--json")
        self.assertEqual(created.returncode, 0, created.stderr)
        box = json.loads(created.stdout)["id"]
        self.assertIn(b"box", self.cli("ps").stdout)
        self.assertEqual(self.cli("exec", "box", "--", "sh", "-c", "echo $K; exit 5").stdout, b"v\n")
        self.assertEqual(self.cli("exec", "box", "--", "sh", "-c", "exit 5").returncode, 5)
        self.assertEqual(self.cli("exec", "-i", "box", "--", "cat", stdin=b"through").stdout, b"through")
        self.assertEqual(json.loads(self.cli("inspect", "box").stdout)["id"], box)
        with tempfile.TemporaryDirectory() as directory:
            local = os.path.join(directory, "f")
            with open(local, "wb") as file:
                file.write(os.urandom(100_000))
            self.assertEqual(self.cli("cp", local, "box:sub/f").returncode, 0)
            back = self.cli("cp", "box:sub/f", local + "2")
            self.assertEqual(back.returncode, 0, back.stderr)
            with open(local, "rb") as one, open(local + "2", "rb") as two:
                self.assertEqual(one.read(), two.read())
        self.assertEqual(self.cli("logs", "box").returncode, 0)
        self.assertEqual(json.loads(self.cli("stats", "box", "--json").stdout)[0]["processes"], 0)
        self.assertEqual(self.cli("stop", "box").returncode, 0)
        self.assertEqual(self.cli("exec", "box", "--", "true").returncode, 125)
        self.assertEqual(self.cli("start", "box").returncode, 0)
        self.assertEqual(self.cli("exec", "box", "--", "sh", "-c", "echo $K; ls sub").stdout, b"v\nf\n")
        self.assertEqual(self.cli("rm", "box").returncode, 0)
        self.assertEqual(self.cli("exec", "box", "--", "true").returncode, 125)

    def test_run_goes_through_the_daemon(self):
        done = self.cli("run", "--", "python3", "-c", "print(6*7)")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"42\n", b""))

    def test_json_keeps_as_much_output_as_without_a_daemon(self):
        told = json.loads(self.cli("run", "--json", "--", "sh", "-c", "head -c 9000000 /dev/zero | tr '\\0' x").stdout)
        self.assertEqual((len(told["stdout"]), told["truncated"]), (8 << 20, True))

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be somebody else")
    def test_somebody_elses_daemon_is_not_taken_for_none(self):
        url = f"unix:{self.daemon.socket_path}"
        for arguments in (("run", "--state", self.daemon.state, "--", "true"), ("ps", "--state", self.daemon.state),
                          ("drivers", "--state", self.daemon.state), ("ps", "--url", url),
                          ("run", "--url", url, "--", "true")):
            with tempfile.TemporaryDirectory() as directory:
                program = shutil.copy(ATOLL, directory)  # where everybody may go
                os.chmod(directory, 0o755)
                done = subprocess.run([program, *arguments], env=clean_environment(), capture_output=True, timeout=60,
                                      user=65534, group=65534, extra_groups=[])
            self.assertEqual(done.returncode, 126, (arguments, done.stderr))
            self.assertIn(b"permission denied", done.stderr)
            self.assertIn(b"hint", done.stderr)
            self.assertNotIn(b"no daemon", done.stderr)

    def test_hints_speak_of_commands(self):
        box = self.cli("create").stdout.decode().strip()
        done = self.cli("logs", "--process", "77", box)
        self.assertEqual(done.returncode, 125)
        self.assertNotIn(b"/v1/", done.stderr)
        self.assertEqual(self.cli("rm", box).returncode, 0)

    def test_a_sandbox_without_a_name_is_a_usage_error(self):
        for words in (("exec", "", "--", "ls"), ("rm", ""), ("rm", "x", ""), ("inspect", ""), ("logs", ""), ("find", ""),
                      ("stats", ""), ("port", "", "80"), ("renew", ""), ("attach", ""), ("token", ""), ("diff", ""), ("watch", "")):
            done = self.cli(*words)
            self.assertEqual(done.returncode, 2, (words, done))
            self.assertIn(b"the name of the sandbox is empty", done.stderr)

    def test_a_key_without_an_id_is_a_usage_error(self):
        self.assertEqual(self.cli("keys", "revoke", "").returncode, 2)

    def test_a_limit_is_told_in_the_words_that_were_typed(self):
        for flag, words in (("--ttl", b"8 days is longer than the 7 days"), ("--idle", b"8 days is longer than the 7 days")):
            done = self.cli("create", flag, "8d")
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(flag.encode() + b": " + words, done.stderr)

    def test_output_of_a_command_that_has_nowhere_to_go_is_told(self):
        done = subprocess.run(["sh", "-c", '"$0" run -- echo hi >&-', ATOLL], capture_output=True, timeout=60,
                              env=clean_environment(ATOLL_STATE=self.daemon.state))
        self.assertEqual(done.returncode, 125, done)
        self.assertIn(b"stdout is closed", done.stderr)

    def test_over_tcp_a_key_is_needed(self):
        ready = next(json.loads(line) for line in self.daemon.log().splitlines() if "127.0.0.1" in line)
        address = next(str(v) for v in ready.values() if "127.0.0.1:" in str(v))
        url = address if address.startswith("http") else f"http://{address}"
        refused = atoll("ps", env={"ATOLL_URL": url, "ATOLL_API_KEY": "wrong"})
        self.assertEqual(refused.returncode, 125)
        self.assertIn(b"key", refused.stderr)
        self.assertEqual(atoll("ps", env={"ATOLL_URL": url, "ATOLL_API_KEY": self.daemon.key}).returncode, 0)

    def test_drivers_say_what_they_do_not_protect(self):
        told = self.cli("drivers", "--json").stdout
        names = [driver["name"] for driver in json.loads(told)] if told.strip().startswith(b"[") else \
            [json.loads(line)["name"] for line in told.splitlines()]
        self.assertEqual(sorted(names), ["chroot", "docker", "gvisor", "local", "native", "podman", "rootless", "subprocess"])
        self.assertIn(b"unprotected", self.cli("drivers").stdout)

    def test_a_mistyped_verb_gets_a_suggestion(self):
        done = self.cli("inspekt", "x")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"inspect", done.stderr)


class FailedServe(unittest.TestCase):
    def test_a_taken_port_leaves_no_state_directory(self):
        with tempfile.TemporaryDirectory() as directory, socket.create_server(("127.0.0.1", 0)) as taken:
            state = os.path.join(directory, "new")
            done = atoll("serve", "--listen", f"127.0.0.1:{taken.getsockname()[1]}", "--state", state)
            self.assertEqual(done.returncode, 125, done.stderr)
            self.assertIn(b"--listen", done.stderr)
            self.assertEqual(os.listdir(directory), [])


class Down(unittest.TestCase):
    def test_ends_sandboxes_and_daemon(self):
        daemon = Daemon().start()
        box = daemon.create(driver="subprocess")
        daemon.start_process(box, "sleep", "600")
        done = atoll("down", env={"ATOLL_STATE": daemon.state})
        self.assertEqual(done.returncode, 0, done.stderr)
        daemon.process.wait(timeout=20)
        daemon.end()


if __name__ == "__main__":
    unittest.main()
