"""The Debian package in a fresh guest: it installs, works as installed, and a purge leaves nothing."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from live import wait_until  # noqa: E402
from machine import Guest  # noqa: E402

PRODUCTS = pathlib.Path(os.environ.get("ATOLL_BIN", "build/release/bin/atoll")).parent.parent
PACKAGE = next(PRODUCTS.glob("atoll_*_amd64.deb"), PRODUCTS / "atoll_VERSION_amd64.deb")
INSIDE = "/root/atoll.deb"
# Everything that a package could have left: files, users, control groups, processes.
HOST = """
find / -xdev \\( -path /proc -o -path /sys -o -path /dev -o -path /root -o -path /var/lib/dpkg -o -path /var/log \\
  -o -path /var/cache \\) -prune -o -print
find /run /tmp -path '*atoll*'
cat /etc/passwd /etc/group /etc/shadow
find /sys/fs/cgroup -type d
for comm in /proc/[0-9]*/comm; do read -r name <"$comm" && [[ $name == atoll* ]] && echo "$name"; done 2>/dev/null
true"""
# As systemd starts the unit: in a control group that it has marked as delegated.
AS_UNIT = """
import os, sys
group = "/sys/fs/cgroup/system.slice/atoll.service"
os.mkdir(group)
os.setxattr(group, "trusted.delegate", b"1")
with open(group + "/cgroup.procs", "w") as procs:
    procs.write("0")
os.dup2(os.open("/var/log/atoll.log", os.O_WRONLY | os.O_CREAT), 2)
os.execv("/usr/bin/atoll", sys.argv[1:])"""
START = """
set -e
command=$(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/atoll.service)
setsid python3 -c "$1" $command </dev/null >/dev/null 2>&1 &
for i in $(seq 600); do
  grep -q '"ready"' /var/log/atoll.log 2>/dev/null && exit 0
  sleep 0.1
done
cat /var/log/atoll.log >&2
exit 1"""
WHO = """
for status in /proc/[0-9]*/status; do
  awk '/^Name:/ { name = $2 } /^Uid:/ { uid = $2 $3 $4 $5 == $2 $2 $2 $2 ? $2 : "mixed" }
       /^CapEff:/ { if (name ~ /^atoll/) print name, uid, $2 }' "$status"
done 2>/dev/null"""


def depends():
    """The packages that it says it needs: they are in the guest, and no other library."""
    listed = subprocess.run(["dpkg-deb", "-f", PACKAGE, "Depends"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.findall(r"(?:^|, )([a-z0-9.+-]+)", listed)


@unittest.skipUnless(shutil.which("qemu-system-x86_64"), "needs the package qemu-system-x86")
class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.vm = Guest(bring=[(PACKAGE, INSIDE)], packages=depends(), cgroups="v2", log=print)
        cls.enterClassContext(cls.vm)

    def expect(self, *argv, **more):
        done = self.vm.run(*argv, **more)
        self.assertEqual(done.code, 0, done)
        return done.stdout

    def script(self, text, *arguments, **more):
        done = self.vm.script(text, *arguments, **more)
        self.assertEqual(done.code, 0, done)
        return done.stdout

    def test_install_use_purge(self):
        before = set(self.script(HOST).splitlines())
        self.expect("dpkg", "-i", INSIDE, timeout=120)
        self.check_run()
        self.check_daemon()
        self.check_removal()
        self.expect("dpkg", "--purge", "atoll", timeout=120)
        after = set(self.script(HOST).splitlines())
        # Made by the first run of a user, who may have another Atoll.
        left = {line for line in after - before if line not in ("/run/user/1000/atoll", "/tmp/atoll-0")}
        # useradd and userdel keep their lock and the last version of the files that they change.
        left = {line for line in left if not re.fullmatch(r"/etc/(\.pwd\.lock|[a-z]+-|gshadow|subuid|subgid)", line)}
        self.assertEqual(left, set())
        self.assertEqual({line for line in before - after if not line.startswith("/etc/")}, set())

    def check_run(self):
        for user, driver in ("root", "native"), ("user", "rootless"):
            with self.subTest(user=user):
                done = self.vm.run("atoll", "run", "--json", "--", "python3", "-c", "print(6*7)", user=user)
                self.assertEqual(done.code, 0, done)
                result = json.loads(done.stdout)
                self.assertEqual((result["stdout"], result["driver"]), ("42\n", driver), result)
        self.assertIn("fork_bomb", self.expect("/usr/libexec/atoll/atoll-attack", "--list"))

    def check_daemon(self):
        self.script(START, AS_UNIT, timeout=120)
        atoll = self.expect("id", "-u", "atoll").strip()
        self.assertNotEqual(atoll, "0")
        who = [line.split() for line in self.script(WHO).splitlines()]
        self.assertIn(["atoll", atoll, "0000000000000000"], who)
        self.assertEqual({uid for name, uid, _ in who if name.startswith("atoll-launcher")}, {"0"}, who)
        self.assertEqual({uid for name, uid, _ in who if name == "atoll"}, {atoll}, who)
        box = self.expect("atoll", "create", "--driver", "native").strip()
        self.assertEqual(self.expect("atoll", "exec", box, "--", "python3", "-c", "print(6*7)"), "42\n")
        groups = self.expect("find", "/sys/fs/cgroup", "-type", "d", "-name", box).split()
        self.assertEqual(groups, [f"/sys/fs/cgroup/system.slice/atoll.service/atoll/{box}"])

    def check_removal(self):
        """With a daemon and a sandbox still there: removal ends both."""
        self.expect("dpkg", "--remove", "atoll", timeout=120)
        wait_until(lambda: self.script(WHO) == "", "the launcher leaves")
        self.script("cd /sys/fs/cgroup/system.slice/atoll.service && { rmdir atoll-supervisor || true; } && cd .. "
                    "&& rmdir atoll.service")


if __name__ == "__main__":
    unittest.main()
