"""What a sandbox changed in a copy of a host directory, and the way home for it."""

import json
import os
import pty
import select
import shutil
import subprocess
import tempfile
import unittest

from live import ATOLL, NOTHING, Daemon, census

RUNTIME = tempfile.mkdtemp(prefix="atoll-changes-")  # where embedded runs live
WORK = "echo 2 > a; rm b; rm -r d; mkdir d; echo n > d/n; ln -s /etc/passwd l; mkfifo p; mkdir e; echo z > e/z"
CHANGED = ["M a", "D b", "D d/c", "A d/n", "A e/", "A e/z", "A l -> /etc/passwd", "A p (special file)"]


def tearDownModule():
    shutil.rmtree(RUNTIME)


def environment(state):
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("ATOLL_") or k == "ATOLL_LIBEXEC"}
    return {**inherited, "ATOLL_STATE": state, "XDG_RUNTIME_DIR": RUNTIME, "NO_COLOR": "1"}


def atoll(*arguments, cwd=None, state="/nonexistent/atoll"):
    return subprocess.run([ATOLL, *arguments], input=b"", capture_output=True, cwd=cwd, timeout=60,
                          env=environment(state))


class Directory:
    """A directory of the host with a few files in it."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="atoll-home-")
        os.chmod(self.path, 0o755)
        os.mkdir(self.path + "/d")
        for name in ("a", "b", "d/c"):
            self.write(name, "1\n")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def write(self, name, text):
        with open(os.path.join(self.path, name), "w") as file:
            file.write(text)

    def read(self, name):
        with open(os.path.join(self.path, name)) as file:
            return file.read()

    def tree(self):
        return sorted(os.path.relpath(os.path.join(at, name), self.path)
                      for at, directories, files in os.walk(self.path) for name in directories + files)


ORIGINAL = ["a", "b", "d", "d/c"]
APPLIED = ["a", "d", "d/n", "e", "e/z", "l"]


@unittest.skipUnless(os.geteuid() == 0, "needs root: the driver native does")
class Embedded(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(census(RUNTIME), NOTHING)

    def test_a_copy_leaves_the_host_alone(self):
        with Directory() as home:
            done = atoll("run", "--here=cow", "--", "sh", "-c", WORK, cwd=home.path)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual((home.tree(), home.read("a")), (ORIGINAL, "1\n"))

    def test_apply_takes_it_home_when_the_command_succeeds(self):
        with Directory() as home:
            failed = atoll("run", "--here=cow", "--apply", "--", "sh", "-c", WORK + "; exit 3", cwd=home.path)
            self.assertEqual(failed.returncode, 3)
            self.assertEqual(home.tree(), ORIGINAL)
            done = atoll("run", "--here=cow", "--apply", "--", "sh", "-c", WORK, cwd=home.path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((home.tree(), home.read("a"), home.read("e/z")), (APPLIED, "2\n", "z\n"))
            self.assertEqual(os.readlink(home.path + "/l"), "/etc/passwd")
            self.assertIn(b"left out", done.stderr)

    def test_always_is_always(self):
        with Directory() as home:
            done = atoll("run", "--here=cow", "--apply=always", "--", "sh", "-c", WORK + "; exit 3", cwd=home.path)
            self.assertEqual((done.returncode, home.tree()), (3, APPLIED))

    def test_apply_needs_a_copy(self):
        with Directory() as home:
            done = atoll("run", "--here=ro", "--apply", "--", "true", cwd=home.path)
            self.assertEqual(done.returncode, 125)
            self.assertIn(b"copy-on-write", done.stderr)
            self.assertEqual(atoll("run", "--here=cow", "--apply=often", "--", "true", cwd=home.path).returncode, 2)

    def test_on_a_terminal_a_line_tells_what_the_copy_held(self):
        with Directory() as home:
            leader, follower = pty.openpty()
            run = subprocess.Popen([ATOLL, "run", "--here=cow", "--", "sh", "-c", "echo 2 > a"], stdin=follower,
                                   stdout=follower, stderr=follower, cwd=home.path,
                                   env=environment("/nonexistent/atoll"))
            os.close(follower)
            run.wait(timeout=20)
            shown = b""
            while select.select([leader], [], [], 0)[0]:
                try:
                    shown += os.read(leader, 4096)
                except OSError:
                    break
            os.close(leader)
            self.assertIn(b"0 added, 1 modified, 0 deleted", shown)
            self.assertIn(b"--apply", shown)


@unittest.skipUnless(os.geteuid() == 0, "needs root, to be somebody else")
class WithoutRoot(unittest.TestCase):
    USER = 61_918

    def test_changes_go_home_as_the_user_who_asks(self):
        runtime = tempfile.mkdtemp(prefix="atoll-user-")
        self.addCleanup(shutil.rmtree, runtime)
        os.chown(runtime, self.USER, self.USER)
        with Directory() as home:
            for name in ["", *ORIGINAL]:
                os.chown(os.path.join(home.path, name), self.USER, self.USER)
            done = subprocess.run(
                [ATOLL, "run", "--driver", "rootless", "--here=cow", "--apply", "--", "sh", "-c", WORK], input=b"",
                capture_output=True, cwd=home.path, timeout=60, user=self.USER, group=self.USER, extra_groups=[],
                env={**environment("/nonexistent/atoll"), "XDG_RUNTIME_DIR": runtime, "HOME": runtime})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((home.tree(), home.read("a")), (APPLIED, "2\n"))
            self.assertEqual({os.lstat(os.path.join(home.path, name)).st_uid for name in APPLIED}, {self.USER})


@unittest.skipUnless(os.geteuid() == 0, "needs root: the driver native does")
class WithDaemon(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.end()  # asserts that nothing is left

    def cli(self, *arguments, **more):
        return atoll(*arguments, state=self.daemon.state, **more)

    def make(self, home):
        made = self.cli("create", "--driver", "native", "--here=cow", cwd=home.path)
        self.assertEqual(made.returncode, 0, made.stderr)
        box = made.stdout.decode().strip()
        self.addCleanup(self.cli, "rm", box)
        return box

    def lines(self, box, *more):
        done = self.cli("diff", box, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode().replace(" /workspace/", " ").splitlines()

    def test_the_diff_tells_every_change(self):
        with Directory() as home:
            box = self.make(home)
            self.assertEqual(self.lines(box), [])
            self.cli("exec", box, "--", "sh", "-c", WORK)
            self.assertEqual(self.lines(box), CHANGED)
            self.assertEqual(self.lines(box, "d"), ["D d/c", "A d/n"])
            self.assertEqual(self.lines(box, "--stat"), ["5 added, 1 modified, 2 deleted"])
            told = json.loads(self.cli("diff", box, "--json").stdout)
            self.assertEqual(told["copies"], [{"path": "/workspace", "host_path": home.path}])
            link = next(change for change in told["changes"] if change["path"] == "/workspace/l")
            self.assertEqual((link["kind"], link["link_target"]), ("symlink", "/etc/passwd"))
            self.assertEqual(home.tree(), ORIGINAL)

    def test_apply_rehearses_applies_and_then_has_nothing_left(self):
        with Directory() as home:
            box = self.make(home)
            self.cli("exec", box, "--", "sh", "-c", WORK + "; chmod 4755 e/z; rm p")
            self.assertEqual(self.lines(box, "--apply", "--dry-run"), CHANGED[:-1])
            self.assertEqual(home.tree(), ORIGINAL)
            self.assertEqual(self.lines(box, "--apply"), CHANGED[:-1])
            self.assertEqual((home.tree(), home.read("a")), (APPLIED, "2\n"))
            self.assertEqual(os.stat(home.path + "/e/z").st_mode & 0o7777, 0o755)
            self.assertEqual(self.lines(box, "--stat"), ["0 added, 1 modified, 0 deleted"], "the set-user-id bit")

    def test_what_changed_here_meanwhile_needs_force(self):
        with Directory() as home:
            box = self.make(home)
            self.cli("exec", box, "--", "sh", "-c", "echo theirs > a; echo x > new")
            home.write("a", "mine\n")
            refused = self.cli("diff", box, "--apply")
            self.assertEqual(refused.returncode, 125)
            self.assertIn(home.path.encode() + b"/a", refused.stderr)
            self.assertEqual((home.read("a"), home.tree()), ("mine\n", ORIGINAL))
            forced = self.cli("diff", box, "--apply", "--force")
            self.assertEqual(forced.returncode, 0, forced.stderr)
            self.assertEqual((home.read("a"), home.read("new")), ("theirs\n", "x\n"))

    def test_a_link_in_the_copy_is_no_way_out_of_it(self):
        with Directory() as home, tempfile.TemporaryDirectory() as outside:
            box = self.make(home)
            self.cli("exec", box, "--", "sh", "-c", f"ln -s {outside} out; ln -s / root; ln -s ../../.. up; echo x > f")
            done = self.cli("diff", box, "--apply")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(os.listdir(outside), [])
            # The same names as directories with files in them, where links are now.
            self.cli("exec", box, "--", "sh", "-c", "rm out; mkdir out; echo evil > out/evil")
            forced = self.cli("diff", box, "--apply", "--force")
            self.assertEqual(os.listdir(outside), [], forced.stderr)

    def test_a_sandbox_without_copies_says_so(self):
        box = self.cli("create", "--driver", "native").stdout.decode().strip()
        self.addCleanup(self.cli, "rm", box)
        done = self.cli("diff", box)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"--here=cow", done.stderr)

    def test_run_applies_through_a_daemon_and_leaves_nothing(self):
        with Directory() as home:
            done = self.cli("run", "--driver", "native", "--here=cow", "--apply", "--", "sh", "-c", WORK, cwd=home.path)
            self.assertEqual((done.returncode, home.tree()), (0, APPLIED), done.stderr)
            self.assertEqual(json.loads(self.cli("ps", "--json").stdout), [])

    def test_more_changes_than_fit_into_one_message(self):
        with Directory() as home:
            box = self.make(home)
            self.cli("exec", box, "--", "python3", "-c", "for i in range(6000): open(f'{i:0200d}', 'w').close()")
            self.assertEqual(len(self.lines(box)), 6000)
            self.cli("exec", box, "--", "python3", "-c", "for i in range(6000): open(f'x{i}', 'w').close()")
            refused = self.cli("diff", box)
            self.assertEqual(refused.returncode, 125)
            self.assertIn(b"10,000", refused.stderr)

    def test_a_root_of_ones_own_has_a_diff_too(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(root + "/etc")
            os.makedirs(root + "/bin")
            for name in ("usr", "lib", "lib64"):
                os.makedirs(f"{root}/{name}")
            with open(root + "/etc/passwd", "w") as file:
                file.write("root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n")
            answer = self.daemon.call("POST", "/v1/sandboxes", {"driver": "native", "rootfs": root})
            self.assertEqual(answer.status, 201, answer)
            box = answer.json["id"]
            self.addCleanup(self.cli, "rm", box)
            self.assertEqual(self.daemon.call("PUT", f"/v1/sandboxes/{box}/files?path=/usr/new", b"x").status, 200)
            self.assertEqual(self.lines(box, "/usr"), ["A /usr/new"])
            self.assertNotIn("M /etc/hosts", self.lines(box))


if __name__ == "__main__":
    unittest.main()
