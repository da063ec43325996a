"""The driver `gvisor`: a second kernel around the commands, and nothing of it left behind, whoever is killed."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

import port_test
from chroot_test import make_tree
from live import ATOLL, Daemon, all_pids, is_alive, name_of, parent_of, processes_of, wait_until

COUNTER = "i=0; while :; do echo $i; i=$((i+1)); sleep 0.05; done"


def run(*words, flags=(), before=(), **more):
    return subprocess.run([*before, ATOLL, "run", "--driver", "gvisor", *flags, "--", *words], capture_output=True, text=True,
                          timeout=60, **more)


def with_runsc(program):
    """Before a command: in its mount namespace runsc is this program."""
    script = 'mount --make-rprivate / && mount --bind "$0" "$(readlink -f "$(command -v runsc)")" && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, program]


class Run(unittest.TestCase):
    def expect(self, done, out, code=0):
        self.assertEqual((done.stdout, done.returncode), (out, code), done.stderr)

    def test_a_command_runs_in_another_kernel(self):
        self.expect(run("python3", "-c", "print(6*7)"), "42\n")
        told = run("cat", "/proc/version").stdout
        self.assertIn("Linux version", told)
        self.assertNotEqual(told, pathlib.Path("/proc/version").read_text())

    def test_it_looks_like_any_other_sandbox(self):
        self.expect(run("sh", "-c", "id -un; pwd; echo x > f; ls -l f | cut -c1-10; stat -c %U f; exit 3"),
                    "user\n/workspace\n-rw-r--r--\nuser\n", 3)
        self.expect(run("sh", "-c", "id -u; ls -d /root", flags=("--user", "root")), "0\n/root\n")
        self.expect(run("sh", "-c", "test -e /etc/shadow || echo no; ls /dev | grep -c runsc"), "no\n0\n", 1)

    def test_there_is_no_network(self):
        connect = "import socket; s = socket.socket(); s.settimeout(2); print(s.connect_ex(('192.0.2.1', 80)) != 0)"
        self.expect(run("python3", "-c", connect), "True\n")
        self.assertNotIn("eth", run("cat", "/proc/net/dev").stdout)

    def test_a_file_of_the_caller_is_written_and_read_where_the_caller_is(self):
        with tempfile.TemporaryDirectory(prefix="atoll-gvisor-") as place:
            def of(script, **more):
                box = f"'{ATOLL}' run --driver gvisor --"
                return subprocess.run(["sh", "-c", script.replace("BOX", box)], cwd=place, capture_output=True, text=True, timeout=120,
                                      **more)

            told = of("(echo start; BOX sh -c 'echo from box; echo a complaint >&2'; echo end) > f 2> g; cat f g")
            self.expect(told, "start\nfrom box\nend\na complaint\n")
            told = of("(echo start; BOX echo more; echo end) >> f; tail -n 3 f")
            self.expect(told, "start\nmore\nend\n")
            told = of("printf '1\\n2\\n3\\n' > in; (read first; BOX cat; echo after) < in")
            self.expect(told, "2\n3\nafter\n")
            told = of("BOX cat < in > out; echo $? >> out; cat out")
            self.expect(told, "1\n2\n3\n0\n")

    def test_a_level_finds_it(self):
        done = subprocess.run([ATOLL, "run", "--min-isolation", "sentry", "--", "uname", "-v"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotEqual(done.stdout.strip(), os.uname().version)

    def test_a_tree_of_yours_is_the_root(self):
        with tempfile.TemporaryDirectory(prefix="atoll-gvisor-") as place:
            os.chmod(place, 0o755)
            tree = make_tree(os.path.join(place, "tree"))
            done = run("sh", "-c", "cat /etc/motto; echo mine > /etc/motto && cat /etc/motto; stat -c %A /etc/motto",
                       flags=("--rootfs", str(tree), "--user", "root"))
            self.expect(done, "of the tree\nmine\n-rw-r--r--\n")
            self.assertEqual((tree / "etc/motto").read_text(), "of the tree\n")

    def test_a_copied_directory_leaves_the_host_alone(self):
        with tempfile.TemporaryDirectory(prefix="atoll-gvisor-") as place:
            pathlib.Path(place, "file").write_text("of the host\n")
            self.expect(run("sh", "-c", "cat file; echo changed > file; cat file", flags=("--here=cow",), cwd=place),
                        "of the host\nchanged\n")
            self.assertEqual(pathlib.Path(place, "file").read_text(), "of the host\n")
            refused = run("true", flags=("--here=rw",), cwd=place)
            self.assertEqual(refused.returncode, 125)
            self.assertIn("hint", refused.stderr)

    def test_a_limit_of_memory_holds(self):
        done = run("python3", "-c", "bytearray(512 << 20)", flags=("--memory", "256m"))
        self.assertIn("MemoryError", done.stderr)
        self.assertEqual(run("python3", "-c", "bytearray(64 << 20)", flags=("--memory", "256m")).returncode, 0)

    def test_what_it_cannot_start_with_is_refused_at_once(self):
        refusals = {("--memory", "8m"): "no program is loaded with less than 16 MiB",
                    ("--cpus", "0.01"): "needs at least 0.05 of a processor", ("--pids", "9"): "gvisor cannot limit pids"}
        for flags, words in refusals.items():
            with self.subTest(flags=flags):
                done = run("true", flags=flags)
                self.assertEqual(done.returncode, 125)
                self.assertIn(words, done.stderr)
                self.assertIn("hint:", done.stderr)
        self.expect(run("sh", "-c", "ls / | head -n 1", flags=("--memory", "16m", "--cpus", "0.2")), "bin\n")

    def test_a_runtime_that_is_none_is_no_sandbox(self):
        """Whatever calls itself runsc: an agent that finds itself in the host's kernel runs nothing."""
        with tempfile.TemporaryDirectory(prefix="atoll-gvisor-") as place:
            os.chmod(place, 0o755)
            fake = pathlib.Path(place, "runsc")
            fake.write_text("#!/bin/sh\nexec /opt/atoll/bin/atoll-agent --gate\n")
            fake.chmod(0o755)
            done = run("echo", "ran", before=with_runsc(str(fake)))
            self.assertEqual((done.stdout, done.returncode), ("", 125), done.stderr)
            self.assertIn("the host's own kernel", done.stderr)

            fake.write_text("#!/bin/sh\necho 'no kernel today' >&2\nexit 1\n")
            done = run("echo", "ran", before=with_runsc(str(fake)))
            self.assertEqual((done.stdout, done.returncode), ("", 125), done.stderr)
            self.assertIn("no kernel today", done.stderr)

    def test_without_runsc_it_says_what_to_install(self):
        with tempfile.NamedTemporaryFile(prefix="atoll-gvisor-") as no_program:
            done = run("true", before=with_runsc(no_program.name))
            self.assertEqual(done.returncode, 125)
            self.assertIn("apt install runsc", done.stderr)
            doctor = subprocess.run([*with_runsc(no_program.name), ATOLL, "doctor", "gvisor"], capture_output=True, text=True, timeout=60)
            self.assertEqual(doctor.returncode, 1)
            self.assertIn("apt install runsc", doctor.stdout)

    def test_doctor_attacks_it_and_nothing_is_reached(self):
        done = subprocess.run([ATOLL, "doctor", "--attack", "--driver", "gvisor", "--json"], capture_output=True, text=True, timeout=240,
                              env={**os.environ, "ATOLL_STATE": "/nonexistent/atoll"})
        card = json.loads(done.stdout)
        self.assertEqual((done.returncode, [row for row in card["attacks"] if row["outcome"] in ("reached", "broken")]), (0, []), done.stderr)
        self.assertGreater(card["totals"]["denied"], 80)

    def test_doctor_tries_it(self):
        done = subprocess.run([ATOLL, "doctor", "gvisor", "--json"], capture_output=True, text=True, timeout=60)
        told = json.loads(done.stdout)
        self.assertEqual((done.returncode, told["ok"], told["driver"]["capabilities"]["isolation"]), (0, True, "sentry"))
        self.assertLessEqual({"runsc", "kernel"}, {check["name"] for check in told["checks"]})


