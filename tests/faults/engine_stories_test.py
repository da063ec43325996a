"""What goes wrong between Atoll and a container engine, each as a story with its own message: and never does anything leak.

The engine that dies in the middle of something is in engine_deaths_test.py; the one that is not there at all, or is back again,
in tests/e2e/engines_test.py.
"""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import unittest

from engine_census import leaks
from engine_proxy import EngineProxy
from engines import Engine, lacking
from live import ATOLL, Daemon, wait_until
from registry import Registry

LIBEXEC = {"ATOLL_LIBEXEC": os.environ["ATOLL_LIBEXEC"]} if "ATOLL_LIBEXEC" in os.environ else {}
CREATE, START, LOOK = r"/containers/create\?", r"/containers/atoll-\w+/start", r"/containers/atoll-\w+/json"
DISK_MB = 96


class Stories:
    @classmethod
    def setUpClass(cls):
        cls.engine = Engine(cls.name, cls.disk_mb).start()
        cls.foreign = cls.engine.make_container("somebodys")

    @classmethod
    def tearDownClass(cls):
        cls.engine.ask("DELETE", "/v1.41/containers/somebodys?force=1&v=1")
        left = cls.engine.stop()
        assert not left, f"{cls.name} has left: {left}"

    def setUp(self):
        self.proxy = EngineProxy(self.engine).__enter__()
        self.addCleanup(self.proxy.__exit__)
        self.daemon = Daemon()
        self.start_daemon()
        self.addCleanup(self.daemon.end)

    def start_daemon(self):
        self.daemon.start(env={**LIBEXEC, **self.proxy.environment})

    def create(self, key=None):
        headers = {"Idempotency-Key": key} if key else {}
        return self.daemon.call("POST", "/v1/sandboxes", {"driver": self.name, "ttl_s": 600}, headers, timeout=150)

    def refused(self, answer, status, *words):
        self.assertEqual(answer.status, status, answer)
        for word in words:
            self.assertIn(word, answer.json["detail"] + " " + answer.json.get("hint", ""), answer)

    def nothing_left(self, seconds=20):
        def left():
            return leaks(self.engine, self.daemon, {self.foreign}, self.proxy.created)
        try:
            wait_until(lambda: not left(), "nothing is left", seconds)
        except AssertionError:
            self.fail(f"left: {left()}; {self.proxy.requests[-20:]}")
        self.assertIn(self.foreign, {one["Id"] for one in self.engine.containers()})

    def works(self):
        answer = self.create()
        self.assertEqual(answer.status, 201, answer)
        box = answer.json["id"]
        self.assertEqual(self.daemon.exec(box, "printf", "works")["stdout"], "works")
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)


