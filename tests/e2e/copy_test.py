"""Copies, searches and watches of the command line: directories as one archive, large files across broken connections."""

import hashlib
import json
import os
import pathlib
import signal
import stat
import subprocess
import tempfile
import threading
import unittest

from live import ATOLL, Daemon, wait_until
from terminal import Terminal

LARGE = 1_200_000_000


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Copies(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon().start()
        self.addCleanup(self.daemon.end)
        self.box = self.daemon.create(driver="native")
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.here = pathlib.Path(directory.name)

    def cli(self, *words, **more):
        environment = {"PATH": os.environ["PATH"], "ATOLL_STATE": self.daemon.state}
        return subprocess.run([ATOLL, *map(str, words)], capture_output=True, env=environment, timeout=200, **more)

    def tree(self):
        root = self.here / "tree"
        (root / "deep/er").mkdir(parents=True)
        (root / "deep/er/file").write_bytes(os.urandom(100_000))
        (root / "run.sh").write_text("#!/bin/sh\n")
        (root / "run.sh").chmod(0o755)
        (root / "inside").symlink_to("deep/er/file")
        (root / "outside").symlink_to("/etc/passwd")
        os.mkfifo(root / "pipe")
        for i in range(500):
            (root / f"deep/{i}").write_text(str(i))
        return root

    def test_a_directory_there_and_back(self):
        root = self.tree()
        done = self.cli("cp", root, f"{self.box}:")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"outside", done.stderr)
        self.assertIn(b"pipe", done.stderr)
        self.assertEqual(self.daemon.exec(self.box, "sh", "-c", "ls tree/deep | wc -l; tree/run.sh && cat tree/deep/77")["stdout"], "501\n77")
        done = self.cli("cp", "--json", f"{self.box}:tree", self.here / "back")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["files"], 502)
        back = self.here / "back"
        self.assertEqual((back / "deep/er/file").read_bytes(), (root / "deep/er/file").read_bytes())
        self.assertEqual(os.readlink(back / "inside"), "deep/er/file")
        self.assertTrue(os.stat(back / "run.sh").st_mode & stat.S_IXUSR)
        self.assertEqual((back / "deep/499").read_text(), "499")
        # Into what is there.
        done = self.cli("cp", f"{self.box}:tree/.", back)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse((back / "tree").exists())

    def test_a_pipe_in_the_sandbox_is_not_read(self):
        self.daemon.exec(self.box, "mkfifo", "pipe")
        done = self.cli("cp", f"{self.box}:pipe", self.here / "pipe")
        self.assertEqual(done.returncode, 125, done)
        self.assertIn(b"neither a file nor a directory", done.stderr)
        self.assertFalse((self.here / "pipe").exists())

    def slowly(self, path):
        """Kills the daemon once a part of the file has come through, and starts it again."""
        wait_until(lambda: path.exists() and path.stat().st_size > LARGE // 10, "a part has come", 60)
        self.daemon.kill()
        self.daemon.start()

    def test_more_than_a_gigabyte_goes_on_after_the_death_of_the_daemon(self):
        box = self.daemon.create(driver="local")
        workspace = pathlib.Path(self.daemon.exec(box, "pwd")["stdout"].strip())
        source = self.here / "large"
        with open(source, "wb") as file:
            for i in range(LARGE // 8_000_000):
                file.write(i.to_bytes(8, "little") * 1_000_000)
        expected = digest(source)

        found = lambda: next(workspace.glob(".atoll-partial-*"), self.here / "none")
        killer = threading.Thread(target=lambda: (wait_until(lambda: found().exists(), "it began", 60), self.slowly(found())))
        killer.start()
        done = self.cli("cp", source, f"{box}:large")
        killer.join()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(digest(workspace / "large"), expected)
        self.assertEqual(list(workspace.glob(".atoll*")), [])
        source.unlink()

        back = lambda: next(self.here.glob(".atoll-*"), self.here / "none")
        killer = threading.Thread(target=lambda: (wait_until(lambda: back().exists(), "it began", 60), self.slowly(back())))
        killer.start()
        done = self.cli("cp", f"{box}:large", self.here / "back")
        killer.join()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(digest(self.here / "back"), expected)

    def test_a_copy_that_was_ended_goes_on_when_started_again(self):
        source = self.here / "file"
        source.write_bytes(os.urandom(60_000_000))
        process = subprocess.Popen([ATOLL, "cp", str(source), f"{self.box}:file"],
                                   env={"PATH": os.environ["PATH"], "ATOLL_STATE": self.daemon.state})
        partial = lambda: self.daemon.exec(self.box, "sh", "-c", "stat -c %s .atoll-partial-* 2>&1 || true")["stdout"].strip()
        wait_until(lambda: partial().isdigit() and int(partial()) > 0 or process.poll() is not None, "it began")
        process.kill()
        process.wait()
        self.assertEqual(self.cli("cp", source, f"{self.box}:file").returncode, 0)
        told = self.daemon.exec(self.box, "sha256sum", "file")["stdout"].split()[0]
        self.assertEqual(told, digest(source))

    def test_a_bar_on_a_terminal(self):
        source = self.here / "file"
        with open(source, "wb") as file:
            file.truncate(600_000_000)
        box = self.daemon.create(driver="local")
        with Terminal([ATOLL, "cp", str(source), f"{box}:file"], env={"ATOLL_STATE": self.daemon.state}) as terminal:
            terminal.expect("% ")
            terminal.expect(" of 572 MB")

    def test_ctrl_c_takes_the_bar_away(self):
        # As much as there is: it cannot be done before the key is pressed.
        with Terminal([ATOLL, "cp", "/dev/zero", f"{self.box}:file"], env={"ATOLL_STATE": self.daemon.state}) as terminal:
            terminal.expect("MB/s")
            terminal.type("\x03")
            self.assertEqual(terminal.wait(), -signal.SIGINT)
            self.assertTrue(terminal.shown.endswith(b"\r\x1b[K"), terminal.shown[-200:])

    def test_find_and_grep(self):
        self.daemon.exec(self.box, "sh", "-c", "mkdir d && echo 'a needle here' > d/one.py && echo nothing > d/two.txt")
        self.assertEqual(self.cli("find", self.box, "-n", "*.py").stdout, b"d/one.py\n")
        self.assertEqual(self.cli("find", self.box, "d", "-t", "file").stdout, b"d/one.py\nd/two.txt\n")
        self.assertEqual(self.cli("grep", self.box, "ne+dle").stdout, b"d/one.py:1:a needle here\n")
        self.assertEqual(self.cli("grep", "-F", self.box, "ne+dle").returncode, 1)
        self.assertEqual(json.loads(self.cli("grep", "--json", "-i", self.box, "NEEDLE", "d").stdout)["matches"][0]["line"], 1)
        limited = self.cli("find", self.box, "--limit", "1")
        self.assertIn(b"there is more", limited.stderr)
        self.assertEqual(self.cli("grep", self.box, "(").returncode, 125)
        for verb in (("find", self.box), ("grep", self.box, "needle")):
            for limit in ("0", "-1", "10001", "many"):
                refused = self.cli(*verb, f"--limit={limit}")
                self.assertEqual(refused.returncode, 2, refused)
                self.assertIn(b"is no number from 1 to 10000", refused.stderr)

    def test_watch(self):
        self.daemon.exec(self.box, "mkdir", "d")
        process = subprocess.Popen([ATOLL, "watch", "-r", self.box, "d"], stdout=subprocess.PIPE,
                                   env={"PATH": os.environ["PATH"], "ATOLL_STATE": self.daemon.state})
        self.addCleanup(process.stdout.close)
        # Nothing tells when it is ready, so something is done until it is seen.
        stop = threading.Event()
        def touch():
            while not stop.wait(0.05):
                self.daemon.exec(self.box, "sh", "-c", "echo >> d/f")
        toucher = threading.Thread(target=touch)
        toucher.start()
        first = process.stdout.readline()
        stop.set()
        toucher.join()
        self.assertIn(first, (b"created  d/f\n", b"modified d/f\n"))
        self.daemon.exec(self.box, "mv", "d/f", "d/g")
        for line in process.stdout:
            if line == b"moved    d/f -> d/g\n":
                break
        self.daemon.exec(self.box, "rm", "-r", "d")
        process.stdout.read()
        self.assertEqual(process.wait(timeout=20), 0)


if __name__ == "__main__":
    unittest.main()
