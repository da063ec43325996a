"""The daemon is killed with 200 sandboxes, and at many moments of each operation: what was asked is done or not, and no third thing."""

import concurrent.futures
import http.client
import os
import statistics
import threading
import time
import unittest

from live import Daemon, wait_until

CROWD = 200
POINTS = int(os.environ.get("ATOLL_SWEEP_POINTS", "8"))  # for each operation
LATEST = 1.3  # of the time that the operation takes
USUAL = 5  # how often that is measured


def percentile(samples, part):
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * part))]


class Adoption(unittest.TestCase):
    def test_two_hundred_sandboxes_are_taken_up_again(self):
        daemon = Daemon().start()
        self.addCleanup(daemon.end)  # asserts that nothing is left
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            boxes = list(pool.map(lambda _: daemon.create(driver="native", ttl_s=600), range(CROWD)))
        processes = {box: daemon.start_process(box, "sh", "-c", "echo before; read line")["process"] for box in boxes[::20]}
        daemon.kill()
        begun = time.monotonic()
        daemon.start()
        ready = time.monotonic() - begun
        waits = []
        for box in boxes:
            begun = time.monotonic()
            self.assertEqual(daemon.exec(box, "echo", "there")["stdout"], "there\n")
            waits.append((time.monotonic() - begun) * 1000)
        for box, process in processes.items():
            told = daemon.call("GET", f"/v1/sandboxes/{box}/processes").json["processes"]
            self.assertIn(process, [one["process"] for one in told])
        print(f"{CROWD} sandboxes, kill -9: ready after {ready:.2f} s, first command p50 {statistics.median(waits):.1f} ms,"
              f" p99 {percentile(waits, 0.99):.1f} ms, lost 0", flush=True)


