"""A container engine is killed in the middle of a creation, a command and a destruction: nothing leaks, and everything is told.

The moment is hit on purpose, by a proxy that has the request in its hands. Few rounds in ./dev test, many in ./dev test full.
"""

import os
import unittest

from engine_census import leaks
from engine_proxy import EngineProxy
from engines import Engine, lacking
from live import Daemon, wait_until

LIBEXEC = {"ATOLL_LIBEXEC": os.environ["ATOLL_LIBEXEC"]} if "ATOLL_LIBEXEC" in os.environ else {}
REQUESTS = {"create": [("POST", r"/containers/create\?"), ("POST", r"/containers/atoll-\w+/start")],
            "destroy": [("DELETE", r"/containers/atoll-")]}
BACK_AGAIN = 60  # seconds until an engine that was killed serves again, on a machine that is busy


class Deaths:
    """What holds for every engine; `name` is the driver's, `rounds` how often at each point."""

    engine_is, proxy_is, wish = {}, {}, {}
    leads_through_engine = False  # the way to the agent

    @classmethod
    def setUpClass(cls):
        cls.engine = Engine(cls.name, **cls.engine_is).start()
        cls.proxy = EngineProxy(cls.engine, **cls.proxy_is).__enter__()
        cls.daemon = Daemon()
        cls.daemon.start(env={**LIBEXEC, **cls.proxy.environment})
        cls.foreign = cls.engine.make_container("somebodys")
        cls.figures = {}

    @classmethod
    def tearDownClass(cls):
        print(f"figure: containers of {cls.name} killed: " + ", ".join(f"{count} {what}" for what, count in sorted(cls.figures.items())), flush=True)
        cls.daemon.end()
        cls.proxy.__exit__()
        cls.engine.ask("DELETE", "/v1.41/containers/somebodys?force=1&v=1")
        left = cls.engine.stop()
        assert not left, f"{cls.name} has left: {left}"

    def count(self, what, number=1):
        self.figures[what] = self.figures.get(what, 0) + number

    # The moments.

    def moment(self, number):
        """The engine dies with the request in its hands, with its answer on its way, or right after it."""
        def as_it_is_asked(exchange):
            exchange.send()
            self.engine.kill()

        def before_its_answer(exchange):
            exchange.send()
            exchange.receive()
            self.engine.kill()

        def after_its_answer(exchange):
            exchange.send()
            exchange.receive()
            self.engine.kill()
            exchange.pass_on()

        return (before_its_answer, as_it_is_asked, after_its_answer)[number % 3]

    def kill_at(self, point, number):
        requests = REQUESTS[point]
        method, pattern = requests[number % len(requests)]
        return self.proxy.on(method, pattern, self.moment(number))

    # Before and after.

    def ask_for_box(self):
        return self.daemon.call("POST", "/v1/sandboxes", {"driver": self.name, "ttl_s": 600, **self.wish}, timeout=120)

    def new_box(self):
        answer = self.ask_for_box()
        return answer.json["id"] if answer.status == 201 else None

    def engine_comes_back(self):
        self.engine.start()
        return wait_until(self.new_box, f"{self.name} gives sandboxes again", BACK_AGAIN)

    def settle(self, *boxes):
        """Each is there and works, or is gone and told; then all are destroyed and nothing is left."""
        for box in boxes:
            self.count("sandboxes usable" if self.is_usable(box) else "sandboxes gone and told")
        for one in self.daemon.call("GET", "/v1/sandboxes").json["sandboxes"]:
            answer = self.daemon.call("DELETE", f"/v1/sandboxes/{one['id']}", timeout=120)
            self.assertIn(answer.status, (204, 404, 409), answer)
        try:
            wait_until(lambda: not self.leaks(), "nothing is left", BACK_AGAIN)
        except AssertionError:
            self.fail(f"left: {self.leaks()}; {self.proxy.requests[-20:]}")
        self.assertIn(self.foreign, {one["Id"] for one in self.engine.containers()}, "somebody else's container is gone")
        self.count("leaks", len(self.leaks()))
        self.count("kills")

    def leaks(self):
        return leaks(self.engine, self.daemon, {self.foreign}, self.proxy.created)

    def is_usable(self, box):
        def known():
            answer = self.daemon.call("GET", f"/v1/sandboxes/{box}")
            state = answer.json.get("state") if answer.status == 200 else "gone"
            if state != "running":
                return "gone"
            done = self.daemon.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["printf", "works\\n"]})
            return "usable" if done.status == 200 and done.json.get("stdout") == "works\n" else None
        # It may take a moment until the death of a container is known.
        return wait_until(known, f"{box} is there and usable, or gone and told", BACK_AGAIN) == "usable"

    # The points.

    def test_killed_in_the_middle_of_a_creation(self):
        for number in range(self.rounds):
            with self.subTest(round=number):
                hit = self.kill_at("create", number)
                answer = self.ask_for_box()
                self.assertTrue(hit.wait(30), "the moment was not hit")
                if answer.status != 201:
                    self.assertIn(answer.status, (502, 503), answer)
                    self.assertIn(self.name, answer.json["detail"])
                    self.assertTrue(answer.json.get("hint"), answer)
                    self.count("creations refused")
                again = self.engine_comes_back()
                self.settle(again, *([answer.json["id"]] if answer.status == 201 else []))

    def test_killed_in_the_middle_of_a_command(self):
        for number in range(self.rounds):
            with self.subTest(round=number):
                box = self.new_box() or self.fail("no sandbox")
                process = self.daemon.start_process(box, "sh", "-c", "echo up; until [ -e go ]; do sleep 0.01; done; echo after")["process"]
                events = self.daemon.events(box, process)
                text = ""
                while "up\n" not in text:
                    text += next(events).get("data", "")
                self.engine.kill()
                if self.leads_through_engine:
                    last = list(events)[-1]
                    self.assertEqual(last.get("reason", last.get("status", {}).get("reason")), "infra", last)
                    self.count("commands told to be lost")
                else:
                    self.daemon.exec(box, "touch", "go")
                    text += "".join(event.get("data", "") for event in events)
                    self.assertEqual(text, "up\nafter\n")
                    self.count("commands that ended well")
                again = self.engine_comes_back()
                self.settle(box, again)

    def test_killed_in_the_middle_of_a_destruction(self):
        for number in range(self.rounds):
            with self.subTest(round=number):
                box = self.new_box() or self.fail("no sandbox")
                hit = self.kill_at("destroy", number)
                answer = self.daemon.call("DELETE", f"/v1/sandboxes/{box}", timeout=120)
                self.assertTrue(hit.wait(30), "the moment was not hit")
                self.assertIn(answer.status, (204, 502, 503), answer)
                self.count("destructions done" if answer.status == 204 else "destructions refused")
                again = self.engine_comes_back()
                self.assertNotEqual(self.daemon.call("GET", f"/v1/sandboxes/{box}").json.get("state"), "running")
                self.settle(again)


