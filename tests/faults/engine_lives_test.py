"""What people do with a sandbox of a container engine while something else goes on or has gone wrong: it is stopped while it is frozen,
removed while its image comes or its engine is dead, reset by a daemon that dies, made by a run that is killed."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from engine_stories_test import CREATE, LIBEXEC, START, Stories
from engines import lacking
from live import ATOLL, wait_until
from registry import HungRegistry

REMOVE = "/containers/atoll-"
# Long before the next sweep, which comes every 30 s.
SOON = 15


class Lives(Stories):
    disk_mb = 0

    def ask(self, method, path, seconds=SOON, **body):
        """Fails when it takes longer."""
        return self.daemon.call(method, f"/v1/sandboxes/{path}", body or None, timeout=seconds)

    def state_of(self, box):
        return self.ask("GET", box).json.get("state")

    def directories(self):
        return os.listdir(os.path.join(self.daemon.state, "engines", self.name))

    # Frozen.

    def test_a_paused_sandbox_is_stopped_and_started_again(self):
        box = self.create().json["id"]
        self.daemon.exec(box, "sh", "-c", "echo kept > file")
        self.assertEqual(self.ask("POST", f"{box}/pause").json["state"], "paused")
        stopped = self.ask("POST", f"{box}/stop")
        self.assertEqual((stopped.status, stopped.json["state"]), (200, "stopped"), stopped)
        self.assertEqual(self.ask("POST", f"{box}/start").json["state"], "running")
        self.assertEqual(self.daemon.exec(box, "cat", "file")["stdout"], "kept\n")
        self.ask("POST", f"{box}/pause")
        self.assertEqual(self.ask("DELETE", box).status, 204)
        self.nothing_left()

    def test_a_daemon_that_dies_while_it_stops_a_paused_one_leaves_it_stopped(self):
        box = self.create().json["id"]
        self.ask("POST", f"{box}/pause")
        hit = self.proxy.on("POST", "/unpause", lambda _: self.daemon.kill())
        with self.assertRaises(OSError):
            self.ask("POST", f"{box}/stop")
        self.assertTrue(hit.wait(10))
        began = time.monotonic()
        self.start_daemon()
        self.assertLess(time.monotonic() - began, SOON)
        self.assertEqual(self.state_of(box), "stopped")
        self.ask("POST", f"{box}/start")
        self.assertEqual(self.daemon.exec(box, "printf", "works")["stdout"], "works")
        self.ask("DELETE", box)
        self.nothing_left()

    # A reset that is interrupted.

    def interrupted_reset(self, method, pattern, act):
        box = self.create().json["id"]
        hit = self.proxy.on(method, pattern, act)
        with self.assertRaises(OSError):
            self.ask("POST", f"{box}/reset")
        self.assertTrue(hit.wait(10))
        self.start_daemon()
        self.assertEqual(self.state_of(box), "failed")
        return box

    def kill_after_it(self, exchange):
        exchange.send()
        exchange.receive()
        self.daemon.kill()

    def test_an_interrupted_reset_is_repeated(self):
        for method, pattern, act in (("POST", CREATE, lambda _: self.daemon.kill()), ("DELETE", REMOVE, self.kill_after_it)):
            with self.subTest(method):
                box = self.interrupted_reset(method, pattern, act)
                again = self.ask("POST", f"{box}/reset", seconds=60)
                self.assertEqual(again.status, 200, again)
                self.assertEqual(self.daemon.exec(box, "printf", "works")["stdout"], "works")
                self.assertEqual(self.ask("DELETE", box).status, 204)
                self.assertEqual(self.directories(), [])
        self.nothing_left()

    def test_what_an_interrupted_reset_leaves_is_removed_with_the_sandbox(self):
        box = self.interrupted_reset("DELETE", REMOVE, self.kill_after_it)
        self.assertEqual(self.ask("DELETE", box).status, 204)
        self.assertEqual(self.directories(), [])
        self.nothing_left()

    # An engine that is away.

    def test_a_removal_that_failed_is_finished_soon_after_the_engine_is_back(self):
        box = self.create().json["id"]
        self.engine.kill()
        try:
            self.assertEqual(self.ask("DELETE", box, seconds=60).status, 503)
            self.assertEqual(self.state_of(box), "stopping")
        finally:
            self.engine.start()
            self.engine.ask("POST", f"/v1.41/containers/{self.foreign}/start")
        wait_until(lambda: self.ask("GET", box).status == 404, "it is gone", SOON)
        self.works()
        self.nothing_left()

    # An image that does not come.

    @contextlib.contextmanager
    def hung_image(self):
        hung = HungRegistry(self.engine, 5010)
        try:
            yield f"{hung.address}/x:1"
        finally:
            hung.stop()

    def pulls(self):
        """Of images by name: what runtimes are tried with is loaded by the same call."""
        return [one for one in self.proxy.requests if "/images/create" in one and "fromImage" in one]

    def test_what_waits_for_its_image_can_be_removed(self):
        answers = []
        with self.hung_image() as image:
            body = {"driver": self.name, "name": "waits", "image": image}
            asking = threading.Thread(target=lambda: answers.append(self.daemon.call("POST", "/v1/sandboxes", body, timeout=60)))
            asking.start()
            try:
                wait_until(self.pulls, "the image is fetched")
                self.assertEqual(self.ask("DELETE", "waits", seconds=5).status, 204)
            finally:
                asking.join(60)
        self.assertNotEqual(answers[0].status, 201, answers[0])
        self.assertEqual(self.ask("GET", "waits").status, 404)
        self.nothing_left()

    # Runs without a daemon.

    def begin_run(self, *flags):
        place = tempfile.mkdtemp(prefix="atoll-e2e-")
        self.addCleanup(shutil.rmtree, place)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ATOLL_", "DOCKER_", "CONTAINER_"))}
        self.alone = {**kept, **LIBEXEC, "ATOLL_STATE": "/nonexistent/atoll", "XDG_RUNTIME_DIR": place, **self.proxy.environment}
        process = subprocess.Popen([ATOLL, "run", "--driver", self.name, *flags, "--", "true"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.alone)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, 30)
        self.addCleanup(process.kill)
        return process

    def test_one_interrupt_ends_a_run_whose_image_does_not_come(self):
        with self.hung_image() as image:
            run = self.begin_run("--image", image)
            wait_until(self.pulls, "the image is fetched")
            run.send_signal(signal.SIGINT)
            self.assertEqual(run.wait(10), 130, run.stdout.read())
        self.nothing_left()

    def test_the_third_interrupt_leaves_an_engine_that_hangs(self):
        over, begun = threading.Event(), threading.Event()

        def hang(_):
            begun.set()
            over.wait(90)

        self.proxy.on("POST", CREATE, hang)
        run = self.begin_run()
        try:
            self.assertTrue(begun.wait(20))
            for _ in range(3):
                run.send_signal(signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    run.wait(0.5)
            self.assertEqual(run.wait(10), 130)
        finally:
            over.set()
        self.nothing_left()

    def test_the_next_run_removes_what_a_killed_one_had_made(self):
        run = None

        def kill(_):
            run.kill()
            run.wait(20)

        hit = self.proxy.on("POST", START, kill)
        run = self.begin_run()
        self.assertTrue(hit.wait(30))
        self.assertEqual(sorted(one["State"] for one in self.engine.containers()), ["created", "running"])
        # A daemon's sandbox, and a run that lives, are not touched.
        box = self.create().json["id"]
        done = subprocess.run([ATOLL, "run", "--driver", self.name, "--", "printf", "works"], capture_output=True, text=True, timeout=60,
                              env=self.alone)
        self.assertEqual(done.stdout, "works", done.stderr)
        self.assertEqual(self.daemon.exec(box, "printf", "works")["stdout"], "works")
        self.ask("DELETE", box)
        self.nothing_left()

    def test_a_run_that_names_no_runtime_tries_none(self):
        before = set(self.proxy.created)
        run = self.begin_run()
        self.assertEqual(run.wait(60), 0, run.stdout.read())
        self.assertEqual(len(self.proxy.created - before), 1)
        self.nothing_left()


class DockerLives(Lives, unittest.TestCase):
    name = "docker"


class PodmanLives(Lives, unittest.TestCase):
    name = "podman"


def setUpModule():
    missing = lacking("docker") or lacking("podman")
    if missing and os.environ.get("ATOLL_MUST_RUN") == "1":
        raise AssertionError(f"ATOLL_MUST_RUN is set, and this host lacks: {missing}")
    if missing:
        raise unittest.SkipTest(f"this host lacks: {missing}")


if __name__ == "__main__":
    unittest.main()