class Sweep(unittest.TestCase):
    """Each operation is asked of a daemon that is killed meanwhile, later each time; the next daemon has to know what it is."""

    def setUp(self):
        self.daemon = Daemon().start()
        self.addCleanup(self.daemon.end)  # asserts that nothing is left

    def ask(self, method, path, body=None, headers=None):
        """None when the daemon dies before it answers."""
        try:
            return self.daemon.call(method, path, body, headers)
        except (OSError, http.client.HTTPException):
            return None

    def state(self, box):
        answer = self.daemon.call("GET", f"/v1/sandboxes/{box}")
        return answer.json["state"] if answer.status == 200 else "gone"

    def settled(self, box):
        """Its state once nothing is under way."""
        return wait_until(lambda: (state := self.state(box)) not in ("pending", "starting", "stopping") and state, f"{box} has settled", 60)

    def try_create(self):
        answer = self.daemon.call("POST", "/v1/sandboxes", {"driver": self.driver, "ttl_s": 600})
        # Whoever is half made does not answer, and its driver is asked again in a moment.
        self.assertIn(answer.status, (201, 503), answer)
        return answer.json["id"] if answer.status == 201 else None

    def new_box(self):
        box = wait_until(self.try_create, "sandboxes are made", 30)
        self.daemon.made.add(box)
        self.daemon.exec(box, "sh", "-c", "echo kept > kept")
        return box

    def works(self, box, *, keeps=True):
        self.assertEqual(self.daemon.exec(box, "cat", "kept")["stdout"] if keeps else "kept\n", "kept\n")
        self.assertEqual(self.daemon.exec(box, "echo", "works")["stdout"], "works\n")

    def how_long(self, prepare, act):
        taken = []
        for _ in range(USUAL):
            subject = prepare()
            begun = time.monotonic()
            answer = act(subject)
            taken.append(time.monotonic() - begun)
            self.assertIn(answer.status // 100, (2,), answer)
            self.clear(subject)
        return statistics.median(taken)

    def clear(self, subject):
        if subject and subject.startswith("sbx"):
            self.daemon.call("DELETE", f"/v1/sandboxes/{subject}")

    def sweep(self, what, prepare, act, judge):
        """`judge` gets the subject and the answer, None where the daemon died first, and says which of the two it came to."""
        usual, came_to, answered = self.how_long(prepare, act), {}, 0
        for point in range(POINTS):
            subject = prepare()
            answers = []
            caller = threading.Thread(target=lambda: answers.append(act(subject)))  # noqa: B023
            moment = threading.Event()
            caller.start()
            moment.wait(usual * LATEST * point / (POINTS - 1))  # the fault itself: a moment to strike at
            self.daemon.kill()
            caller.join(60)
            self.daemon.start()
            with self.subTest(what=what, point=point):
                outcome = judge(subject, answers[0])
                came_to[outcome] = came_to.get(outcome, 0) + 1
                answered += answers[0] is not None
            self.clear(subject)
        print(f"{what} on {self.driver}, {usual * 1000:.1f} ms: killed at {POINTS} points, answered {answered}, "
              + ", ".join(f"{outcome} {count}" for outcome, count in sorted(came_to.items())), flush=True)

    def named(self, name):
        """Once it is known what has become of it: a driver may have to be asked again."""
        def settled():
            found = self.daemon.call("GET", f"/v1/sandboxes?name={name}").json["sandboxes"]
            return None if any(one["state"] in ("pending", "starting", "stopping") for one in found) else (found,)

        (found,) = wait_until(settled, f"{name} has settled", 60)
        return [one for one in found if one["state"] not in ("destroyed", "failed")]

    def change(self, what, old, new):
        """One that leads from a state to another."""
        def judge(box, answer):
            state = self.settled(box)
            self.assertIn(state, (old, new))
            if answer is not None:
                self.assertEqual((answer.status // 100, state), (2, new), answer)
            if state == "paused":
                self.assertEqual(self.daemon.call("POST", f"/v1/sandboxes/{box}/resume").status, 200)
            if state == "stopped":
                self.assertEqual(self.daemon.call("POST", f"/v1/sandboxes/{box}/start").status, 200)
            self.works(box)
            return state

        def prepare():
            box = self.new_box()
            if old != "running":
                self.assertEqual(self.daemon.call("POST", f"/v1/sandboxes/{box}/{'pause' if old == 'paused' else 'stop'}").status, 200)
            return box

        self.sweep(what, prepare, lambda box: self.ask("POST", f"/v1/sandboxes/{box}/{what}"), judge)


class Native(Sweep):
    driver = "native"

    def test_create(self):
        keys = iter(range(10_000))

        def act(key):
            answer = self.ask("POST", "/v1/sandboxes", {"driver": self.driver, "name": f"n{key}", "ttl_s": 600}, {"Idempotency-Key": key})
            if answer is not None and answer.status == 201:
                self.daemon.made.add(answer.json["id"])
            return answer

        def judge(key, answer):
            found = self.named(f"n{key}")
            self.assertLessEqual(len(found), 1)
            if answer is not None and answer.status == 201:
                self.assertEqual([one["id"] for one in found], [answer.json["id"]])
            again = act(key)
            if again.status == 409:
                # It was made and undone again: its key is used up, and gives no other.
                self.assertEqual((found, answer), ([], None))
                self.assertIn("has ended", again.json["detail"])
                return "undone"
            self.assertIn(again.status, (200, 201), again)
            self.assertEqual([one["id"] for one in self.named(f"n{key}")], [again.json["id"]])
            self.works(again.json["id"], keeps=False)
            self.daemon.call("DELETE", f"/v1/sandboxes/{again.json['id']}")
            return "there" if found else "not there"

        self.sweep("create", lambda: f"k{next(keys)}", act, judge)

    def test_delete(self):
        def judge(box, answer):
            state = self.settled(box)
            self.assertIn(state, ("running", "gone", "destroyed"))
            if answer is not None:
                self.assertNotEqual(state, "running", answer)
            if state == "running":
                self.works(box)
            return state

        self.sweep("delete", self.new_box, lambda box: self.ask("DELETE", f"/v1/sandboxes/{box}"), judge)

    def test_pause(self):
        self.change("pause", "running", "paused")

    def test_resume(self):
        self.change("resume", "paused", "running")

    def test_stop(self):
        self.change("stop", "running", "stopped")

    def test_start(self):
        self.change("start", "stopped", "running")


class Gvisor(Sweep):
    """What `native` does not have."""

    driver = "gvisor"

    def snapshots(self, box):
        return {one["id"] for one in self.daemon.call("GET", f"/v1/snapshots?sandbox={box}").json["snapshots"]}

    def test_snapshot(self):
        def judge(box, answer):
            wait_until(lambda: self.state(box) == "running", "the sandbox goes on", 60)
            found = self.snapshots(box)
            if answer is not None:
                self.assertIn(answer.json["id"], found)
            for snapshot in found:
                copy = self.daemon.create(driver=self.driver, snapshot=snapshot, ttl_s=600)
                self.works(copy)
                self.clear(copy)
                self.assertEqual(self.daemon.call("DELETE", f"/v1/snapshots/{snapshot}").status, 204)
            self.works(box)
            return "there" if found else "not there"

        def act(box):
            return self.ask("POST", f"/v1/sandboxes/{box}/snapshots", {})

        self.sweep("snapshot", self.new_box, act, judge)
        for snapshot in self.daemon.call("GET", "/v1/snapshots").json["snapshots"]:
            self.assertEqual(self.daemon.call("DELETE", f"/v1/snapshots/{snapshot['id']}").status, 204)

    def test_create_from_a_snapshot(self):
        box = self.new_box()
        snapshot = self.daemon.call("POST", f"/v1/sandboxes/{box}/snapshots", {}).json["id"]
        keys = iter(range(10_000))

        def act(key):
            answer = self.ask("POST", "/v1/sandboxes", {"snapshot": snapshot, "name": f"n{key}", "ttl_s": 600}, {"Idempotency-Key": key})
            if answer is not None and answer.status == 201:
                self.daemon.made.add(answer.json["id"])
            return answer

        def judge(key, answer):
            found = self.named(f"n{key}")
            self.daemon.made.update(one["id"] for one in found)
            if answer is not None and answer.status == 201:
                self.assertEqual([one["id"] for one in found], [answer.json["id"]])
            try:
                for one in found:
                    self.works(one["id"])
            finally:
                for one in found:
                    self.clear(one["id"])
            return "there" if found else "not there"

        def clear(subject):
            for one in self.named(f"n{subject}") if subject.startswith("k") else [{"id": subject}]:
                self.daemon.call("DELETE", f"/v1/sandboxes/{one['id']}")

        self.clear = clear
        self.sweep("create from a snapshot", lambda: f"k{next(keys)}", act, judge)
        self.assertEqual(self.daemon.call("DELETE", f"/v1/snapshots/{snapshot}").status, 204)

    def test_fork(self):
        def judge(box, answer):
            others = [one["id"] for one in self.daemon.call("GET", "/v1/sandboxes?state=running").json["sandboxes"] if one["id"] != box]
            self.daemon.made.update(others)
            try:
                self.assertLessEqual(len(others), 1)
                if answer is not None:
                    self.assertEqual(others, [one["id"] for one in answer.json["sandboxes"]])
                for other in others:
                    self.works(other)
            finally:
                for other in others:
                    self.clear(other)
            self.works(box)
            return "there" if others else "not there"

        def act(box):
            answer = self.ask("POST", f"/v1/sandboxes/{box}/fork", {"count": 1})
            if answer is not None and answer.status // 100 == 2 and self.measuring:
                self.daemon.made.update(one["id"] for one in answer.json["sandboxes"])
                for one in answer.json["sandboxes"]:
                    self.clear(one["id"])
            return answer

        self.measuring = True
        usual = self.how_long(self.new_box, act)
        self.measuring = False
        self.how_long = lambda *_: usual
        self.sweep("fork", self.new_box, act, judge)


del Sweep  # it is no case by itself


if __name__ == "__main__":
    unittest.main()
