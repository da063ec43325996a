"""The driver `chroot`: a copy of a tree of the host as the root, as root, as an ordinary user, and where nothing can be mounted."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from live import ATOLL, Daemon

USER = 61_917  # nobody else has it
PROGRAMS = "sh bash cat chmod env id ls mkdir mount mv readlink rm stat test touch tty wc".split()


def make_tree(place):
    """A shell, some tools and their libraries, from this host."""
    tree = pathlib.Path(place)
    for name in PROGRAMS:
        program = shutil.which(name, path="/bin:/usr/bin")
        libraries = [word for word in subprocess.check_output(["ldd", program], text=True).split() if word.startswith("/")]
        for source, target in [(program, tree / "bin" / name), *((path, tree / path[1:]) for path in libraries)]:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            target.chmod(0o755)
    (tree / "etc").mkdir()
    (tree / "etc/motto").write_text("of the tree\n")
    return tree


class Chroot(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="atoll-chroot-")
        self.addCleanup(shutil.rmtree, self.place)
        os.chmod(self.place, 0o755)
        self.tree = make_tree(os.path.join(self.place, "tree"))

    def run_in(self, *command, wrapper=(), user=None, tree=None, flags=()):
        home = os.path.join(self.place, f"home-{user or 'root'}")
        os.makedirs(home, exist_ok=True)
        more = {}
        if user is not None:
            os.chown(home, user, user)
            more = {"user": user, "group": user, "extra_groups": []}
        return subprocess.run([*wrapper, ATOLL, "run", "--driver", "chroot", "--rootfs", str(tree or self.tree), *flags, "--", *command],
                              capture_output=True, text=True, timeout=60, cwd=home, env={"HOME": home, "PATH": os.environ["PATH"]}, **more)

    def expect(self, done, out, code=0):
        self.assertEqual((done.stdout, done.returncode), (out, code), done.stderr)

    def behaves(self, **who):
        self.expect(self.run_in("sh", "-c", "cat /etc/motto; pwd; ls /workspace | wc -l", **who), "of the tree\n/workspace\n0\n")
        # Nothing of the host, not by climbing either.
        self.expect(self.run_in("sh", "-c", f"ls {self.place} ../../.. 2>/dev/null; test -e /etc/shadow || echo no", **who),
                    "\n".join(["../../..:", *sorted([*os.listdir(self.tree), "dev", "proc", "tmp", "workspace"]), "no", ""]))
        # It writes where it likes, and the tree stays as it was.
        self.expect(self.run_in("sh", "-c", "echo mine > /etc/motto && rm /bin/wc && cat /etc/motto", **who), "mine\n")
        self.assertEqual((self.tree / "etc/motto").read_text(), "of the tree\n")
        self.assertTrue((self.tree / "bin/wc").exists())
        self.expect(self.run_in("sh", "-c", "echo gone > /dev/null; cat /dev/null; echo $?", **who), "0\n")
        self.expect(self.run_in("sh", "-c", "exit 7", **who), "", 7)

    def test_as_root(self):
        self.behaves()

    @unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
    def test_as_an_ordinary_user(self):
        self.behaves(user=USER)
        self.expect(self.run_in("id", "-u", user=USER), f"{USER}\n")

    @unittest.skipUnless(os.geteuid() == 0, "only root has rights to give away")
    def test_where_nothing_can_be_mounted(self):
        wrapper = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]
        self.behaves(wrapper=wrapper)
        self.expect(self.run_in("ls", "/proc", wrapper=wrapper), "")

    def test_the_kernels_files_are_shown_and_cannot_be_written(self):
        self.expect(self.run_in("sh", "-c", "readlink /proc/self/exe; echo 1 > /proc/sys/vm/drop_caches 2>/dev/null || echo no"),
                    "/bin/readlink\nno\n")
        before = os.stat("/dev/null").st_mode
        self.expect(self.run_in("sh", "-c", "chmod 600 /dev/null 2>/dev/null || echo no; echo gone > /dev/null && echo yes"), "no\nyes\n")
        self.assertEqual(os.stat("/dev/null").st_mode, before, "it is the host's own")
        self.expect(self.run_in("sh", "-c", "mount -t tmpfs none /tmp 2>/dev/null || echo no"), "no\n")

    def test_the_files_api_sees_the_tree_and_nothing_of_the_host(self):
        daemon = Daemon().start()
        self.addCleanup(daemon.end)
        box = daemon.create(driver="chroot", rootfs=str(self.tree))
        at = f"/v1/sandboxes/{box}"
        self.assertEqual(daemon.call("GET", f"{at}/files?path=/etc/motto").body, b"of the tree\n")
        for path in ("/proc/self/environ", f"/proc/{daemon.process.pid}/environ", "/proc/1/root/etc/passwd", "/etc/passwd",
                     self.place + "/tree/etc/motto"):
            self.assertEqual(daemon.call("GET", f"{at}/files?path={path}").status, 404, path)
        self.assertEqual(daemon.call("PUT", f"{at}/files?path=a", b"in").status // 100, 2)
        self.assertEqual(daemon.exec(box, "cat", "/workspace/a")["stdout"], "in")
        found = daemon.call("GET", f"{at}/files/find?name=motto&path=/").json["entries"]
        self.assertEqual([file["path"].strip("/") for file in found], ["etc/motto"])
        # A second one has a copy of its own.
        other = daemon.create(driver="chroot", rootfs=str(self.tree))
        daemon.exec(box, "sh", "-c", "echo changed > /etc/motto")
        self.assertEqual(daemon.exec(other, "cat", "/etc/motto")["stdout"], "of the tree\n")

    def test_a_tree_that_sets_traps_is_tamed(self):
        outside = pathlib.Path(self.place, "outside")
        outside.mkdir()
        (outside / "kept").write_text("untouched")
        for name in ("tmp", "dev", "workspace", "proc"):
            os.symlink(outside, self.tree / name)
        os.mkfifo(self.tree / "pipe")
        (self.tree / "bin/id").chmod(0o4755)
        done = self.run_in("sh", "-c", "echo x > /tmp/x; touch a; ls -d /tmp /dev /workspace /pipe 2>/dev/null; stat -c %a /bin/id")
        self.expect(done, "/dev\n/tmp\n/workspace\n755\n")
        self.assertEqual([path.name for path in outside.iterdir()], ["kept"])

    def test_what_is_missing_is_said(self):
        done = subprocess.run([ATOLL, "run", "--driver", "chroot", "--", "true"], capture_output=True, text=True, timeout=60,
                              env={"HOME": self.place, "PATH": os.environ["PATH"]})
        self.assertEqual(done.returncode, 125)
        self.assertIn("chroot needs a root file system (rootfs)", done.stderr)
        done = self.run_in("true", flags=["-v", f"{self.place}:/x:ro"])
        self.assertEqual(done.returncode, 125)
        self.assertIn("cannot show a directory of the host", done.stderr)


if __name__ == "__main__":
    unittest.main()
