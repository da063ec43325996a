"""The Debian package in a fresh guest with systemd: it installs, works, is upgraded below running sandboxes, is removed
with them, and a purge leaves nothing."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from live import wait_until  # noqa: E402
from machine import Guest  # noqa: E402

PRODUCTS = pathlib.Path(os.environ.get("ATOLL_BIN", "build/release/bin/atoll")).parent.parent
PACKAGE = next(PRODUCTS.glob("atoll_*_amd64.deb"), PRODUCTS / "atoll_VERSION_amd64.deb")
INSIDE, NEXT_INSIDE = "/root/atoll.deb", "/root/atoll-next.deb"
# Everything that a package could have left: files, users, mounts, control groups, loop devices, processes.
HOST = """
find / -xdev \\( -path /proc -o -path /sys -o -path /dev -o -path /root -o -path /var/lib/dpkg -o -path /var/log \\
  -o -path /var/cache -o -path /var/lib/systemd -o -path '/tmp/systemd-private-*' \\) -prune -o -print
find /run /tmp -path '*atoll*' -not -path '*atoll-guest*' -not -path '/run/systemd/units/*'
cat /etc/passwd /etc/group /etc/shadow
find /sys/fs/cgroup -type d -path '*atoll*' -not -path '*atoll-guest*'
findmnt -rno TARGET,SOURCE | grep -E 'atoll|loop'
losetup -a
systemctl list-units --all --plain --no-legend '*atoll*' | grep -v atoll-guest
for comm in /proc/[0-9]*/comm; do read -r name <"$comm" && [[ $name == atoll* ]] && echo "$name"; done 2>/dev/null
true"""
WHO = """
for status in /proc/[0-9]*/status; do
  awk '/^Name:/ { name = $2 } /^Uid:/ { uid = $2 $3 $4 $5 == $2 $2 $2 $2 ? $2 : "mixed" }
       /^CapEff:/ { if (name ~ /^atoll/) print name, uid, $2 }' "$status"
done 2>/dev/null"""
# One process, however many there are to look at: each is translated anew by the machine. What a shell has forked, and what
# has not become its command yet, is not counted.
FIND_COUNTERS = """
import os
parents = {}
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as line, open(f"/proc/{pid}/stat") as stat:
            if line.read().startswith(b"sh\\0-c\\0i=0; while"):
                parents[pid] = stat.read().rpartition(")")[2].split()[1]
    except OSError:
        pass