class Answers(Stories):
    disk_mb = 0

    def test_a_lost_answer_is_told_and_what_was_made_is_removed(self):
        def swallow(exchange):
            exchange.send()
            exchange.receive()

        before = set(self.proxy.created)  # those by which runtimes were tried
        # An only driver is asked twice.
        hits = [self.proxy.on("POST", CREATE, swallow) for _ in range(2)]
        answer = self.create("one")
        self.assertTrue(all(hit.wait(10) for hit in hits))
        self.assertEqual(len(self.proxy.created - before), 2, "the engine did make them")
        self.refused(answer, 503, f"{self.name} broke off before its answer", "what is left over is removed")
        self.nothing_left()
        # Who asks again with the same key gets another one, or the same refusal: never the doubtful one.
        again = self.create("one")
        if again.status == 201:
            self.assertEqual(self.daemon.exec(again.json["id"], "printf", "works")["stdout"], "works")
            self.assertEqual(len(self.engine.containers()), 2)
            self.daemon.call("DELETE", f"/v1/sandboxes/{again.json['id']}")
        else:
            self.assertEqual(again.status, 503, again)
        self.nothing_left()
        self.works()

    def test_an_answer_that_is_lost_once_costs_a_second_try(self):
        def swallow(exchange):
            exchange.send()
            exchange.receive()

        before = set(self.proxy.created)
        hit = self.proxy.on("POST", CREATE, swallow)
        answer = self.create()
        self.assertTrue(hit.wait(10))
        self.assertEqual(answer.status, 201, answer)
        self.assertEqual(len(self.proxy.created - before), 2, "the doubtful one, and the one that was handed out")
        self.assertEqual(self.daemon.exec(answer.json["id"], "printf", "works")["stdout"], "works")
        self.assertEqual(len(self.engine.containers()), 2, "it and somebody else's")
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{answer.json['id']}").status, 204)
        self.nothing_left()

    def test_what_cannot_be_removed_at_once_is_removed_soon(self):
        def lose(exchange):
            exchange.send()
            exchange.receive()

        hits = [self.proxy.on("POST", START, lose), self.proxy.on("DELETE", "/containers/atoll-", lambda _: None)]
        # The second try finds the first one's name taken, or loses its answer, too.
        self.proxy.on("POST", START, lose)
        answer = self.create()
        self.assertTrue(all(hit.wait(10) for hit in hits))
        self.refused(answer, 503, f"{self.name} broke off", "what is left of it goes as soon as the engine answers")
        self.nothing_left(10)  # long before the next sweep
        self.works()

    def test_what_is_made_too_late_is_found_by_its_label_and_never_handed_out(self):
        """The engine gets to it when it was long given up. Docker then misses its door, a directory of ours, and makes nothing."""
        may_go, arrived, told = threading.Event(), threading.Event(), []

        def late(exchange):
            exchange.client.shutdown(socket.SHUT_RDWR)
            may_go.wait(60)
            exchange.send()
            told.append(exchange.receive())
            arrived.set()

        self.proxy.on("POST", CREATE, late)
        self.proxy.on("POST", CREATE, lambda _: None)  # the second try does not even reach the engine
        self.refused(self.create(), 503, f"{self.name} broke off before its answer")
        may_go.set()
        self.assertTrue(arrived.wait(30))
        was_made = b" 201 " in told[0].split(b"\r\n")[0]
        self.assertEqual(was_made, self.name == "podman", told)
        self.assertEqual(len(self.engine.containers()), 2 if was_made else 1)
        self.assertEqual(self.daemon.call("GET", "/v1/sandboxes").json["sandboxes"], [])
        self.works()
        if was_made:
            self.daemon.terminate()
            self.start_daemon()  # which sweeps first
        self.nothing_left()

    def test_one_that_was_made_and_never_started_is_removed_by_the_next_daemon(self):
        hit = self.proxy.on("POST", START, lambda _: self.daemon.kill())
        with self.assertRaises(OSError):
            self.create()
        self.assertTrue(hit.wait(10))
        self.assertEqual(sorted(one["State"] for one in self.engine.containers()), ["created", "running"])
        self.start_daemon()
        self.nothing_left()
        self.assertEqual(self.daemon.call("GET", "/v1/sandboxes").json["sandboxes"], [])
        self.works()

    def test_a_call_that_hangs_ends_and_holds_up_nobody(self):
        over, begun = threading.Event(), threading.Event()

        def hang(exchange):
            # The second try looks at the same place.
            self.proxy.on("GET", re.escape(exchange.request.split()[1].decode()), hang)
            begun.set()
            over.wait(60)

        self.proxy.on("GET", LOOK, hang)
        answers = []
        asking = threading.Thread(target=lambda: answers.append(self.create()))
        asking.start()
        try:
            self.assertTrue(begun.wait(30))
            # Meanwhile others are served, by this engine and by drivers without one.
            self.works()
            box = self.daemon.create(driver="subprocess")
            self.assertEqual(self.daemon.exec(box, "echo", "works")["stdout"], "works\n")
            self.assertEqual(answers, [], "it did not hang")
        finally:
            asking.join(60)
            over.set()
        self.refused(answers[0], 503, f"{self.name} has not answered within 5 s", "it hangs, or has too much to do")
        self.daemon.call("DELETE", f"/v1/sandboxes/{box}")
        self.nothing_left()


