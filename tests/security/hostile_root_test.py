"""A root file system that is made to trick whoever mounts over it: links, files and pipes where directories are expected,
and a host that swaps them meanwhile (the ways of CVE-2025-31133, -52565 and -52881).

A sandbox on such a root starts with everything that covers /proc and /dev in place, or it does not start; and nothing
outside of it is read, written or mounted over.
"""

import ctypes
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

from live import ATOLL, LIBEXEC, census

RENAME_EXCHANGE = 2
SWAPPED_STARTS = 40
# What a sandbox must look like inside, whatever its root was: told by its own programs, one fact a line.
LOOK = r"""
stat -c 'null is a %F %t:%T' /dev/null
ls /dev | tr '\n' ' '; echo
echo "first process: $(cat /proc/1/comm)"
echo "kallsyms: $(head -c 1 /proc/kallsyms | wc -c) kcore: $(head -c 1 /proc/kcore 2>/dev/null | wc -c)"
(echo x > /proc/sysrq-trigger) 2>/dev/null && echo "sysrq can be written"
ls /proc/sys/kernel/core_pattern 2>/dev/null
stat -c 'root %i' / ; stat -c 'above %i' /..
"""
DEVICES = "fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero"


def exchange(one, other):
    if ctypes.CDLL(None, use_errno=True).renameat2(-100, one.encode(), -100, other.encode(), RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


class HostileRoot(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="atoll-root-")
        self.addCleanup(shutil.rmtree, self.directory)
        os.chmod(self.directory, 0o755)
        self.outside = pathlib.Path(self.directory, "outside")
        self.outside.mkdir()
        for name in ("hostname", "hosts", "resolv.conf", "passwd", "sudo", "sh", "null"):
            (self.outside / name).write_text(f"the host's {name}\n")
        self.before = self.fingerprint()
        busybox = shutil.which("busybox")
        self.assertTrue(busybox, "busybox is missing: ./dev setup")
        self.root = pathlib.Path(self.directory, "root")
        (self.root / "bin").mkdir(parents=True)
        shutil.copy(busybox, self.root / "bin/busybox")
        for name in ("sh", "cat", "ls", "stat", "head", "wc", "tr", "echo"):
            (self.root / "bin" / name).symlink_to("busybox")
        self.environment = {**os.environ, "ATOLL_STATE": "/nonexistent/atoll",
                            "XDG_RUNTIME_DIR": os.path.join(self.directory, "run")}
        os.mkdir(self.environment["XDG_RUNTIME_DIR"], 0o700)

    def tearDown(self):
        left = census(self.environment["XDG_RUNTIME_DIR"])
        self.assertEqual((left["processes"], left["mounts"]), ([], []))
        self.assertEqual(self.fingerprint(), self.before, "something outside was changed")

    def fingerprint(self):
        return {str(path): (path.lstat().st_mode, path.lstat().st_mtime_ns,
                            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
                for path in sorted(self.outside.rglob("*"))}

    def start(self):
        return subprocess.run([ATOLL, "run", "--driver", "native", "--rootfs", str(self.root), "--", "/bin/sh", "-c", LOOK],
                              capture_output=True, text=True, env=self.environment, timeout=60)

    def check(self, done):
        """It looks as it must, or was refused; True if it started."""
        if done.returncode == 125:
            self.assertIn("atoll: ", done.stderr)
            return False
        self.assertEqual(done.returncode, 0, done)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "null is a character special file 1:3", done)
        self.assertEqual(lines[1].strip(), DEVICES, done)
        self.assertEqual(lines[2], "first process: atoll-agent", done)
        self.assertEqual(lines[3], "kallsyms: 0 kcore: 0", done)
        self.assertEqual(len(lines), 6, done)
        self.assertEqual(lines[4].split()[1], lines[5].split()[1], done)
        return True

    def put(self, name, target):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def test_a_plain_root_starts(self):
        self.assertTrue(self.check(self.start()))

    def test_the_look_tells_covered_from_open(self):
        weak = os.path.join(os.path.dirname(os.path.abspath(LIBEXEC)), "atoll-weak")
        opened = pathlib.Path(self.directory, "weak")
        opened.mkdir()
        for name in ("atoll-agent", "atoll-sudo"):
            (opened / name).symlink_to(os.path.join(weak, name))
        launcher = opened / "atoll-launcher"
        launcher.write_text(f'#!/bin/sh\nATOLL_TEST_WITHOUT=proc_masks exec "{weak}/atoll-launcher" "$@"\n')
        launcher.chmod(0o755)
        self.environment["ATOLL_LIBEXEC"] = str(opened)
        told = self.start().stdout
        self.assertIn("kallsyms: 1", told)
        self.assertIn("/proc/sys/kernel/core_pattern", told)

    def test_links_in_the_place_of_directories(self):
        ways_out = [str(self.outside), "../" * 20 + str(self.outside)[1:], "/proc/1/root" + str(self.outside),
                    "/proc/self/cwd", "../outside", "/"]
        for name in ("proc", "dev", "etc", "sys", "tmp", "home", "home/user", "workspace", "opt", "opt/atoll", "usr/bin"):
            for target in ways_out:
                with self.subTest(name=name, target=target):
                    self.put(name, target)
                    self.check(self.start())
                    (self.root / name).unlink()

    def test_links_in_the_place_of_files(self):
        for name in ("etc/hostname", "etc/hosts", "etc/resolv.conf", "etc/passwd", "usr/bin/sudo", "dev/null", "opt/atoll/bin/sudo"):
            for target in (str(self.outside / os.path.basename(name)), "/proc/sys/kernel/core_pattern",
                           "../../outside/" + os.path.basename(name)):
                with self.subTest(name=name, target=target):
                    self.put(name, target)
                    self.check(self.start())
                    (self.root / name).unlink()

    def test_other_kinds_of_files(self):
        for name in ("proc", "dev", "etc", "sys", "tmp", "home", "workspace", "opt"):
            for kind in ("file", "pipe", "device"):
                with self.subTest(name=name, kind=kind):
                    path = self.root / name
                    if kind == "file":
                        path.write_text("")
                    elif kind == "pipe":
                        os.mkfifo(path)
                    else:
                        os.mknod(path, 0o20666, os.makedev(1, 3))
                    self.check(self.start())
                    path.unlink()

    def test_what_is_swapped_while_a_sandbox_starts(self):
        names = ("proc", "dev", "etc")
        for name in names:
            (self.root / name).mkdir()
            os.symlink(self.outside, os.path.join(self.directory, f"link-{name}"))
        over = threading.Event()

        def swap():
            while not over.is_set():
                for name in names:
                    exchange(str(self.root / name), os.path.join(self.directory, f"link-{name}"))

        swapper = threading.Thread(target=swap)
        swapper.start()
        try:
            started = sum(self.check(self.start()) for _ in range(SWAPPED_STARTS))
        finally:
            over.set()
            swapper.join()
        print(f"{started} of {SWAPPED_STARTS} started", flush=True)
        self.assertGreater(started, 0, "nothing ever started, so nothing was seen")


if __name__ == "__main__":
    unittest.main()