print(*(pid for pid, parent in parents.items() if parent not in parents))
"""
COUNTER = "i=0; while :; do echo $i; i=$((i+1)); sleep 0.2; done"
SANDBOXES = {
    "plain": ["--driver", "native"],
    "disk": ["--driver", "native", "--memory", "256m", "--disk", "1500m"],  # in the storage pool
    "outside": ["--driver", "subprocess"],  # whose processes are in the launcher's own control group
    "paused": ["--driver", "native"],
}


def depends():
    """The packages that it says it needs: they are in the guest, and no other library."""
    listed = subprocess.run(["dpkg-deb", "-f", PACKAGE, "Depends"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.findall(r"(?:^|, )([a-z0-9.+-]+)", listed)


def next_package(directory):
    """The same programs as the next version: all files are new, and dpkg calls it an upgrade."""
    tree, package = os.path.join(directory, "tree"), os.path.join(directory, "next.deb")
    subprocess.run(["dpkg-deb", "-R", PACKAGE, tree], check=True)
    control = pathlib.Path(tree, "DEBIAN/control")
    text, count = re.subn(r"(?m)^Version: .*$", r"\g<0>+next", control.read_text())
    assert count == 1, text
    control.write_text(text)
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", tree, package], check=True,
                   stdout=subprocess.DEVNULL)
    return package


@unittest.skipUnless(shutil.which("qemu-system-x86_64"), "needs the package qemu-system-x86")
class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="atoll-package-"))
        cls.vm = Guest(bring=[(PACKAGE, INSIDE), (next_package(directory), NEXT_INSIDE)], packages=depends(),
                       cgroups="none", init="systemd", log=print)
        cls.enterClassContext(cls.vm)

    def expect(self, *argv, **more):
        done = self.vm.run(*argv, **more)
        self.assertEqual(done.code, 0, done)
        return done.stdout

    def script(self, text, *arguments, **more):
        done = self.vm.script(text, *arguments, **more)
        self.assertEqual(done.code, 0, done)
        return done.stdout

    def test_install_use_upgrade_purge(self):
        before = set(self.script(HOST).splitlines())
        told = self.expect("dpkg", "-i", INSIDE, timeout=120)
        self.assertIn("systemctl enable --now atoll", told)
        self.check_run()
        self.check_daemon()
        self.make_sandboxes()
        self.check_restart()
        self.check_upgrade()
        self.check_again()
        self.check_stop()
        self.check_removal()
        self.expect("dpkg", "--purge", "atoll", timeout=120)
        after = set(self.script(HOST).splitlines())
        # Made by the first run of a user, who may have another Atoll.
        left = {line for line in after - before if line not in ("/run/user/1000/atoll", "/tmp/atoll-0", "/tmp/atoll-1000")}
        # useradd and userdel keep their lock and the last version of the files that they change.
        kept = re.compile(r"/etc/(\.pwd\.lock|\.updated|[a-z]+-|gshadow|subuid|subgid)")
        left = {line for line in left if not kept.fullmatch(line)}
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
        # Type=notify: when this returns, the daemon serves.
        self.expect("systemctl", "enable", "--now", "atoll", timeout=120)
        log = self.expect("journalctl", "-u", "atoll", "-o", "cat", "--no-pager")
        self.assertIn("this is the first start", log)
        self.assertIn("cat /var/lib/atoll/admin.key", log)
        self.assertNotIn(self.vm.get("/var/lib/atoll/admin.key").decode().strip(), log)
        uid = self.expect("id", "-u", "atoll").strip()
        self.assertNotEqual(uid, "0")
        who = [line.split() for line in self.script(WHO).splitlines()]
        self.assertIn(["atoll", uid, "0000000000000000"], who)
        self.assertEqual({uid for name, uid, _ in who if name.startswith("atoll-launcher")}, {"0"}, who)
        self.assertEqual({uid for name, uid, _ in who if name == "atoll"}, {uid}, who)
        self.assertEqual(self.script("curl_less() { python3 -c \"import urllib.request as r; "
                                     "print(r.urlopen('http://127.0.0.1:7070/readyz').status)\"; }; curl_less"), "200\n")

    def make_sandboxes(self):
        self.boxes, self.counters = {}, {}
        for name, flags in SANDBOXES.items():
            self.boxes[name] = self.expect("atoll", "create", "--name", name, "--ttl", "1d", *flags, timeout=120).strip()
            self.counters[name] = self.expect("atoll", "exec", "-d", name, "--", "sh", "-c", COUNTER).strip()
            wait_until(lambda n=name: len(self.counted(n)) > 1, f"{name} counts", 60)
        self.expect("atoll", "pause", "paused")
        self.is_paused = True
        groups = self.expect("find", "/sys/fs/cgroup", "-type", "d", "-name", self.boxes["plain"]).split()
        self.assertEqual(groups, [f"/sys/fs/cgroup/system.slice/atoll-launcher.service/atoll/{self.boxes['plain']}"])
        # The hardened units keep host directories, which the launcher mounts for the daemon, and sudo inside.
        self.script("mkdir -p /srv/shared && echo hello >/srv/shared/file && chmod -R a+rX /srv/shared")
        self.assertEqual(self.expect("atoll", "run", "-v", "/srv/shared:/mnt/shared:ro", "--", "cat", "/mnt/shared/file"),
                         "hello\n")
        self.script("rm -r /srv/shared")
        self.pids = self.counter_pids()
        self.assertEqual(len(self.pids), len(SANDBOXES))

    def counted(self, name):
        return self.expect("atoll", "logs", "--process", self.counters[name], name).split()

    def counter_pids(self):
        """Of the counting shells, as the host sees them."""
        return sorted(self.expect("python3", "-I", "-S", "-c", FIND_COUNTERS).split())

    def check_alive(self):
        """The same processes, no line of their output lost, and new commands run."""
        self.assertEqual(self.counter_pids(), self.pids)
        for name in SANDBOXES:
            if name == "paused" and self.is_paused:
                self.assertEqual(json.loads(self.expect("atoll", "inspect", "--json", name))["state"], "paused")
                continue
            lines = self.counted(name)
            self.assertEqual(lines, [str(i) for i in range(len(lines))])
            self.assertEqual(self.expect("atoll", "exec", name, "--", "echo", "alive"), "alive\n")
            wait_until(lambda n=name, so_far=len(lines): len(self.counted(n)) > so_far, f"{name} goes on counting", 60)

    def main_pid(self, unit):
        return self.expect("systemctl", "show", "-P", "MainPID", unit).strip()

    def launcher_pid(self):
        """The launcher itself; the unit's main process is its keeper."""
        found = self.expect("pgrep", "-P", self.main_pid("atoll-launcher"), "-x", "atoll-launcher").split()
        self.assertEqual(len(found), 1, found)
        return found[0]

    def check_restart(self):
        daemon, launcher = self.main_pid("atoll"), self.launcher_pid()
        self.expect("systemctl", "restart", "atoll", timeout=120)
        self.assertNotEqual(self.main_pid("atoll"), daemon)
        self.assertEqual(self.launcher_pid(), launcher)
        self.check_alive()
        # A launcher that dies is started again by its keeper.
        self.expect("kill", "-9", launcher)
        wait_until(lambda: self.vm.run("atoll", "exec", "plain", "--", "true").code == 0, "the launcher is back", 60)
        self.assertNotEqual(self.launcher_pid(), launcher)
        self.check_alive()

    def check_upgrade(self):
        keeper, daemon, launcher = self.main_pid("atoll-launcher"), self.main_pid("atoll"), self.launcher_pid()
        told = self.expect("dpkg", "-i", NEXT_INSIDE, timeout=180)
        self.assertNotIn("systemctl enable", told)
        self.assertIn("+next", self.expect("dpkg-query", "-W", "-f", "${Version}", "atoll"))
        self.assertEqual(self.main_pid("atoll-launcher"), keeper)
        self.assertNotEqual(self.main_pid("atoll"), daemon)
        wait_until(lambda: self.is_new(keeper, "/usr/libexec/atoll/atoll-launcher"), "the keeper is the new one", 60)
        wait_until(lambda: self.launcher_pid() != launcher, "the launcher is another one", 60)
        self.assertTrue(self.is_new(self.launcher_pid(), "/usr/libexec/atoll/atoll-launcher"))
        self.assertTrue(self.is_new(self.main_pid("atoll"), "/usr/bin/atoll"))
        self.check_alive()
        self.expect("atoll", "resume", "paused")
        self.is_paused = False
        self.check_alive()

    def is_new(self, pid, program):
        """Whether a process runs the program that is installed now."""
        return self.vm.run("test", f"/proc/{pid}/exe", "-ef", program).code == 0

    def check_again(self):
        """Installing the same once more is an upgrade, too: quiet, and nothing changes for sandboxes."""
        told = self.expect("dpkg", "-i", NEXT_INSIDE, timeout=180)
        self.assertNotIn("atoll:", told.replace("atoll (", ""))
        self.expect("dpkg-reconfigure", "atoll", env={"DEBIAN_FRONTEND": "noninteractive"}, timeout=120)
        self.pids = self.counter_pids()
        self.assertEqual(len(self.pids), len(SANDBOXES))
        box = self.expect("atoll", "create", "--driver", "native").strip()
        self.assertEqual(self.expect("atoll", "exec", box, "--", "sudo", "id", "-u"), "0\n")
        self.expect("atoll", "rm", box)

    def check_stop(self):
        """Stopping the daemon leaves sandboxes; stopping the launcher ends them."""
        self.expect("systemctl", "stop", "atoll")
        self.assertEqual(self.counter_pids(), self.pids)
        self.expect("systemctl", "stop", "atoll-launcher", timeout=120)
        self.assertEqual(self.counter_pids(), [])
        self.assertEqual(self.expect("losetup", "-a"), "")
        self.expect("systemctl", "start", "atoll", timeout=120)
        told = json.loads(self.expect("atoll", "ps", "--json"))
        self.assertEqual({(box["state"], box["failure"].partition(" (")[0]) for box in told},
                         {("failed", "it ended while Atoll was away")})
        self.assertEqual({box["id"] for box in told}, set(self.boxes.values()))

    def check_removal(self):
        """With a daemon and a sandbox still there: removal ends both."""
        self.expect("atoll", "create", "--driver", "native")
        self.expect("dpkg", "--remove", "atoll", timeout=120)
        self.assertEqual(self.script(WHO), "")


if __name__ == "__main__":
    unittest.main()