class BehindRunsc(Deaths):
    """An engine's containers behind gVisor's kernel, into which no socket reaches."""
    name, engine_is, wish, leads_through_engine = "docker", {"runsc": True}, {"runtime": "runsc"}, True


class Elsewhere(Deaths):
    """An engine on another machine, as far as the daemon can see: the agent is copied into a volume."""
    name, proxy_is, leads_through_engine = "docker", {"is_elsewhere": True}, True


class FewDocker(Deaths, unittest.TestCase):
    name, rounds = "docker", 3


class FewPodman(Deaths, unittest.TestCase):
    name, rounds = "podman", 3


class FewElsewhere(Elsewhere, unittest.TestCase):
    rounds = 3


class ManyBehindRunsc(BehindRunsc, unittest.TestCase):
    rounds = 50


class ManyElsewhere(Elsewhere, unittest.TestCase):
    rounds = 50


class ManyDocker(Deaths, unittest.TestCase):
    name, rounds = "docker", 50


class ManyPodman(Deaths, unittest.TestCase):
    name, rounds = "podman", 50


def setUpModule():
    missing = lacking("docker") or lacking("podman") or lacking("runsc")
    if missing and os.environ.get("ATOLL_MUST_RUN") == "1":
        raise AssertionError(f"ATOLL_MUST_RUN is set, and this host lacks: {missing}")
    if missing:
        raise unittest.SkipTest(f"this host lacks: {missing}")


if __name__ == "__main__":
    unittest.main()
