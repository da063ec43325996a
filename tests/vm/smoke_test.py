"""The products on another kernel than this host's, with control groups of version 2: the least that must work there."""

import json
import os
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from machine import Guest  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PRODUCTS = pathlib.Path(os.environ.get("ATOLL_BIN", "build/release/bin/atoll")).parent.parent
INSIDE = "/usr/local/lib/atoll-test"
# Asks the kernel for the version of Landlock that it offers (landlock_create_ruleset, flag VERSION).
LANDLOCK_ABI = "import ctypes; print(ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1))"
# A user's command outside of his session, where nothing is delegated to him.
UNDELEGATED = ["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", "env", "-C", "/home/user",
               "HOME=/home/user", "USER=user", "XDG_RUNTIME_DIR=/run/user/1000"]
# What a sandbox is made of, as the host sees it. The names of our processes, not their numbers.
LEFT = """
find /sys/fs/cgroup -type d | sort
cut -d' ' -f2- /proc/self/mounts | sort
for comm in /proc/[0-9]*/comm; do read -r name <"$comm" && [[ $name == atoll* ]] && echo "$name"; done 2>/dev/null
find /tmp/atoll-* /run/user/1000/atoll -mindepth 1 2>/dev/null
true"""

SPIN = """
import time
def spin(seconds):
    begin, used = time.monotonic(), time.process_time()
    while time.monotonic() - begin < seconds:
        pass
    return (time.process_time() - used) / (time.monotonic() - begin)
print(spin(1.5))"""
FORK_BOMB = """
import errno, os, signal, sys
children = []
try:
    while len(children) < 1000:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
    print("unbounded", len(children), flush=True)
except OSError as problem:
    print(errno.errorcode[problem.errno], len(children), flush=True)
sys.stdin.read()"""
# The host looks while the bomb stands: it must be able to start what it likes.
BESIDE_THE_BOMB = """
set -e
coproc BOX { atoll run --driver native --pids 64 -- python3 -c "$1"; }
to=${BOX[1]} from=${BOX[0]} pid=$BOX_PID
read -r line <&"$from"
echo "$line"
for i in $(seq 100); do sleep 100 & done
echo "host $(jobs -r | grep -c 'sleep 100')"
kill $(jobs -p | grep -v "^$pid$")
exec {to}>&-
wait "$pid" """

needs_qemu = unittest.skipUnless(shutil.which("qemu-system-x86_64"), "needs the package qemu-system-x86")
vm = untouched = None


def setUpModule():
    global vm, untouched
    if not shutil.which("qemu-system-x86_64"):
        return
    live = HERE.parent / "support/live.py"
    vm = Guest(products=PRODUCTS, cgroups="v2", log=print, bring=[(live, f"{INSIDE}/live.py"), (
        HERE / "daemon_inside.py", f"{INSIDE}/daemon_inside.py")])
    unittest.enterModuleContext(vm)
    untouched = vm.script(LEFT).stdout


@needs_qemu
class Case(unittest.TestCase):
    def expect(self, *argv, **more):
        """What a command prints, which must succeed."""
        done = vm.run(*argv, **more)
        self.assertEqual(done.code, 0, done)
        return done.stdout

    def expect_42(self, driver, *before, **more):
        done = vm.run(*before, "atoll", "run", "--driver", driver, "--", "python3", "-c", "print(6*7)", **more)
        self.assertEqual((done.code, done.stdout), (0, "42\n"), done)

    def result(self, *argv, before=(), **more):
        """The result of `atoll run --json`, whatever the command's exit code."""
        done = vm.run(*before, "atoll", "run", "--json", *argv, **more)
        self.assertTrue(done.stdout.startswith("{"), done)
        return json.loads(done.stdout)

    def driver(self, name, *before, **more):
        listed = json.loads(self.expect(*before, "atoll", "drivers", "--json", **more))
        return next(driver for driver in listed if driver["name"] == name)


