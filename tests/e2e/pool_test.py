"""Sandboxes with a disk that memory should not hold: their files are in the storage pool."""

import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from live import ATOLL, Daemon, census, is_alive, loop_name, parent_of, pid_on_host, wait_until

LARGE = {"memory_mb": 256, "disk_mb": 4096}
SMALL = {"memory_mb": 256, "disk_mb": 160}  # more than half of the memory, and soon full
RUNTIME = tempfile.mkdtemp(prefix="atoll-e2e-")
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if not k.startswith("ATOLL_") or k == "ATOLL_LIBEXEC"},
               "ATOLL_STATE": "/nonexistent/atoll", "XDG_RUNTIME_DIR": RUNTIME}
FILL = """
import errno, os
written = 0
try:
    with open("/workspace/fill", "wb", 0) as file:
        while True:
            written += file.write(b"x" * (1 << 20))
except OSError as error:
    print(written >> 20, errno.errorcode[error.errno])
os.unlink("/workspace/fill")
"""


def run(*command, flags=()):
    return subprocess.run([ATOLL, "run", "--driver", "native", *flags, "--", *command], capture_output=True, text=True,
                          env=ENVIRONMENT, timeout=120)


def setUpModule():
    tried = run("sh", "-c", "stat -f -c %T /workspace", flags=("--memory", "64m", "--disk", "64m"))
    if tried.stdout != "btrfs\n":
        why = f"there is no storage pool here: {tried.stdout}{tried.stderr}"
        if os.environ.get("ATOLL_MUST_RUN") == "1":
            raise AssertionError(why)
        raise unittest.SkipTest(why)


def tearDownModule():
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(os.path.join(RUNTIME, "atoll"))
    os.rmdir(RUNTIME)


def attached():
    """The loop devices that are in use, with their names."""
    named = {str(path): loop_name(path) for path in pathlib.Path("/dev").glob("loop[0-9]*")}
    return {path: name for path, name in named.items() if name is not None}


class WithADaemon(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon().start()

    def tearDown(self):
        note = self.daemon.pool()
        self.daemon.end()
        self.assertFalse(os.path.exists(os.path.join(self.daemon.state, "run", "pool")))
        if note:
            wait_until(lambda: loop_name(note[0]) != note[1], "the loop device is gone")

    def create(self, resources=None, **more):
        return self.daemon.create(driver="native", resources=resources or SMALL, **more)

    def sh(self, box, script):
        done = self.daemon.exec(box, "sh", "-c", script)
        self.assertEqual((done["exit_code"], done["stderr"]), (0, ""), script)
        return done["stdout"]

    def delete(self, box):
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)

    def kill_launcher(self):
        launcher = self.daemon.launcher()
        os.kill(launcher, signal.SIGKILL)
        wait_until(lambda: self.daemon.launcher() not in (None, launcher), "the keeper starts another launcher")

    def create_with_agent(self):
        box = self.create()
        command = self.daemon.start_process(box, "sleep", "600")
        return box, parent_of(pid_on_host(box, command["pid"]))

    def subvolumes(self):
        """What is in the pool, seen through a mount of our own that goes at once."""
        place = tempfile.mkdtemp(prefix="atoll-pool-seen-")
        try:
            subprocess.run(["mount", "-t", "btrfs", "-o", "ro", self.daemon.pool()[0], place], check=True, capture_output=True)
            try:
                return sorted(os.listdir(place))
            finally:
                subprocess.run(["umount", place], check=True)
        finally:
            os.rmdir(place)


