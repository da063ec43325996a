"""The guest itself: what it says of a script is true, it differs as asked, and it never outlives who started it."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from live import wait_until  # noqa: E402
from machine import Guest, GuestError  # noqa: E402

COMMAND = pathlib.Path(__file__).resolve().parent / "guest"
needs_qemu = unittest.skipUnless(shutil.which("qemu-system-x86_64"), "needs the package qemu-system-x86")


def is_there(pid):
    """Whether a process is alive; one that only waits to be reaped is not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@needs_qemu
class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.vm = Guest(bring=[("/usr/bin/jq", "/opt/tools/jq")])
        cls.enterClassContext(cls.vm)

    def test_the_exit_code_is_the_commands(self):
        self.assertEqual(self.vm.run("sh", "-c", "exit 7").code, 7)
        self.assertEqual(self.vm.run("sh", "-c", "kill -9 $$").code, 137)
        self.assertEqual(self.vm.run("/nonexistent").code, 127)

    def test_all_output_arrives_each_stream_apart(self):
        done = self.vm.script("seq 1 20000; echo oops >&2")
        self.assertEqual(done.stdout.split(), [str(i) for i in range(1, 20001)])
        self.assertEqual(done.stderr, "oops\n")

    def test_a_command_ends_though_its_background_goes_on(self):
        done = self.vm.script("sleep 1000 & echo $!")
        self.assertEqual(self.vm.run("kill", done.stdout.strip()).code, 0)

    def test_files_go_in_and_come_back(self):
        data = bytes(range(256)) * 100
        self.vm.put("/srv/deep/data", data, mode=0o600)
        self.assertEqual(self.vm.get("/srv/deep/data"), data)
        with self.assertRaises(GuestError):
            self.vm.get("/srv/none")

    def test_what_is_brought_has_its_libraries(self):
        done = self.vm.run("/opt/tools/jq", ".a", stdin='{"a": 42}')
        self.assertEqual((done.code, done.stdout), (0, "42\n"), done)


@needs_qemu
class Variants(unittest.TestCase):
    def test_version_1_and_no_user_namespaces(self):
        with Guest(cgroups="v1", kernel_arguments=["sysctl.user.max_user_namespaces=0"]) as vm:
            self.assertIn("memory", vm.run("findmnt", "-n", "-o", "OPTIONS", "/sys/fs/cgroup/memory").stdout)
            self.assertEqual(vm.run("findmnt", "-t", "cgroup2").stdout, "")
            for user in "root", "user":
                self.assertNotEqual(vm.run("unshare", "-U", "true", user=user).code, 0)

    def test_hybrid_has_the_controllers_in_version_1(self):
        with Guest(cgroups="hybrid", cpus=1) as vm:
            self.assertNotIn("memory", vm.get("/sys/fs/cgroup/unified/cgroup.controllers").decode().split())
            self.assertIn("memory.usage_in_bytes", vm.run("ls", "/sys/fs/cgroup/memory").stdout.split())
            self.assertEqual(vm.run("nproc").stdout, "1\n")

    def test_no_control_groups(self):
        with Guest(cgroups="none") as vm:
            self.assertEqual(vm.run("findmnt", "-t", "cgroup,cgroup2").stdout, "")


@needs_qemu
class Ends(unittest.TestCase):
    def test_too_slow_is_an_error_and_the_machine_is_gone(self):
        with self.assertRaisesRegex(GuestError, "not within the time"):
            with Guest() as vm:
                pid = vm.process.pid
                vm.run("sleep", "1000", timeout=1)
        self.assertFalse(is_there(pid))

    def test_a_machine_that_dies_is_an_error_that_shows_the_console(self):
        with self.assertRaisesRegex(GuestError, "(?s)has ended.*farewell"):
            with Guest() as vm:
                vm.script("echo farewell >/dev/console; echo c >/proc/sysrq-trigger", timeout=60)

    def test_the_command_streams_and_its_death_is_the_machines(self):
        command = subprocess.Popen([COMMAND, "-c", "echo up; sleep 1000"], stdout=subprocess.PIPE)
        self.addCleanup(command.wait)
        self.addCleanup(command.kill)
        self.assertEqual(command.stdout.readline(), b"up\n")
        children = pathlib.Path(f"/proc/{command.pid}/task/{command.pid}/children").read_text().split()
        self.assertEqual(len(children), 1)

        command.send_signal(signal.SIGKILL)

        command.stdout.close()
        wait_until(lambda: not is_there(children[0]), "QEMU ends")


if __name__ == "__main__":
    unittest.main()
