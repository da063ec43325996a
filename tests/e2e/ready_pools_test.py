"""Pools of ready sandboxes with a real daemon: who gets them, how fast, and what is left when somebody dies."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time
import unittest

from engines import Engine, lacking
from live import ATOLL, Daemon, cgroups_of_boxes, wait_until

LIBEXEC = {"ATOLL_LIBEXEC": os.environ["ATOLL_LIBEXEC"]} if "ATOLL_LIBEXEC" in os.environ else {}
OWN = "native" if os.geteuid() == 0 else "rootless"
SETUP_S = 0.3
NAP = 100_000 + os.getpid()  # seconds that nobody else sleeps for
# What a user leaves wherever one can, and what of it the next one could find.
LEAVE = f"for d in . /tmp /dev/shm; do echo mine > $d/secret; done 2>/dev/null; sleep {NAP} & setsid sleep {NAP} & true"
SEEK = f"cat secret /tmp/secret /dev/shm/secret 2>/dev/null; for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done 2>/dev/null | grep '^sleep {NAP}'"


def profile(driver, size, more):
    return f"""
profiles:
  ready:
    drivers: [{driver}]
    fallback: []
    setup: ["sleep {SETUP_S}; echo it is set up > prepared"]
    pool: {size}
    {more}
"""


def busybox_tree(place, tools):
    (place / "bin").mkdir(parents=True)
    shutil.copy("/bin/busybox", place / "bin/busybox")
    for tool in tools:
        (place / "bin" / tool).symlink_to("busybox")


def tar_of(place):
    return subprocess.run(["tar", "-C", str(place), "-cf", "-", "."], capture_output=True, check=True).stdout


def stages(box):
    return [stage["name"] for stage in box["stages"]]


class Cases:
    """What holds on every driver; `name` is the driver's."""

    more = "min_isolation: container"  # of the profile
    can_reset = True

    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="atoll-e2e-"))
        self.addCleanup(shutil.rmtree, self.place)

    def engine_environment(self):
        return {}

    def start(self, size="{min: 2, max: 2}"):
        profiles = self.place / "profiles.yaml"
        profiles.write_text(profile(self.name, size, self.more))
        os.chmod(self.place, 0o755)
        self.daemon = Daemon(arguments=["--profiles", str(profiles)])
        self.addCleanup(self.daemon.end)  # asserts that nothing is left
        self.resume()

    def resume(self):
        self.daemon.start(env={**LIBEXEC, **self.engine_environment()})

    def pool(self, name="ready@1"):
        answer = self.daemon.call("GET", f"/v1/pools/{name}")
        assert answer.status == 200, answer
        return answer.json

    def wait_for(self, ready, name="ready@1"):
        def is_full():
            pool = self.pool(name)
            return pool if pool["ready"] == ready and pool["filling"] == 0 else None
        return wait_until(is_full, f"{ready} are ready; {self.pool(name)}", 60)

    def parked(self):
        page = self.daemon.call("GET", "/v1/sandboxes?tenant=*").json["sandboxes"]
        found = [box for box in page if box.get("parked")]
        self.daemon.made |= {box["id"] for box in found}
        return {box["id"] for box in found if box["state"] == "running"}

    def create(self, **more):
        began = time.monotonic()
        answer = self.daemon.call("POST", "/v1/sandboxes", {"profile": "ready", **more})
        took = time.monotonic() - began
        self.assertEqual(answer.status, 201, answer)
        self.daemon.made.add(answer.json["id"])
        return answer.json, took

    def cat(self, box, path):
        return self.daemon.exec(box, "cat", path)

    def test_what_is_ready_is_set_up_and_comes_at_once(self):
        self.start()
        self.wait_for(2)
        waiting = self.parked()
        hits, misses = [], []
        for turn in range(3):
            box, took = self.create(name=f"hit{turn}", ttl_s=60 + turn)
            hits.append(took)
            self.assertEqual(box["pool"], "ready@1", box)
            self.assertNotIn("setup", stages(box))
            self.assertIn("pool", stages(box))
            self.assertEqual(self.cat(box["id"], "prepared")["stdout"], "it is set up\n")
            if turn == 0:
                self.assertIn(box["id"], waiting)
            self.wait_for(2)
            # The environment cannot be given to one that is there already.
            other, took = self.create(env={"MINE": "1"})
            misses.append(took)
            self.assertNotIn("pool", other)
            self.assertIn("setup", stages(other))
            self.assertEqual(self.daemon.exec(other["id"], "sh", "-c", "echo $MINE; cat prepared")["stdout"], "1\nit is set up\n")
        print(f"figure: pool of {self.name}: hit {statistics.median(hits) * 1000:.2f} ms, miss {statistics.median(misses) * 1000:.2f} ms, "
              f"fill {self.pool()['fills']['mean_ms']:.2f} ms", flush=True)
        self.assertGreater(min(misses), SETUP_S)
        self.assertLess(statistics.median(hits), SETUP_S / 2)
        told = self.pool()
        self.assertEqual((told["hits"]["count"], told["misses"]["count"]), (3, 0))
        self.assertEqual(told["hit_rate"], 1)
        metrics = self.daemon.call("GET", "/metrics").body.decode()
        self.assertIn(f'atoll_pool_requests_total{{driver="{self.name}",outcome="hit"}} 3', metrics)

    def use(self, box):
        """As somebody who leaves as much as one can."""
        self.assertEqual(self.traces_in(box), "")
        self.assertEqual(self.daemon.exec(box, "sh", "-c", LEAVE)["exit_code"], 0)
        self.assertIn(f"sleep {NAP}", self.traces_in(box), "it would be found")
        self.assertIn("mine", self.traces_in(box))

    def traces_in(self, box):
        return self.daemon.exec(box, "sh", "-c", SEEK)["stdout"]

    def test_what_somebody_had_nobody_gets(self):
        self.start()
        seen = set()
        for turn in range(4):
            self.wait_for(2)
            waiting = self.parked()
            box, _ = self.create()
            self.assertEqual(box["pool"], "ready@1")
            self.assertIn(box["id"], waiting)
            self.assertNotIn(box["id"], seen)
            seen.add(box["id"])
            self.use(box["id"])
            released = self.daemon.call("POST", f"/v1/sandboxes/{box['id']}/release", {"corrupted": turn % 2 == 1})
            self.assertEqual(released.status, 204, released)
            self.assertEqual(self.daemon.call("GET", f"/v1/sandboxes/{box['id']}").status, 404)
        self.wait_for(2)
        self.nothing_else_than(self.parked(), seen)

    def test_one_that_is_reset_is_as_new_and_does_not_come_back_either(self):
        self.start()
        self.wait_for(2)
        self.assertEqual(self.can()["reset"], self.can_reset)
        box, _ = self.create()
        self.use(box["id"])
        reset = self.daemon.call("POST", f"/v1/sandboxes/{box['id']}/reset", {})
        if self.can_reset:
            self.assertEqual((reset.status, reset.json.get("id")), (200, box["id"]), reset)
            self.assertEqual(self.traces_in(box["id"]), "")
            self.assertEqual(self.cat(box["id"], "prepared")["stdout"], "it is set up\n")
        else:
            self.assertEqual((reset.status, reset.json["code"]), (409, "unsupported"), reset)
        self.assertEqual(self.daemon.call("POST", f"/v1/sandboxes/{box['id']}/release", {}).status, 204)
        self.wait_for(2)
        self.nothing_else_than(self.parked(), {box["id"]})
        self.assertNotIn(box["id"], self.parked())

    def can(self):
        found = self.daemon.call("GET", "/v1/drivers").json["drivers"]
        return next(driver["capabilities"] for driver in found if driver["name"] == self.name)

    def test_after_kill_9_nothing_is_handed_out_twice_or_left(self):
        self.start()
        self.wait_for(2)
        box, _ = self.create(name="kept")
        self.daemon.exec(box["id"], "sh", "-c", "echo mine > secret")
        self.wait_for(2)
        before = self.parked()
        self.assertEqual(len(before), 2)

        self.daemon.kill()
        self.resume()

        self.assertEqual(self.cat("kept", "secret")["stdout"], "mine\n")
        self.wait_for(2)
        after = self.parked()
        self.assertEqual(before & after, set(), "nobody could know whose they were")
        self.nothing_else_than({box["id"]} | after, before)
        other, _ = self.create()
        self.assertIn(other["id"], after)
        self.assertNotEqual(self.cat(other["id"], "secret")["exit_code"], 0)

    def test_kill_9_in_the_middle_of_many(self):
        self.start("{min: 4, max: 4}")
        self.wait_for(4)
        before = self.parked()

        def ask(number):
            try:
                return self.daemon.call("POST", "/v1/sandboxes", {"profile": "ready", "name": f"n{number}"}, timeout=20)
            except (OSError, json.JSONDecodeError, ConnectionError):
                return None
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            asked = [threads.submit(ask, number) for number in range(8)]
            wait_until(lambda: any(one.done() for one in asked), "the first is answered")
            self.daemon.kill()
            answers = [one.result() for one in asked]
        given = {answer.json["name"]: answer.json["id"] for answer in answers if answer is not None and answer.status == 201}
        self.assertTrue(given)
        self.resume()
        self.wait_for(4)
        page = self.daemon.call("GET", "/v1/sandboxes").json["sandboxes"]
        there = {box["name"]: box["id"] for box in page}
        self.daemon.made |= set(there.values())
        for name, box in given.items():
            self.assertEqual(there.get(name), box, "what was acknowledged is there")
        self.assertEqual(len(set(there.values())), len(there))
        self.nothing_else_than(set(there.values()) | self.parked(), before - set(there.values()))

    def test_a_restart_in_order_keeps_what_is_ready(self):
        self.start()
        self.wait_for(2)
        before = self.parked()
        self.daemon.terminate()
        self.resume()
        self.wait_for(2)
        self.assertEqual(self.parked(), before)
        box, _ = self.create()
        self.assertIn(box["id"], before)
        self.assertEqual(self.cat(box["id"], "prepared")["stdout"], "it is set up\n")

    def test_one_at_a_time_gets_one_and_nobody_two(self):
        self.start("{min: 4, max: 4}")
        self.wait_for(4)
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            made = [box for box, _ in threads.map(lambda _: self.create(), range(8))]
        self.assertEqual(len({box["id"] for box in made}), 8)
        hits = [box for box in made if "pool" in box]
        self.assertGreaterEqual(len(hits), 4)
        told = self.pool()
        self.assertEqual(told["hits"]["count"] + told["misses"]["count"], 8)

    def test_what_is_parked_is_nobodys(self):
        self.start()
        self.wait_for(2)
        box = sorted(self.parked())[0]
        self.assertEqual(self.daemon.call("GET", "/v1/sandboxes").json["sandboxes"], [])
        answer = self.daemon.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["true"]})
        self.assertEqual((answer.status, answer.json["code"]), (409, "conflict"), answer)
        key = self.daemon.call("POST", "/v1/keys", {"role": "member", "tenant": "acme"}).json["key"]
        # As whoever has the key: over TCP, because the socket knows its own user.
        found = json.loads(subprocess.run(
            [ATOLL, "--json", "--url", self.address(), "ps"], capture_output=True, text=True, check=True, timeout=60,
            env={**os.environ, "ATOLL_API_KEY": key}).stdout)
        self.assertEqual(found, [])

    def address(self):
        log = self.daemon.log()
        return "http://" + log.split("http://")[1].split("\"")[0].split()[0].rstrip("/,")

    def test_a_run_takes_one(self):
        self.start()
        self.wait_for(2)
        waiting = self.parked()
        answer = self.daemon.call("POST", "/v1/runs", {"sandbox": {"profile": "ready"}, "exec": {"argv": ["cat", "prepared"]}})
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json["stdout"], "it is set up\n")
        self.assertIn("pool", stages(answer.json))
        self.wait_for(2)
        self.assertEqual(len(self.parked() & waiting), 1)