class Room(WithADaemon):
    def test_a_disk_larger_than_memory_holds_what_it_says(self):
        box = self.create(LARGE)
        self.sh(box, "dd if=/dev/zero of=/workspace/much bs=1M count=1024 status=none && stat -c %s /workspace/much")
        self.assertEqual(self.daemon.call("GET", f"/v1/sandboxes/{box}").json["state"], "running")
        self.assertEqual(self.sh(box, "sha256sum < /workspace/much"),
                         "49bc20df15e412a64472421e13fe86ff1c5165e18b2afccf160d4dc19fe68a14  -\n")

    def test_it_ends_at_its_limit_and_can_be_emptied_again(self):
        box = self.create()
        for _ in range(2):
            written, error = self.daemon.exec(box, "python3", "-c", FILL)["stdout"].split()
            self.assertIn(error, ("EDQUOT", "ENOSPC"))
            self.assertTrue(100 <= int(written) <= 160, written)
            self.sh(box, "sync")

    def test_a_full_one_harms_nobody_else(self):
        full, other = self.create(), self.create()
        self.sh(full, "dd if=/dev/zero of=/workspace/fill bs=1M 2>/dev/null; true")
        self.sh(other, "dd if=/dev/zero of=/workspace/fine bs=1M count=100 status=none && sync")

    def test_what_was_used_is_given_back_to_the_host(self):
        self.create()  # it keeps the pool
        box = self.create(LARGE)
        self.sh(box, "dd if=/dev/urandom of=/workspace/much bs=1M count=256 status=none && sync")
        before = self.discarded()
        self.delete(box)
        wait_until(lambda: self.discarded() - before >= 256 << 20, "its blocks are punched out of the image", seconds=60)

    def discarded(self):
        """Bytes that the file system has given back to its loop device, which has no other file to look at."""
        device = os.path.basename(self.daemon.pool()[0])
        return int(pathlib.Path(f"/sys/block/{device}/stat").read_text().split()[13]) * 512

    def test_the_default_sandbox_is_in_memory_and_makes_no_pool(self):
        box = self.daemon.create(driver="native")
        self.assertEqual(self.sh(box, "stat -f -c %T /workspace"), "tmpfs\n")
        self.assertIsNone(self.daemon.pool())

    def test_owners_modes_and_shared_memory_are_as_everywhere(self):
        box = self.create()
        self.assertEqual(self.sh(box, "stat -c '%u %g %a' /workspace /home/user /tmp /root"),
                         "1000 1000 755\n1000 1000 755\n0 0 1777\n0 0 700\n")
        self.sh(box, "touch /workspace/mine && test $(stat -c %u /workspace/mine) = 1000")
        self.assertEqual(self.sh(box, "stat -f -c %T /dev/shm"), "tmpfs\n")

    def test_more_than_the_pool_can_promise_is_refused_in_words(self):
        answer = self.daemon.call("POST", "/v1/sandboxes", {"driver": "native", "resources": {"disk_mb": 1 << 29}})
        self.assertEqual((answer.status, answer.json["code"]), (429, "resource_exhausted"), answer)
        self.assertIn("MiB left to give", answer.json["detail"])
        self.assertIn("--disk", answer.json["hint"])


class Apart(WithADaemon):
    def test_two_sandboxes_do_not_see_each_other(self):
        one, other = self.create(), self.create()
        self.sh(one, "echo secret > /workspace/secret")
        self.assertEqual(self.sh(other, "find / -xdev -name secret 2>/dev/null; ls -A /workspace"), "")
        self.assertEqual(self.subvolumes(), sorted([one, other]))

    def test_a_copy_of_a_directory_is_in_the_pool_too(self):
        with tempfile.TemporaryDirectory(prefix="atoll-shown-") as shown:
            os.chmod(shown, 0o755)
            pathlib.Path(shown, "file").write_text("before\n")
            done = run("sh", "-c", "cat file && echo after > file && mkdir new && cat file && rmdir new && rm file",
                       flags=("--memory", "64m", "--disk", "64m", "-v", f"{shown}:/workspace/copy:cow", "-w",
                              "/workspace/copy"))
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "before\nafter\n", ""))
            self.assertEqual(pathlib.Path(shown, "file").read_text(), "before\n")

    def test_the_host_sees_no_mount_of_it(self):
        self.create()
        self.assertNotIn(self.daemon.pool()[0] + " ", pathlib.Path("/proc/self/mountinfo").read_text())