class Disk(Stories):
    disk_mb = DISK_MB

    def test_a_full_disk_is_told_when_the_container_is_made(self):
        box = self.create().json["id"]
        with self.engine.full_disk():
            self.refused(self.create(), 507, "no space left", f"the engine's disk is full: {self.name} system df")
            # What runs, runs on.
            self.assertEqual(self.daemon.exec(box, "printf", "works")["stdout"], "works")
        self.works()
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
        self.nothing_left()

    def test_a_disk_that_is_full_when_it_starts(self):
        is_full, is_over = threading.Event(), threading.Event()

        def fill(exchange):
            with self.engine.full_disk():
                exchange.send()
                exchange.receive()
                exchange.pass_on()
                is_full.set()
                exchange.client.close()
                is_over.wait(60)

        hit = self.proxy.on("POST", START, fill)
        answer = self.create()
        is_over.set()
        self.assertTrue(is_full.is_set())
        self.assertTrue(hit.wait(30), "there is room again")
        if answer.status == 201:  # it needed nothing more
            self.assertEqual(self.daemon.exec(answer.json["id"], "printf", "works")["stdout"], "works")
            self.daemon.call("DELETE", f"/v1/sandboxes/{answer.json['id']}")
        else:
            self.refused(answer, 507, "no space left", "the engine's disk is full")
        self.nothing_left()
        self.works()


    def images(self, word):
        told = json.loads(self.engine.ask("GET", "/v1.41/images/json?all=1")[1])
        return [name for one in told for name in one["RepoTags"] or () if word in name]

    def test_a_full_disk_is_told_when_a_snapshot_is_made(self):
        answer = self.daemon.call("POST", "/v1/sandboxes", {"driver": self.name, "ttl_s": 600, "persistence": "persistent"}, timeout=150)
        box = answer.json["id"]
        self.daemon.exec(box, "sh", "-c", "head -c 4000000 /dev/urandom > kept")
        with self.engine.full_disk():
            refused = self.daemon.call("POST", f"/v1/sandboxes/{box}/snapshots", {"kind": "disk"}, timeout=150)
            self.refused(refused, 507, "no space left", f"the engine's disk is full: {self.name} system df")
        self.assertEqual(self.daemon.exec(box, "sh", "-c", "wc -c < kept")["stdout"].strip(), "4000000")
        self.assertEqual(self.engine.snapshot_images(), [])
        self.assertEqual(self.daemon.call("GET", "/v1/snapshots").json["snapshots"], [])
        snapshot = self.daemon.call("POST", f"/v1/sandboxes/{box}/snapshots", {"kind": "disk"}, timeout=150)
        self.assertEqual(snapshot.status // 100, 2, snapshot)
        self.assertEqual(self.daemon.call("DELETE", f"/v1/snapshots/{snapshot.json['id']}").status, 204)
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
        self.nothing_left()

    def test_a_full_disk_is_told_when_an_image_is_fetched(self):
        registry = Registry(self.engine, 5000)
        try:
            full, _ = registry.push(self.engine.image, "tiny:1")
            # What it has of it already it would not fetch.
            kept = self.engine.image
            self.engine.ask("DELETE", "/v1.41/containers/somebodys?force=1&v=1")
            self.engine.ask("DELETE", f"/v1.41/images/{kept}?force=1")
            asked = {"driver": self.name, "ttl_s": 600, "image": full}
            with self.engine.full_disk():
                refused = self.daemon.call("POST", "/v1/sandboxes", asked, timeout=150)
                self.refused(refused, 507, "no space left", f"the engine's disk is full: {self.name} system df")
            self.assertEqual(self.images("tiny"), [])
            answer = self.daemon.call("POST", "/v1/sandboxes", asked, timeout=150)
            self.assertEqual(answer.status, 201, answer)
            self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{answer.json['id']}").status, 204)
            self.engine.ask("DELETE", f"/v1.41/images/{full}?force=1")
        finally:
            registry.stop()
            self.engine.import_image()
            type(self).foreign = self.engine.make_container("somebodys")
        self.nothing_left()

    def test_a_full_disk_is_told_when_a_template_is_loaded(self):
        place = tempfile.mkdtemp(prefix="atoll-faults-")
        self.addCleanup(shutil.rmtree, place)
        root = pathlib.Path(place, "tree")
        (root / "bin").mkdir(parents=True)
        shutil.copy("/bin/busybox", root / "bin/busybox")
        (root / "bin/sh").symlink_to("busybox")
        done = subprocess.run([ATOLL, "--state", self.daemon.state, "template", "add", "tiny", str(root)], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        asked = {"driver": self.name, "ttl_s": 600, "template": "tiny"}
        with self.engine.full_disk():
            refused = self.daemon.call("POST", "/v1/sandboxes", asked, timeout=150)
            self.refused(refused, 507, "no space left", f"the engine's disk is full: {self.name} system df")
        self.assertEqual(self.images("atoll-template"), [])
        answer = self.daemon.call("POST", "/v1/sandboxes", asked, timeout=150)
        self.assertEqual(answer.status, 201, answer)
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{answer.json['id']}").status, 204)
        self.assertEqual(self.daemon.call("DELETE", "/v1/templates/tiny").status, 204)
        wait_until(lambda: not self.images("atoll-template"), "the template's image goes", 90)
        self.nothing_left()


class DockerAnswers(Answers, unittest.TestCase):
    name = "docker"


class PodmanAnswers(Answers, unittest.TestCase):
    name = "podman"


class DockerDisk(Disk, unittest.TestCase):
    name = "docker"


class PodmanDisk(Disk, unittest.TestCase):
    name = "podman"


def setUpModule():
    missing = lacking("docker") or lacking("podman")
    if missing and os.environ.get("ATOLL_MUST_RUN") == "1":
        raise AssertionError(f"ATOLL_MUST_RUN is set, and this host lacks: {missing}")
    if missing:
        raise unittest.SkipTest(f"this host lacks: {missing}")


if __name__ == "__main__":
    unittest.main()