class Engines(Cases):
    @classmethod
    def setUpClass(cls):
        if lacking(cls.name) and os.environ.get("ATOLL_MUST_RUN") != "1":
            raise unittest.SkipTest(f"no {cls.name} here: {lacking(cls.name)}")
        cls.engine = Engine(cls.name).start()

    @classmethod
    def tearDownClass(cls):
        left = cls.engine.stop()
        assert not left, f"{cls.name} has left: {left}"

    def engine_environment(self):
        return self.engine.environment

    def nothing_else_than(self, boxes, gone):
        self.assertEqual(boxes & gone, set())
        wait_until(lambda: {one["Names"][0].removeprefix("/atoll-") for one in self.engine.containers()} == boxes,
                   f"only {boxes} are there; {self.engine.containers()}")


class Docker(Engines, unittest.TestCase):
    name = "docker"


class Podman(Engines, unittest.TestCase):
    name = "podman"


class OfOurOwn(Cases):
    def nothing_else_than(self, boxes, gone):
        def are_there():
            known = self.daemon.call("GET", "/v1/sandboxes?tenant=*").json["sandboxes"]
            # Of others there may be some beside them: what the launcher itself keeps ready, and our neighbours'.
            return {box["id"] for box in known} == boxes and not {os.path.basename(group) for group in cgroups_of_boxes()} & gone
        wait_until(are_there, f"only {boxes} are there")