class Ends(WithADaemon):
    def test_twenty_in_a_row_leave_nothing(self):
        stays = self.create()
        for number in range(20):
            box = self.create()
            self.sh(box, f"echo {number} > /workspace/number")
            self.delete(box)
        self.assertEqual(self.subvolumes(), [stays])

    def test_files_survive_kill_9_of_the_launcher(self):
        box = self.create()
        self.sh(box, "echo kept > /workspace/file")
        pool = self.daemon.pool()
        self.kill_launcher()
        self.assertEqual(self.sh(box, "cat /workspace/file && echo more >> /workspace/file"), "kept\n")
        # The successor goes on with the same pool, and with its limits.
        other = self.create()
        self.assertEqual(self.daemon.pool(), pool)
        self.assertEqual(self.subvolumes(), sorted([box, other]))
        self.delete(box)
        self.assertEqual(self.subvolumes(), [other])

    def test_one_that_ended_without_a_launcher_is_removed_by_the_next(self):
        stays = self.create()
        _, agent = self.create_with_agent()
        launcher = self.daemon.launcher()
        os.kill(launcher, signal.SIGSTOP)
        os.kill(agent, signal.SIGKILL)
        os.kill(launcher, signal.SIGKILL)
        wait_until(lambda: self.daemon.launcher() not in (None, launcher), "the keeper starts another launcher")
        wait_until(lambda: self.subvolumes() == [stays], "what is left of it is removed")

    def test_kill_9_of_everything_leaves_no_pool(self):
        _, agent = self.create_with_agent()
        device, token = self.daemon.pool()
        self.daemon.kill()
        for pid in [*self.daemon.launchers(), agent]:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(agent), "it is dead")
        wait_until(lambda: loop_name(device) != token, "the loop device is gone")
        self.daemon.start()
        self.create()
        self.assertNotEqual(self.daemon.pool()[1], token)


class Embedded(unittest.TestCase):
    def test_a_run_leaves_nothing(self):
        before = attached()
        done = run("python3", "-c", FILL, flags=("--memory", "64m", "--disk", "160m"))
        self.assertRegex(done.stdout, r"^1\d\d (EDQUOT|ENOSPC)\n$")
        wait_until(lambda: set(attached()) <= set(before), "no loop device is left")
        left = census(RUNTIME)
        self.assertEqual((left["processes"], left["mounts"]), ([], []))

    def test_explain_tells_where_the_files_are_and_why(self):
        told = run("true", flags=("--explain", "--disk", "20g")).stdout
        self.assertRegex(told, r"(?m)^disk +20 GiB in the storage pool, metadata included$")
        self.assertRegex(told, r"(?m)^storage +in the storage pool: the disk is more than 1 GiB or half of the memory$")
        told = run("true", flags=("--explain",)).stdout
        self.assertRegex(told, r"(?m)^disk +1 GiB and 262144 files, in memory$")

    def test_where_the_run_directory_is_in_memory_the_image_is_not(self):
        with tempfile.TemporaryDirectory(prefix="atoll-runtime-", dir="/dev/shm") as runtime:
            command = [ATOLL, "run", "--driver", "native", "--memory", "64m", "--disk", "160m", "--", "sh", "-c",
                       "echo ready && read line"]
            with subprocess.Popen(command, env={**ENVIRONMENT, "XDG_RUNTIME_DIR": runtime}, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE) as box:
                self.assertEqual(box.stdout.readline(), b"ready\n")
                noted = next(pathlib.Path(runtime).glob("atoll/run-*/pool")).read_text().split()
                device = os.path.basename(noted[0])
                image = pathlib.Path(f"/sys/block/{device}/loop/backing_file").read_text()
                box.communicate(b"\n", timeout=60)
            self.assertTrue(image.startswith("/var/tmp/"), image)


if __name__ == "__main__":
    unittest.main()