def keepers(daemon):
    """The first process of each sandbox, as the host sees it."""
    launchers = set(daemon.launchers())
    return [pid for pid in all_pids() if name_of(pid) == "atoll-oci" and parent_of(pid) in launchers]


class MadeAhead(unittest.TestCase):
    """Sandboxes that wait for whoever comes next, once somebody has come."""

    MOST = 4

    def setUp(self):
        self.daemon = Daemon().start()
        self.addCleanup(self.daemon.end)  # asserts that nothing is left
        self.assertEqual(keepers(self.daemon), [], "before anybody has asked")
        self.first = self.daemon.create(driver="gvisor", ttl_s=600)
        wait_until(lambda: len(keepers(self.daemon)) == 1 + self.MOST, "they are made")

    def sh(self, box, script):
        return self.daemon.exec(box, "sh", "-c", script)["stdout"]

    def test_one_is_handed_over_with_what_it_is_told(self):
        told = self.daemon.call("POST", "/v1/runs", {"sandbox": {"driver": "gvisor", "env": {"SECRET": "s"}},
                                                     "exec": {"argv": ["sh", "-c", "echo $SECRET; cat /proc/version"]}}).json
        self.assertIn("hand_over", {stage["name"] for stage in told["stages"]})
        self.assertTrue(told["stdout"].startswith("s\n"), told)
        self.assertNotIn(pathlib.Path("/proc/version").read_text(), told["stdout"])

    def test_it_is_as_any_other(self):
        box = self.daemon.create(driver="gvisor", ttl_s=600, env={"SECRET": "s"})
        self.daemon.start_process(box, "sh", "-c", "echo up > up; exec sleep 1000")
        wait_until(lambda: self.sh(box, "cat up 2>/dev/null"), "it runs")
        # What it was told goes on with its memory, in the same sandbox.
        kept = self.daemon.call("POST", f"/v1/sandboxes/{box}/snapshots", {"kind": "memory"}, timeout=60)
        self.assertEqual(kept.status, 201, kept)
        self.assertEqual(self.sh(box, "echo $SECRET $ATOLL_SANDBOX_ID; cat up"), f"s {box}\nup\n")
        # And a sandbox from there has what it is told itself.
        again = self.daemon.create(snapshot=kept.json["id"], env={"SECRET": "t"})
        self.assertEqual(self.sh(again, "echo $SECRET; cat up"), "t\nup\n")
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.sh(box, "echo $SECRET"), "s\n")
        for one in (box, again, self.first):
            self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{one}").status, 204)
        self.assertEqual(self.daemon.call("DELETE", f"/v1/snapshots/{kept.json['id']}").status, 204)

    def test_those_that_nobody_took_end_with_the_daemon(self):
        self.daemon.kill()
        self.daemon.start()
        wait_until(lambda: len(keepers(self.daemon)) == 1, "only the one that is somebody's is left")


