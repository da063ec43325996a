"""What happens to the storage pool: its makers die or stand still, its disk is full, the host fills it."""

import os
import signal
import subprocess
import tempfile
import threading
import unittest

from live import Daemon, all_pids, is_alive, loop_name, name_of, parent_of, wait_until

POOLED = {"memory_mb": 64, "disk_mb": 64}


def setUpModule():
    why = ""
    if os.geteuid() != 0:
        why = "the storage pool needs root"
    elif not any(os.access(os.path.join(path, "mkfs.btrfs"), os.X_OK) for path in ("/usr/sbin", "/usr/bin", "/sbin")):
        why = "mkfs.btrfs is not installed"
    if why and os.environ.get("ATOLL_MUST_RUN") == "1":
        raise AssertionError(why)
    if why:
        raise unittest.SkipTest(why)


class Pool(unittest.TestCase):
    def setUp(self):
        # The worker that opens the pool is seen only while it works, so nothing else may be made meanwhile.
        self.daemon = Daemon(arguments=("--parked", "0")).start()
        self.addCleanup(self.daemon.end)

    def ask(self, resources=None):
        return self.daemon.call("POST", "/v1/sandboxes", {"driver": "native", "resources": resources or POOLED})

    def create(self, resources=None):
        answer = self.ask(resources)
        self.assertEqual(answer.status, 201, answer)
        self.daemon.made.add(answer.json["id"])
        return answer.json["id"]

    def delete(self, box):
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)

    def kind(self, box):
        return self.daemon.exec(box, "stat", "-f", "-c", "%T", "/workspace")["stdout"].strip()

    def asked_in_background(self):
        """Asks for a sandbox in the pool; gives the answers and the worker that opens it, stopped in the midst."""
        answers, launcher = [], self.daemon.launcher()
        thread = threading.Thread(target=lambda: answers.append(self.ask()))
        thread.start()
        self.addCleanup(thread.join)
        worker = wait_until(lambda: next((pid for pid in all_pids() if name_of(pid) == "atoll-pool"
                                          and parent_of(pid) == launcher), None), "a worker opens the pool")
        os.kill(worker, signal.SIGSTOP)
        return answers, worker


class Makers(Pool):
    def test_a_worker_that_stands_still_holds_up_nobody_else_and_is_given_up(self):
        answers, worker = self.asked_in_background()
        box = self.create({"memory_mb": 64})
        self.assertEqual(self.kind(box), "tmpfs")
        wait_until(lambda: answers, "the request is answered", seconds=45)
        self.assertEqual((answers[0].status, answers[0].json["code"]), (504, "deadline_exceeded"), answers)
        self.assertIn("storage pool takes too long", answers[0].json["detail"])
        wait_until(lambda: not is_alive(worker), "the worker is dead")
        self.assertEqual(self.kind(self.create()), "btrfs")

    def test_a_worker_that_dies_is_told_of(self):
        answers, worker = self.asked_in_background()
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: answers, "the request is answered")
        self.assertEqual(answers[0].status, 500, answers)
        self.assertIn("atoll-pool ended without an answer", answers[0].json["detail"])
        self.assertEqual(self.kind(self.create()), "btrfs")

    def test_kill_9_of_the_launcher_between_making_and_using(self):
        answers, worker = self.asked_in_background()
        launcher = self.daemon.launcher()
        os.kill(launcher, signal.SIGKILL)
        wait_until(lambda: not is_alive(worker), "the worker goes with its launcher")
        wait_until(lambda: answers, "the request is answered", seconds=70)
        box = wait_until(lambda: (answer := self.ask()).status == 201 and answer.json["id"], "another launcher serves")
        self.daemon.made.add(box)
        self.assertEqual(self.kind(box), "btrfs")
        device, token = self.daemon.pool()
        self.assertEqual(loop_name(device), token)


class OnASmallDisk(Pool):
    """The state directory is on a file system of its own, so that a full disk is nobody else's."""

    mebibytes = 1200

    def setUp(self):
        directory = tempfile.mkdtemp(prefix="atoll-disk-")
        image, self.disk = os.path.join(directory, "image"), os.path.join(directory, "disk")
        os.mkdir(self.disk, 0o755)
        os.chmod(directory, 0o711)
        with open(image, "wb") as file:
            file.truncate(self.mebibytes << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, self.disk], check=True)
        self.addCleanup(lambda: (os.unlink(image), os.rmdir(self.disk), os.rmdir(directory)))
        self.addCleanup(lambda: subprocess.run(["umount", self.disk], check=True))
        self.daemon = Daemon(state=os.path.join(self.disk, "state")).start()
        self.addCleanup(self.daemon.end)

    def fill(self):
        space = os.statvfs(self.disk)
        path = os.path.join(self.disk, "filler")
        with open(path, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_frsize - (1 << 20))
        return path


class Full(OnASmallDisk):
    def test_a_host_that_fills_the_disk_breaks_the_pool_and_nothing_else(self):
        box = self.create({"memory_mb": 64, "disk_mb": 400})
        filler = self.fill()
        # Data that finds no room is an error for who wrote it; metadata that finds none is the end of the file system.
        script = ("dd if=/dev/urandom of=/workspace/data bs=1M count=50 conv=fsync; "
                  "for i in $(seq 100); do for k in $(seq 200); do head -c 1500 /dev/urandom > /workspace/$i-$k; done; "
                  "sync; touch /workspace/alive || exit 30; done")
        self.assertEqual(self.daemon.exec(box, "sh", "-c", script)["exit_code"], 30)
        # The daemon's own files need some room again.
        os.truncate(filler, os.path.getsize(filler) // 2)

        answer = self.ask()
        self.assertEqual((answer.status, answer.json["code"]), (503, "unavailable"), answer)
        self.assertIn("storage pool", answer.json["detail"])
        self.assertIn("a new pool is made once no sandbox is in this one", answer.json["hint"])
        self.assertEqual(self.kind(self.create({"memory_mb": 64})), "tmpfs")

        os.unlink(filler)
        self.delete(box)
        box = wait_until(lambda: (answer := self.ask()).status == 201 and answer.json["id"], "a new pool is made")
        self.daemon.made.add(box)
        self.assertEqual(self.kind(box), "btrfs")


class Little(OnASmallDisk):
    mebibytes = 400

    def test_too_little_room_is_refused_in_words_and_memory_still_serves(self):
        answer = self.ask()
        self.assertEqual((answer.status, answer.json["code"]), (507, "out_of_space"), answer)
        self.assertRegex(answer.json["detail"], r"the disk of .* has \d+ MiB left, too little for the storage pool")
        self.assertIn("--disk", answer.json["hint"])
        self.assertEqual(self.kind(self.create({"memory_mb": 64})), "tmpfs")


if __name__ == "__main__":
    unittest.main()
