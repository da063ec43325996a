"""The products on another kernel than this host's, with control groups of version 2: the least that must work there."""

import os
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from machine import Guest  # noqa: E402

PRODUCTS = pathlib.Path(os.environ.get("ATOLL_BIN", "build/release/bin/atoll")).parent.parent
# Asks the kernel for the version of Landlock that it offers (landlock_create_ruleset, flag VERSION).
LANDLOCK_ABI = "import ctypes; print(ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1))"


@unittest.skipUnless(shutil.which("qemu-system-x86_64"), "needs the package qemu-system-x86")
class Smoke(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.vm = Guest(products=PRODUCTS, cgroups="v2", log=print)
        cls.enterClassContext(cls.vm)

    def expect(self, *argv, **more):
        """What a command prints, which must succeed."""
        done = self.vm.run(*argv, **more)
        self.assertEqual(done.code, 0, done)
        return done.stdout

    def test_the_kernel_is_debians_and_has_the_layers_that_we_build_on(self):
        release = self.expect("uname", "-r").strip()
        landlock = int(self.expect("python3", "-c", LANDLOCK_ABI))
        modules = self.expect("cat", "/sys/kernel/security/lsm")
        actions = self.expect("cat", "/proc/sys/kernel/seccomp/actions_avail")
        print(f"kernel {release}, Landlock ABI {landlock}, LSMs {modules}, seccomp {actions.strip()}")
        self.assertIn("cloud-amd64", release)
        self.assertGreaterEqual(landlock, 2)
        self.assertIn("landlock", modules.split(","))
        self.assertIn("user_notif", actions.split())

    def test_control_groups_are_version_2_with_every_controller(self):
        mounts = self.expect("findmnt", "-n", "-o", "FSTYPE,OPTIONS", "/sys/fs/cgroup")
        self.assertTrue(mounts.startswith("cgroup2 rw"), mounts)
        for slice in "", "/system.slice", "/user.slice", "/user.slice/user-1000.slice":
            enabled = self.expect("cat", f"/sys/fs/cgroup{slice}/cgroup.subtree_control").split()
            self.assertLessEqual({"cpu", "cpuset", "io", "memory", "pids"}, set(enabled), slice)

    def test_a_user_owns_the_slice_of_his_session(self):
        said = self.vm.script("""
            set -e
            cd /sys/fs/cgroup/user.slice/user-1000.slice
            mkdir mine
            echo $$ >mine/cgroup.procs
            echo 64M >mine/memory.max
            cat /proc/self/cgroup mine/memory.max
            echo $$ >session.scope/cgroup.procs
            rmdir mine
            ! echo 64M >memory.max""", user="user")
        self.assertEqual((said.code, said.stdout), (0, "0::/user.slice/user-1000.slice/mine\n67108864\n"), said)
        self.assertIn("memory.max: Permission denied", said.stderr)

    def test_the_modules_of_the_kernel_load(self):
        self.expect("modprobe", "-a", "loop", "overlay", "btrfs", "veth", "tun", "fuse", "bridge", "nf_tables")

    def test_version(self):
        self.assertRegex(self.expect("atoll", "version"), r"^atoll [0-9]+\.[0-9]+\.[0-9]+")

    def test_run(self):
        for user in "root", "user":
            with self.subTest(user=user):
                done = self.vm.run("atoll", "run", "--driver", "subprocess", "--", "python3", "-c", "print(6*7)",
                                   user=user)
                self.assertEqual((done.code, done.stdout), (0, "42\n"), done)

    def test_run_gives_the_exit_code(self):
        done = self.vm.run("atoll", "run", "--driver", "subprocess", "--", "sh", "-c", "exit 7")
        self.assertEqual(done.code, 7, done)


if __name__ == "__main__":
    unittest.main()
