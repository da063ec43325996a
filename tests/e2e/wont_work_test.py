"""What docs/what-wont-work.md says, tried: both that it does not work, and that the way around it does."""

import os
import shutil
import subprocess
import tempfile
import unittest

from live import ATOLL

DRIVER = "native" if os.geteuid() == 0 else "rootless"
CALL = "import ctypes, os; l = ctypes.CDLL(None, use_errno=True); print(l.syscall({}), os.strerror(ctypes.get_errno()))"
IO_URING_SETUP, PERF_EVENT_OPEN, BPF, KEYCTL = "425, 8, 0", "298, 0, 0, 0, 0, 0", "321, 0, 0, 0", "250, 0, 0"
# A file that is a program for arm64, as far as the kernel looks.
ARM64 = bytes.fromhex("7f454c4602010100000000000000000002 00b700 01000000".replace(" ", "")) + bytes(100)


class WontWork(unittest.TestCase):
    def run_in(self, *argv, driver=DRIVER, flags=()):
        return subprocess.run([ATOLL, "run", "--driver", driver, *flags, "--", *argv], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)

    def refused(self, *argv, says, **more):
        done = self.run_in(*argv, **more)
        self.assertNotEqual(done.returncode, 0, done)
        self.assertIn(says, done.stdout)

    def works(self, *argv, says="", **more):
        done = self.run_in(*argv, **more)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn(says, done.stdout)

    def test_ptrace(self):
        for driver in DRIVER, "subprocess":
            self.refused("strace", "-o", "/dev/null", "true", says="Operation not permitted", driver=driver)
        self.works("strace", "-o", "/dev/null", "true", driver="local")
        self.works("python3", "-c", "import pdb; pdb.Pdb(stdin=open('/dev/null')).run('1')", says="(Pdb)")
        done = self.run_in("python3", "-X", "faulthandler", "-c", "import ctypes; ctypes.string_at(0)")
        self.assertIn("Current thread", done.stdout)

    @unittest.skipUnless(shutil.which("gdb"), "needs gdb")
    def test_gdb(self):
        self.refused("gdb", "-batch", "-ex", "run", "--args", "true", says="ptrace: Operation not permitted")

    def test_system_calls(self):
        self.works("python3", "-c", CALL.format(IO_URING_SETUP), says="-1 Function not implemented")
        for number in PERF_EVENT_OPEN, BPF, KEYCTL:
            self.works("python3", "-c", CALL.format(number), says="-1 Operation not permitted")

    def test_namespaces(self):
        for driver in DRIVER, "subprocess":
            self.refused("unshare", "--user", "--map-root-user", "true", says="Operation not permitted", driver=driver)

    @unittest.skipUnless(DRIVER == "native", "there is a sudo of ours in native only")
    def test_mounts_and_sudo(self):
        self.refused("mount", "-t", "tmpfs", "none", "/mnt", says="must be superuser")
        self.refused("sudo", "mount", "-t", "tmpfs", "none", "/mnt", says="permission denied")
        self.works("sudo", "id", "-u", says="0\n")

    def test_devices(self):
        for name in "fuse", "kvm":
            self.refused("ls", f"/dev/{name}", says="No such file or directory")

    def test_network(self):
        connect = "import socket; socket.create_connection(('192.0.2.1', 80), 2)"
        self.refused("python3", "-c", connect, says="Network is unreachable")
        raw = "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"
        self.refused("python3", "-c", raw, says="Address family not supported by protocol")
        loopback = "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname())"
        self.works("python3", "-c", loopback)

    def test_the_hosts_clock_and_log(self):
        self.refused("date", "-s", "2020-01-01", says="Operation not permitted")
        self.refused("dmesg", says="Operation not permitted")

    @unittest.skipUnless(shutil.which("systemctl"), "needs systemd")
    def test_services(self):
        self.refused("systemctl", "status", says="has not been booted with systemd")

    def test_a_program_for_another_processor(self):
        with tempfile.TemporaryDirectory(prefix="atoll-arm64-") as directory:
            os.chmod(directory, 0o755)
            program = os.path.join(directory, "program")
            with open(program, "wb") as file:
                file.write(ARM64)
            os.chmod(program, 0o755)
            done = self.run_in("/mnt/arm64/program", flags=["-v", f"{directory}:/mnt/arm64:ro"])
            self.assertEqual(done.returncode, 126, done)
            self.assertIn("Exec format error", done.stdout)


if __name__ == "__main__":
    unittest.main()
