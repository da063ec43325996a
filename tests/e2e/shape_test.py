"""Sandboxes as they were asked for: user, directory, root, limits and pauses, on a driver that has them all."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

from live import ATOLL, NOTHING, Daemon, census, wait_until

RUNTIME = tempfile.mkdtemp(prefix="atoll-shape-")  # where embedded runs live


def tearDownModule():
    shutil.rmtree(RUNTIME)


def atoll(*arguments, cwd=None, state="/nonexistent/atoll", stdin=b""):
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("ATOLL_") or k == "ATOLL_LIBEXEC"}
    return subprocess.run([ATOLL, *arguments], input=stdin, capture_output=True, cwd=cwd, timeout=60,
                          env={**inherited, "ATOLL_STATE": state, "XDG_RUNTIME_DIR": RUNTIME})


def make_root(directory):
    """A root file system of a shell and what it needs."""
    for program in ("/bin/sh", "/bin/cat", "/usr/bin/id", "/bin/ls"):
        libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        paths = [word for word in libraries.split() if word.startswith("/")]
        for path in [program, *paths]:
            place = directory + (path if path != program else "/bin/" + os.path.basename(program))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy(os.path.realpath(path), place)
    os.makedirs(directory + "/etc")
    with open(directory + "/etc/passwd", "w") as file:
        file.write("root:x:0:0::/root:/bin/sh\nada:x:1234:1234::/srv:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n")
    with open(directory + "/etc/flavour", "w") as file:
        file.write("own\n")


@unittest.skipUnless(os.geteuid() == 0, "needs root: the driver native does")
class Embedded(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(census(RUNTIME), NOTHING)

    def test_user_and_directory(self):
        done = atoll("run", "-u", "root", "-w", "/tmp", "--", "sh", "-c", "id -u; pwd")
        self.assertEqual((done.stdout, done.returncode), (b"0\n/tmp\n", 0), done.stderr)
        self.assertEqual(atoll("run", "--", "id", "-u").stdout, b"1000\n")

    def test_a_driver_without_users_names_those_that_have_them(self):
        done = atoll("run", "--driver", "subprocess", "-u", "root", "--", "id")
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"cannot run as user root", done.stderr)
        self.assertRegex(done.stderr, b"native.* can")

    def test_explain_tells_the_plan_and_makes_nothing(self):
        with tempfile.TemporaryDirectory() as directory:
            marker = os.path.join(directory, "made")
            done = atoll("run", "--explain", "--here=rw", "--memory", "256m", "--", "touch", "made", cwd=directory)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"256 MiB", done.stdout)
            self.assertIn(b"seccomp", done.stdout)
            self.assertIn(directory.encode(), done.stdout)
            self.assertFalse(os.path.exists(marker))
        told = json.loads(atoll("create", "--explain", "--json").stdout)
        self.assertEqual(told["driver"], "native")
        self.assertIn("namespaces", told["plan"])
        self.assertEqual(atoll("run", "--explain", "--driver", "local").returncode, 125)

    def test_a_root_of_ones_own(self):
        with tempfile.TemporaryDirectory() as directory:
            make_root(directory)
            done = atoll("run", "--rootfs", directory, "--", "sh", "-c", "cat /etc/flavour; echo x > /etc/flavour; ls /")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout.startswith(b"own\n"), done.stdout)
            self.assertNotIn(b"usr\nvar", done.stdout)
            named = atoll("run", "--rootfs", directory, "-u", "ada", "--", "id", "-u")
            self.assertEqual(named.stdout, b"1234\n", named.stderr)
            with open(directory + "/etc/flavour") as file:
                self.assertEqual(file.read(), "own\n", "the host's directory is not changed")
            refused = atoll("run", "--rootfs", directory, "--driver", "subprocess", "--", "true")
            self.assertEqual(refused.returncode, 125)
            self.assertIn(b"root file system", refused.stderr)
            self.assertIn(b"native", refused.stderr)
            self.assertEqual(atoll("run", "--rootfs", directory + "/none", "--", "true").returncode, 125)

    def test_shares_of_processors_are_checked(self):
        self.assertEqual(atoll("run", "--cpu-weight", "10001", "--", "true").returncode, 2)
        self.assertEqual(atoll("run", "--dedicated", "--cpus", "0.5", "--", "true").returncode, 2)
        self.assertEqual(atoll("run", "--cpu-weight", "200", "--", "true").returncode, 0)

    @unittest.skipUnless((os.cpu_count() or 1) > 1, "one processor is always left to the others")
    def test_dedicated_processors_are_counted_out(self):
        done = atoll("run", "--dedicated", "--cpus", "1", "--memory", "64m", "--", "python3", "-c",
                     "import os; print(len(os.sched_getaffinity(0)))")
        self.assertEqual((done.stdout, done.returncode), (b"1\n", 0), done.stderr)
        too_many = atoll("run", "--dedicated", "--cpus", str(os.cpu_count()), "--", "true")
        self.assertEqual(too_many.returncode, 125)
        refused = atoll("run", "--driver", "subprocess", "--dedicated", "--cpus", "1", "--", "true")
        self.assertEqual(refused.returncode, 125)


@unittest.skipUnless(os.geteuid() == 0, "needs root: the driver native does")
class WithDaemon(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon().start()

    def tearDown(self):
        self.daemon.end()  # asserts that nothing is left

    def cli(self, *arguments, **more):
        return atoll(*arguments, state=self.daemon.state, **more)

    def test_what_create_was_told_holds_for_commands(self):
        box = self.cli("create", "--driver", "native", "-u", "root", "-w", "/tmp").stdout.decode().strip()
        self.assertEqual(self.cli("exec", box, "--", "sh", "-c", "id -u; pwd").stdout, b"0\n/tmp\n")
        self.assertEqual(self.cli("exec", "-u", "user", "-w", "/", box, "--", "sh", "-c", "id -u; pwd").stdout,
                         b"1000\n/\n")
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.cli("exec", box, "--", "sh", "-c", "id -u; pwd").stdout, b"0\n/tmp\n")

    def test_a_pause_lasts_through_the_death_of_the_daemon(self):
        box = self.cli("create", "--driver", "native").stdout.decode().strip()
        self.daemon.start_process(box, "sh", "-c", "i=0; while :; do i=$((i+1)); echo $i > t; mv t n; done")
        count = lambda: int(self.daemon.call("GET", f"/v1/sandboxes/{box}/files?path=n").body or b"0")
        wait_until(lambda: self.daemon.call("GET", f"/v1/sandboxes/{box}/files/stat?path=n").status == 200, "it counts")
        paused = self.cli("pause", box)
        self.assertEqual(paused.returncode, 0, paused.stderr)
        refused = self.cli("exec", box, "--", "true")
        self.assertEqual(refused.returncode, 125)
        self.assertIn(b"resume it first", refused.stderr)

        self.daemon.kill()
        self.daemon.start()

        self.assertEqual(json.loads(self.cli("inspect", box, "--json").stdout)["state"], "paused")
        cpu = lambda: json.loads(self.cli("stats", box, "--json").stdout)[0]["cpu_ms"]
        before = cpu()
        for _ in range(10):
            self.assertEqual(cpu(), before, "a paused sandbox uses no processor")
        resumed = self.cli("resume", box)
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        first = count()
        wait_until(lambda: count() > first, "it counts again")

    def test_a_resize_holds_at_once(self):
        box = self.cli("create", "--driver", "native", "--memory", "64m").stdout.decode().strip()
        eat = ("exec", box, "--", "python3", "-c", "b = bytearray(100 << 20); print(len(b))")
        self.assertNotEqual(self.cli(*eat).returncode, 0)
        resized = self.cli("resize", "--memory", "512m", "--pids", "50", "--json", box)
        self.assertEqual(resized.returncode, 0, resized.stderr)
        self.assertEqual(json.loads(resized.stdout)[0]["resources"], {"memory_mb": 512, "pids": 50})
        self.assertEqual(self.cli(*eat).stdout, b"104857600\n")
        self.assertEqual(self.cli("resize", box).returncode, 2)
        patched = self.daemon.call("PATCH", f"/v1/sandboxes/{box}", {"resources": {"cpu_weight": 500}})
        self.assertEqual((patched.status, patched.json["resources"]["cpu_weight"]), (200, 500), patched)

    def test_a_driver_that_cannot_pause_names_those_that_can(self):
        box = self.cli("create", "--driver", "local").stdout.decode().strip()
        for verb in ("pause", "resume"):
            done = self.cli(verb, box)
            self.assertEqual(done.returncode, 125)
            self.assertRegex(done.stderr, b"native.* can")


if __name__ == "__main__":
    unittest.main()