class Served(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(arguments=("--parked", "0")).start()
        self.addCleanup(self.daemon.end)  # asserts that nothing is left
        self.box = self.daemon.create(driver="gvisor", ttl_s=600, env={"SECRET": "s"})
        self.counter = self.daemon.start_process(self.box, "sh", "-c", COUNTER)

    def lines(self, most):
        text = ""
        for event in self.daemon.events(self.box, self.counter["process"]):
            text += event.get("data", "") if event["type"] == "stdout" else ""
            if text.count("\n") >= most:
                break
        return text.split("\n")[:most]

    def check_taken_up(self):
        self.assertEqual(self.daemon.call("GET", f"/v1/sandboxes/{self.box}").json["state"], "running")
        self.assertEqual(self.lines(5), ["0", "1", "2", "3", "4"])
        self.assertEqual(self.daemon.exec(self.box, "sh", "-c", "echo $SECRET")["stdout"], "s\n")

    def test_kill_9_of_daemon_and_launcher_loses_nothing(self):
        self.daemon.kill()
        self.daemon.start()
        self.check_taken_up()

        for pid in self.daemon.launchers():
            os.kill(pid, signal.SIGKILL)
        self.daemon.kill()
        self.daemon.start()
        self.check_taken_up()
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{self.box}").status, 204)

    def test_what_stands_around_it_takes_it_along(self):
        (keeper,) = keepers(self.daemon)
        family = processes_of(self.daemon.directory)
        self.assertTrue(any((name_of(pid) or "").startswith("exe") or "runsc" in (name_of(pid) or "") for pid in family), family)

        os.kill(keeper, signal.SIGKILL)

        wait_until(lambda: self.daemon.call("GET", f"/v1/sandboxes/{self.box}").json["state"] != "running", "its end is told")
        wait_until(lambda: not any(is_alive(pid) and "runsc" in (name_of(pid) or "") for pid in family), "nobody of it lives")

    def test_the_second_kernels_death_is_the_sandboxes(self):
        (keeper,) = keepers(self.daemon)
        runtime = next(pid for pid in all_pids() if parent_of(pid) == keeper)

        os.kill(runtime, signal.SIGKILL)

        wait_until(lambda: self.daemon.call("GET", f"/v1/sandboxes/{self.box}").json["state"] != "running", "its end is told")
        wait_until(lambda: not is_alive(keeper), "what stood around it ends")

    def test_one_without_memory_left_says_so(self):
        box = self.daemon.create(driver="gvisor", resources={"memory_mb": 128})
        hold = "held = bytearray(100 << 20); held[::4096] = b'x' * len(held[::4096]); input()"
        for _ in range(6):
            self.daemon.start_process(box, "python3", "-c", hold)

        def told():
            return self.daemon.call("GET", f"/v1/sandboxes/{box}").json

        wait_until(lambda: told()["state"] == "failed", "all of them together are too much")
        self.assertIn("out of memory", told()["failure"])

    def test_a_paused_one_is_stopped_and_started_again(self):
        for verb, state in (("pause", "paused"), ("stop", "stopped"), ("start", "running")):
            answer = self.daemon.call("POST", f"/v1/sandboxes/{self.box}/{verb}", timeout=20)
            self.assertEqual((answer.status, answer.json["state"]), (200, state), answer)
        self.assertEqual(self.daemon.exec(self.box, "printf", "works")["stdout"], "works")

    def test_a_pause_holds_the_second_kernel(self):
        self.assertEqual(self.daemon.call("POST", f"/v1/sandboxes/{self.box}/pause").status, 200)
        self.assertEqual(self.daemon.call("POST", f"/v1/sandboxes/{self.box}/resume").status, 200)
        self.check_taken_up()


class Ports(port_test.Ports):
    driver = "gvisor"


if __name__ == "__main__":
    if not shutil.which("runsc"):
        raise SystemExit("runsc is not installed: ./dev setup")
    unittest.main()