@unittest.skipIf((lacking("runsc") or os.geteuid() != 0) and os.environ.get("ATOLL_MUST_RUN") != "1", "gvisor needs runsc and root here")
class Gvisor(OfOurOwn, unittest.TestCase):
    name = "gvisor"


@unittest.skipIf(os.geteuid() != 0 and os.environ.get("ATOLL_MUST_RUN") != "1", "a daemon's templates on chroot need root")
class Chroot(OfOurOwn, unittest.TestCase):
    """Its root is a template, which has to be there before the pool can be filled."""
    name = "chroot"
    more = "template: tiny"
    can_reset = False

    def start(self, size="{min: 2, max: 2}"):
        super().start(size)
        busybox_tree(self.place / "tree", ("sh", "cat", "sleep", "setsid", "tr", "grep"))
        self.assertEqual(self.daemon.call("PUT", "/v1/templates/tiny", tar_of(self.place / "tree")).status, 201)


class Native(OfOurOwn, unittest.TestCase):
    name = OWN

    def atoll(self, *words, code=0):
        done = subprocess.run([ATOLL, *words, "--state", self.daemon.state], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done.stdout

    def test_the_command_line(self):
        self.start()
        self.wait_for(2)
        self.assertEqual(self.atoll("pool", "create", "--driver", OWN, "--memory", "64m", "--min", "1", "small"), "small\n")
        self.wait_for(1, "small")
        self.assertIn("small", self.atoll("pool", "ls"))
        self.assertEqual(json.loads(self.atoll("pool", "show", "--json", "small"))["resources"]["memory_mb"], 64)
        box = self.atoll("pool", "acquire", "small").strip()
        self.daemon.made.add(box)
        self.assertEqual(self.daemon.call("GET", f"/v1/sandboxes/{box}").json["pool"], "small")
        words = [line.split() for line in self.atoll("pool", "ls").splitlines()]
        small = dict(zip(words[0], next(line for line in words if line[0] == "small")))
        self.assertEqual((small["HITS"], small["MISSES"], small["RATE"]), ("1", "0", "100"))
        self.assertEqual(self.atoll("pool", "release", "--corrupted", box), f"{box}\n")
        self.assertEqual(self.daemon.call("GET", f"/v1/sandboxes/{box}").status, 404)
        self.assertIn("no sandbox", self.atoll_error("pool", "release", "nobody"))
        self.assertEqual(json.loads(self.atoll("pool", "set", "--json", "--max", "3", "--target", "2", "small"))["max"], 3)
        self.wait_for(2, "small")
        before = self.parked()
        self.atoll("pool", "drain", "small")
        wait_until(lambda: len(self.parked() - before) == 2, "it is filled anew")
        self.assertIn("max: it is less than target", self.atoll_error("pool", "set", "--max", "1", "--min", "2", "small"))
        self.assertIn("profile", self.atoll_error("pool", "rm", "ready@1"))
        self.atoll("pool", "rm", "small")
        self.assertEqual(self.atoll("pool", "ls", "-q"), "ready@1\n")
        self.assertEqual(len(self.parked()), 2)

    def atoll_error(self, *words):
        done = subprocess.run([ATOLL, *words, "--state", self.daemon.state], capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr

    def test_a_pool_is_there_after_kill_9(self):
        self.start()
        self.atoll("pool", "create", "--driver", OWN, "--pids", "33", "--min", "1", "mine")
        self.wait_for(1, "mine")
        self.daemon.kill()
        self.resume()
        self.wait_for(1, "mine")
        self.assertEqual(self.pool("mine")["source"], "operator")

    def test_a_template_that_changes_changes_what_is_ready(self):
        if os.geteuid() != 0:
            self.skipTest("templates of the native driver need root")
        self.start()

        def put(word):
            tree = self.place / "tree"
            shutil.rmtree(tree, ignore_errors=True)
            busybox_tree(tree, ("sh", "cat"))
            (tree / "motto").write_text(word)
            answer = self.daemon.call("PUT", "/v1/templates/tiny", tar_of(tree))
            self.assertEqual(answer.status, 201, answer)
        put("first")
        self.atoll("pool", "create", "--driver", OWN, "--template", "tiny", "--min", "1", "tiny")
        self.wait_for(1, "tiny")
        put("second")

        def comes():
            answer = self.daemon.call("POST", "/v1/pools/tiny/acquire")
            self.assertEqual(answer.status, 201, answer)
            self.daemon.made.add(answer.json["id"])
            self.assertEqual(self.cat(answer.json["id"], "/motto")["stdout"], "second")
            self.daemon.call("DELETE", f"/v1/sandboxes/{answer.json['id']}")
            return "pool" in answer.json
        wait_until(comes, "the pool has the new one")


if __name__ == "__main__":
    unittest.main()