class Kernel(Case):
    def test_it_is_debians_and_has_the_layers_that_we_build_on(self):
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
        said = vm.script("""
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

    def test_its_modules_load(self):
        self.expect("modprobe", "-a", "loop", "overlay", "btrfs", "veth", "tun", "fuse", "bridge", "nf_tables")


class LeavesNothing(Case):
    """Every case here ends with the host as it was: control groups, mounts, our processes, our files."""

    def tearDown(self):
        # A launcher that has served leaves on its own, right after.
        for _ in range(20):
            after = vm.script(LEFT).stdout
            if after == untouched:
                return
        self.assertEqual(untouched, after)


class Subprocess(LeavesNothing):
    def test_run(self):
        for user in "root", "user":
            with self.subTest(user=user):
                self.expect_42("subprocess", user=user)

    def test_run_gives_the_exit_code(self):
        done = vm.run("atoll", "run", "--driver", "subprocess", "--", "sh", "-c", "exit 7")
        self.assertEqual(done.code, 7, done)


class Native(LeavesNothing):
    def test_run(self):
        self.expect_42("native")

    def test_too_much_memory_is_oom(self):
        result = self.result("--driver", "native", "--memory", "64m", "--", "python3", "-c", "bytearray(256 << 20)")
        self.assertEqual((result["reason"], result["exit_code"]), ("oom", 137), result)

    def test_a_fork_bomb_ends_in_eagain_and_the_host_is_fine(self):
        done = vm.script(BESIDE_THE_BOMB, FORK_BOMB, timeout=120)
        self.assertEqual(done.code, 0, done)
        (error, count), (_, beside) = (line.split() for line in done.stdout.splitlines())
        self.assertEqual((error, beside), ("EAGAIN", "100"), done)
        self.assertLess(int(count), 64)
        self.assertGreater(int(count), 32)

    def test_a_full_disk_is_enospc(self):
        done = vm.run("atoll", "run", "--driver", "native", "--disk", "16m", "--", "sh", "-c",
                      "head -c 8M /dev/zero >fits && head -c 64M /dev/zero >big")
        self.assertNotEqual(done.code, 0, done)
        self.assertIn("No space left on device", done.stderr)
        self.assertNotIn("fits", done.stderr)

    def test_half_a_processor_is_half_a_processor(self):
        whole = float(self.expect("atoll", "run", "--driver", "native", "--", "python3", "-c", SPIN))
        half = float(self.expect("atoll", "run", "--driver", "native", "--cpus", "0.5", "--", "python3", "-c", SPIN))
        print(f"of a processor, a loop gets {whole:.2f} and, with --cpus 0.5, {half:.2f}")
        self.assertGreater(whole, 0.75)
        self.assertLess(half, 0.7)
        self.assertGreater(half, 0.25)

    def test_a_timeout_kills_the_whole_tree(self):
        done = vm.run("atoll", "run", "--driver", "native", "--timeout", "2s", "--", "sh", "-c",
                      "sleep 4321 & setsid sleep 4321 & (setsid sh -c 'sleep 4321 & sleep 4321' &) ; wait")
        self.assertEqual(done.code, 124, done)
        self.assertEqual(vm.run("pgrep", "-f", "sleep 4321").stdout, "")

    def test_a_daemon_pauses_resumes_and_resizes(self):
        done = vm.run("python3", "-B", f"{INSIDE}/daemon_inside.py", "native", timeout=120, env={
            "ATOLL_BIN": "/usr/local/bin/atoll", "ATOLL_LIBEXEC": "/usr/local/libexec/atoll"})
        self.assertEqual(done.code, 0, done)


class Rootless(LeavesNothing):
    def test_limits_are_enforced_in_a_delegated_group(self):
        rootless = self.driver("rootless", user="user")
        self.assertTrue(rootless["available"], rootless)
        can = rootless["capabilities"]
        self.assertEqual({can["limits"][name] for name in ("cpu", "memory", "pids", "disk")}, {"enforced"}, can)
        self.assertEqual((can["kill_tree"], can["pause"], can["resize"]), ("sure", "memory", True), can)
        self.expect_42("rootless", user="user")
        result = self.result("--driver", "rootless", "--memory", "64m", "--", "python3", "-c", "bytearray(256 << 20)",
                             user="user")
        self.assertEqual(result["reason"], "oom", result)

    def test_a_group_of_its_own_is_enough(self):
        """One that the user is in himself, with nothing above that is his: everybody in it steps down."""
        said = vm.script("""
            scope=/sys/fs/cgroup/own.scope
            mkdir $scope
            chown user:user $scope $scope/cgroup.procs $scope/cgroup.threads $scope/cgroup.subtree_control
            (echo $BASHPID >$scope/cgroup.procs; exec "$@")
            rmdir $scope/atoll-supervisor $scope""", *UNDELEGATED, "bash", "-c", """
            for time in first second; do
              atoll run --json --driver rootless --memory 64m -- python3 -c 'bytearray(256 << 20)'
            done""")
        self.assertEqual(said.code, 0, said)
        self.assertEqual([json.loads(line)["reason"] for line in said.stdout.splitlines()], ["oom", "oom"], said)

    def test_what_the_host_does_not_give_is_refused(self):
        rootless = self.driver("rootless", *UNDELEGATED)
        self.assertTrue(rootless["available"], rootless)
        limits = rootless["capabilities"]["limits"]
        self.assertEqual((limits["cpu"], limits["memory"]), ("none", "per_process"), rootless)
        self.assertIn("not delegated", " ".join(rootless["capabilities"]["not_protected"]))
        self.expect_42("rootless", *UNDELEGATED)
        refused = vm.run(*UNDELEGATED, "atoll", "run", "--driver", "rootless", "--cpus", "0.5", "--", "echo", "ran")
        self.assertEqual((refused.code, refused.stdout), (125, ""), refused)
        self.assertIn("cpu", refused.stderr)


class WithoutUserNamespaces(LeavesNothing):
    def setUp(self):
        before = self.expect("sysctl", "-n", "user.max_user_namespaces").strip()
        self.expect("sysctl", "-qw", "user.max_user_namespaces=0")
        self.addCleanup(self.expect, "sysctl", "-qw", f"user.max_user_namespaces={before}")

    def test_nothing_starts_that_needs_them_and_the_rest_works(self):
        for name, user in ("native", "root"), ("rootless", "user"):
            with self.subTest(driver=name):
                driver = self.driver(name, user=user)
                self.assertFalse(driver["available"], driver)
                self.assertIn("user namespace", driver["unavailable_because"])
                self.assertIn("user.max_user_namespaces", driver["hint"])
                for flag in ["--driver", name], ["--min-isolation", "container"]:
                    refused = vm.run("atoll", "run", *flag, "--", "echo", "ran", user=user)
                    self.assertEqual((refused.code, refused.stdout), (125, ""), refused)
        self.expect_42("subprocess")


del Case, LeavesNothing  # they have no cases of their own


if __name__ == "__main__":
    unittest.main()
