"""Quotas, the queue and a policy server, on a real daemon: who is refused, who waits, who is asked."""

import json
import os
import pathlib
import socket
import subprocess
import tempfile
import threading
import unittest

from live import ATOLL, Daemon, wait_until
from policy_server import PolicyServer

DRIVER = "native" if os.geteuid() == 0 else "rootless"
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Call(threading.Thread):
    """A request that somebody waits for."""

    def __init__(self, world, method, path, body, tenant):
        super().__init__()
        self.world, self.question, self.answer, self.tenant = world, (method, path, body), None, tenant
        self.start()

    def run(self):
        method, path, body = self.question
        self.answer = self.world.ask(method, path, body, self.tenant)
        self.world.order.append(self.tenant)

    def get(self):
        self.join(60)
        assert self.answer is not None, "it never ended"
        return self.answer


class World(unittest.TestCase):
    def start(self, *arguments, env=None):
        self.daemon = Daemon(arguments=[*arguments, "--parked", "0"])
        self.addCleanup(self.daemon.end)
        self.daemon.start(env=env or {})
        self.keys, self.order = {}, []

    def key(self, tenant):
        if tenant not in self.keys:
            made = self.daemon.call("POST", "/v1/keys", {"role": "member", "tenant": tenant})
            self.assertEqual(made.status, 201, made)
            self.keys[tenant] = made.json["key"]
        return self.keys[tenant]

    def ask(self, method, path, body=None, tenant="a"):
        answer = self.daemon.call(method, path, body, {"Authorization": f"Bearer {self.key(tenant)}"})
        if answer.status == 201 and path == "/v1/sandboxes":
            self.daemon.made.add(answer.json["id"])
        return answer

    def later(self, path, body, tenant="a"):
        return Call(self, "POST", path, body, tenant)

    def create(self, tenant="a", **request):
        return self.ask("POST", "/v1/sandboxes", request, tenant)

    def limits(self, tenant="a"):
        return self.ask("GET", "/v1/limits", tenant=tenant).json

    def metric(self, line):
        for one in self.daemon.call("GET", "/metrics").body.decode().splitlines():
            if one.startswith(line + " "):
                return float(one.split()[-1])
        return 0.0

    def refused(self, answer, limit):
        self.assertEqual(answer.status, 429, answer)
        problem = answer.json
        self.assertEqual(problem["code"], "resource_exhausted")
        self.assertEqual(problem["limit"], limit)
        self.assertGreaterEqual(int(answer.headers["Retry-After"]), 1)
        self.assertEqual(problem["retry_after_s"], int(answer.headers["Retry-After"]))
        self.assertTrue(problem["hint"])
        return problem

    def wait_for_queue(self, length):
        wait_until(lambda: self.metric('atoll_queue_length{queue="admission"}') == length, f"{length} wait")


class Quotas(World):
    def test_a_quota_is_refused_in_words_and_right_after_kill_9(self):
        quotas = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="atoll-admission-")), "quotas.yaml")
        quotas.write_text("tenants:\n  small: {memory: 300m, sandboxes: 3}\n")
        self.start("--tenant-memory", "1g", "--tenant-cpus", "4", "--quotas", str(quotas))
        first = self.create("small", resources={"memory_mb": 200})
        self.assertEqual(first.status, 201, first)

        problem = self.refused(self.create("small", resources={"memory_mb": 101}), "memory_mb")
        self.assertEqual(problem["detail"], "this tenant has 200 of 300 MiB of memory and asks for 101 more")
        self.assertEqual((problem["limit_most"], problem["limit_used"], problem["limit_asked"]), (300, 200, 101))
        self.assertEqual(len(self.ask("GET", "/v1/sandboxes", tenant="small").json["sandboxes"]), 1)
        self.assertEqual(self.create("large", resources={"memory_mb": 900, "cpu": 4}).status, 201)
        self.refused(self.create("large", resources={"memory_mb": 10, "cpu": 0.5}), "cpus")
        run = {"sandbox": {"resources": {"memory_mb": 200}}, "exec": {"argv": ["true"]}}
        self.refused(self.ask("POST", "/v1/runs", run, "small"), "memory_mb")

        self.daemon.kill()
        self.daemon.start()

        limits = self.limits("small")
        self.assertEqual((limits["memory_mb"], limits["memory_mb_now"], limits["sandboxes_now"]), (300, 200, 1))
        self.refused(self.create("small", resources={"memory_mb": 101}), "memory_mb")
        self.assertEqual(self.create("small", resources={"memory_mb": 100}).status, 201)
        self.assertEqual(self.ask("DELETE", f"/v1/sandboxes/{first.json['id']}", tenant="small").status, 204)
        self.assertEqual(self.limits("small")["memory_mb_now"], 100)

    def test_a_tenants_floor_holds_for_everybody_and_is_shown(self):
        quotas = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="atoll-admission-")), "quotas.yaml")
        quotas.write_text("tenants:\n  bank: {min_isolation: container, placement: host}\n")
        self.start("--quotas", str(quotas))
        admin = self.daemon.call("POST", "/v1/keys", {"role": "admin", "tenant": "bank"}).json["key"]

        def as_admin(path, body):
            return self.daemon.call("POST", path, body, {"Authorization": f"Bearer {admin}"})

        for answer in (as_admin("/v1/sandboxes", {"driver": "subprocess"}),
                       as_admin("/v1/runs", {"sandbox": {"driver": "subprocess"}, "exec": {"argv": ["true"]}}),
                       self.create("bank", driver="subprocess")):
            self.assertEqual((answer.status, answer.json["stage"]), (403, "route"), answer)
            self.assertRegex(answer.json["detail"], "nothing below container|less than container")
        made = self.create("bank")
        self.assertEqual((made.status, made.json["isolation"]), (201, "container"), made)
        limits = self.limits("bank")
        self.assertEqual((limits["min_isolation"], limits["placement"]), ("container", "host"))
        self.assertNotIn("min_isolation", self.limits("other"))
        told = subprocess.run([ATOLL, "limits", "--tenant", "bank"], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "ATOLL_URL": f"unix:{self.daemon.socket_path}"})
        self.assertRegex(told.stdout, "isolation, at least +container")

    def test_resizing_and_forking_count(self):
        self.start("--tenant-memory", "512m")
        box = self.create(resources={"memory_mb": 256}).json["id"]

        self.refused(self.ask("POST", f"/v1/sandboxes/{box}/resize", {"memory_mb": 513}), "memory_mb")
        self.assertEqual(self.ask("POST", f"/v1/sandboxes/{box}/resize", {"memory_mb": 300}).status, 200)
        self.assertEqual(self.limits()["memory_mb_now"], 300)
        answer = self.ask("POST", f"/v1/sandboxes/{box}/fork", {"count": 1})
        if answer.status != 409:  # the driver can fork
            self.refused(answer, "memory_mb")

    def test_creates_have_a_rate(self):
        self.start("--tenant-creates", "1")
        answers = [self.create() for _ in range(4)]

        self.assertEqual([answer.status for answer in answers[:2]], [201, 201])
        self.refused(answers[-1], "creates_per_s")
        self.assertEqual(self.create("b").status, 201)

    def test_runs_one_after_another_fit_into_a_quota_of_one(self):
        self.start("--tenant-sandboxes", "1")
        for _ in range(20):
            answer = self.ask("POST", "/v1/runs", {"exec": {"argv": ["true"]}})
            self.assertEqual(answer.status, 200, answer)

    def test_the_command_shows_limit_and_use(self):
        self.start("--tenant-memory", "1g")
        self.create(resources={"memory_mb": 64})
        environment = {**os.environ, "ATOLL_URL": f"unix:{self.daemon.socket_path}"}

        def atoll(*words, **more):
            return subprocess.run([ATOLL, *words], capture_output=True, text=True, timeout=60, env={**environment, **more})

        told = atoll("limits", "--tenant", "a")
        self.assertEqual(told.returncode, 0, told.stderr)
        row = next(line.split() for line in told.stdout.splitlines() if line.startswith("memory"))
        self.assertEqual(row, ["memory", "(MiB)", "64", "1024"])
        self.assertEqual(json.loads(atoll("limits", "--json", ATOLL_API_KEY=self.key("a")).stdout)["memory_mb_now"], 64)
        foreign = atoll("limits", "--tenant", "b", ATOLL_API_KEY=self.key("a"))
        self.assertEqual(foreign.returncode, 126, foreign)

    def test_a_file_that_makes_no_sense_is_told_before_anything_is_served(self):
        quotas = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="atoll-admission-")), "quotas.yaml")
        quotas.write_text("default:\n  memory: lots\n")
        state = str(quotas.parent / "state")
        done = subprocess.run([ATOLL, "serve", "--listen", "none", "--state", state, "--quotas", str(quotas)],
                              capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"{quotas}:1: default: memory", done.stderr)
        self.assertFalse(os.path.exists(state))


class Queue(World):
    """Runs that wait for a file keep their turn until it is there."""

    RUN = {"sandbox": {"driver": DRIVER}, "exec": {"argv": ["true"]}}

    def hold(self, tenant="a"):
        """A run that goes on until it is released."""
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(60)
        connection.connect(self.daemon.socket_path)
        body = json.dumps({"sandbox": {"driver": DRIVER}, "exec": {"argv": ["sleep", "1000"]}})
        connection.sendall(f"POST /v1/runs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {self.key(tenant)}\r\n"
                           f"Content-Type: application/json\r\nAccept: application/x-ndjson\r\n"
                           f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        begun = b""
        while b'"start"' not in begun:
            piece = connection.recv(4096)
            assert piece, begun
            begun += piece
        return connection

    def test_who_waits_is_served_in_turn(self):
        self.start("--quotas", self.quotas("default: {at_once: 1}"))
        held = self.hold()
        calls = []
        for _ in range(3):
            calls.append(self.later("/v1/runs", self.RUN))
            self.wait_for_queue(len(calls))

        self.assertEqual(self.limits()["waiting_now"], 3)
        self.assertEqual(self.ask("POST", "/v1/runs", self.RUN, "b").status, 200, "others pass")
        held.close()
        for call in calls:
            answer = call.get()
            self.assertEqual(answer.status, 200, answer)
            self.assertIn("queue", [stage["name"] for stage in answer.json["stages"]])
        self.assertEqual(self.limits()["at_once_now"], 0)

    def quotas(self, text):
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="atoll-admission-")), "quotas.yaml")
        path.write_text(text + "\n")
        return str(path)

    def test_tenants_take_turns_on_a_full_host(self):
        self.start("--quotas", self.quotas("host: {memory: 300m}"))
        request = {"resources": {"memory_mb": 300}, "queue_timeout_ms": 60_000}
        box = self.create("first", **request).json["id"]
        calls = []
        for tenant in ("greedy", "greedy", "greedy", "modest"):
            calls.append(self.later("/v1/sandboxes", {**request, "name": f"box{len(calls)}"}, tenant))
            self.wait_for_queue(len(calls))
        waiting = self.ask("GET", "/v1/sandboxes/box3", tenant="modest").json
        self.assertEqual((waiting["state"], waiting["queue_position"]), ("pending", 2))
        self.assertEqual(self.ask("GET", "/v1/sandboxes/box2", tenant="greedy").json["queue_position"], 4)
        events = self.ask("GET", "/v1/events?after=0&state=pending", tenant="modest").json["events"]
        self.assertEqual([event.get("queue_position") for event in events], [2])

        order, tenant = [], "first"
        for _ in calls:
            self.assertEqual(self.ask("DELETE", f"/v1/sandboxes/{box}", tenant=tenant).status, 204)
            served = len(order) + 1
            wait_until(lambda: len(self.order) == served, "the next is served")
            tenant = self.order[-1]
            order.append(tenant)
            box = next(one["id"] for one in self.ask("GET", "/v1/sandboxes", tenant=tenant).json["sandboxes"])
        self.assertEqual(order, ["greedy", "modest", "greedy", "greedy"])
        self.assertEqual(calls[3].get().json["id"], waiting["id"])

    def test_whose_time_is_up_is_told_its_place(self):
        self.start("--quotas", self.quotas("default: {at_once: 1}"), "--queue-timeout", "0")
        held = self.hold()
        self.refused(self.ask("POST", "/v1/runs", self.RUN), "at_once")
        patient = {**self.RUN, "sandbox": {"driver": DRIVER, "queue_timeout_ms": 100}}

        problem = self.refused(self.ask("POST", "/v1/runs", patient), "at_once")

        self.assertEqual((problem["queue_position"], problem["queue_length"]), (1, 1))
        self.assertIn("number 1 of 1 that wait", problem["detail"])
        too_long = {"queue_timeout_ms": 10_000_000}
        self.assertEqual(self.ask("POST", "/v1/sandboxes", too_long).status, 400)
        held.close()

    def test_a_client_that_leaves_frees_its_place(self):
        self.start("--quotas", self.quotas("default: {at_once: 1}"))
        held = self.hold()
        for path, body in (("/v1/runs", self.RUN), ("/v1/sandboxes", {"name": "gone"})):
            connection = self.daemon.connection()
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json",
                                                                "Authorization": f"Bearer {self.key('a')}"})
            self.wait_for_queue(1)
            connection.close()
            self.wait_for_queue(0)
        held.close()
        wait_until(lambda: self.limits()["at_once_now"] == 0, "the run ends")
        self.assertEqual(self.ask("GET", "/v1/sandboxes").json["sandboxes"], [])
        self.assertEqual(self.metric('atoll_admissions_total{outcome="left"}'), 2)

    def test_the_end_of_the_daemon_is_told_to_those_who_wait(self):
        self.start("--quotas", self.quotas("host: {memory: 300m}"))
        self.create(resources={"memory_mb": 300})
        waiting = self.later("/v1/sandboxes", {"resources": {"memory_mb": 300}})
        self.wait_for_queue(1)

        self.daemon.terminate()

        answer = waiting.get()
        self.assertEqual(answer.status, 503, answer)
        self.assertIn("shutting down", answer.json["detail"])
        self.daemon.start()


class Policy(World):
    def setUp(self):
        self.policy = PolicyServer()
        self.addCleanup(self.policy.close)

    def test_a_yes_a_no_and_what_is_asked(self):
        self.policy.rule = lambda question: {"allow": question["caller"]["tenant"] != "b", "reason": "b makes nothing"}
        self.start("--policy-url", self.policy.url, env={"ATOLL_POLICY_TOKEN": "token-of-the-policy"})
        secret = "canary-in-the-environment"

        made = self.create(labels={"team": "search"}, env={"PASSWORD": secret}, resources={"memory_mb": 64})

        self.assertEqual(made.status, 201, made)
        self.assertIn("policy", [stage["name"] for stage in made.json["stages"]])
        asked = self.policy.asked[0]
        self.assertEqual(asked["action"], "create")
        self.assertEqual((asked["caller"]["tenant"], asked["caller"]["role"]), ("a", "member"))
        self.assertEqual(asked["sandbox"]["labels"], {"team": "search"})
        self.assertEqual(asked["sandbox"]["resources"]["memory_mb"], 64)
        self.assertEqual(asked["sandbox"]["drivers"][0]["name"], DRIVER)
        self.assertNotIn(secret, json.dumps(asked))
        self.assertEqual(self.policy.tokens[0], "Bearer token-of-the-policy")
        for path, body in (("/v1/sandboxes", {}), ("/v1/runs", {"exec": {"argv": ["true"]}})):
            answer = self.ask("POST", path, body, "b")
            self.assertEqual((answer.status, answer.json["stage"]), (403, "policy"), answer)
            self.assertIn("b makes nothing", answer.json["detail"])
        self.assertEqual(self.ask("GET", "/v1/sandboxes", tenant="b").json["sandboxes"], [])
        self.assertNotIn("token-of-the-policy", self.daemon.log())

    @staticmethod
    def recorded():
        return json.loads((ROOT / "tests/support/opa_recorded.json").read_text())

    def test_what_an_opa_server_has_answered_is_understood(self):
        """Recorded answers of a real one, to the policy of the manual; byte for byte."""
        recorded = self.recorded()
        self.assertIn(f"```rego\n{recorded['policy']}```", (ROOT / "docs/admission.md").read_text(), "record it anew")
        said = []

        def replay(question):
            asked = (question["caller"]["tenant"], question["sandbox"]["resources"].get("cpu"))
            for pair in recorded["pairs"]:
                if not pair["path"].endswith("/atoll/allow") or pair["status"] != 200:
                    continue
                then = json.loads(pair["question"])["input"]
                if asked == (then["caller"]["tenant"], then["sandbox"]["resources"].get("cpu")):
                    said.append(pair["answer"])
                    return pair["status"], pair["answer"].encode()
            raise AssertionError(f"nobody has asked {question}")

        self.policy.recorded = replay
        self.start("--policy-url", self.policy.url)

        self.assertEqual(self.create().status, 201)
        self.assertEqual(self.create(resources={"cpu": 2}).status, 201)
        self.assertEqual(self.create("search", resources={"cpu": 8}).status, 201)
        refused = self.create(resources={"cpu": 8})
        self.assertEqual((refused.status, refused.json["stage"]), (403, "policy"), refused)
        self.assertIn("only search may have more than 4 processors", refused.json["detail"])
        self.assertEqual(len(said), 4)

    def test_what_an_opa_server_has_answered_without_a_decision_is_no_yes(self):
        """The same, to a rule that its policy does not have, and to a question that is cut off."""
        pairs = self.recorded()["pairs"]
        (undefined,) = [pair for pair in pairs if pair["status"] == 200 and "result" not in json.loads(pair["answer"])]
        (refusal,) = [pair for pair in pairs if pair["status"] == 400]
        self.assertTrue(undefined["path"].endswith("/atoll/nothing"), undefined)
        self.start("--policy-url", self.policy.url)
        for pair, wanted, said in ((undefined, 403, "no rule applies to it"), (refusal, 503, "it answered with status 400")):
            self.policy.recorded = lambda _: (pair["status"], pair["answer"].encode())  # noqa: B023
            answer = self.create()
            self.assertEqual((answer.status, answer.json["stage"]), (wanted, "policy"), answer)
            self.assertIn(said, answer.json["detail"])
        self.assertEqual(len(self.policy.asked), 2)
        self.assertEqual(self.ask("GET", "/v1/sandboxes").json["sandboxes"], [])

    def test_a_server_that_is_slow_or_dead_or_knows_no_rule_is_no_yes(self):
        self.start("--policy-url", self.policy.url, "--policy-timeout", "200ms")
        self.policy.silent.clear()
        slow = self.create()
        self.assertEqual((slow.status, slow.json["stage"]), (503, "policy"), slow)
        self.policy.silent.set()
        self.assertEqual(self.create().status, 201)
        self.policy.path = "somewhere/else"
        undefined = self.create()
        self.assertEqual((undefined.status, undefined.json["stage"]), (403, "policy"), undefined)
        self.policy.close()
        dead = self.create()
        self.assertEqual((dead.status, dead.json["stage"]), (503, "policy"), dead)
        self.assertEqual(len(self.ask("GET", "/v1/sandboxes").json["sandboxes"]), 1)

    def test_answers_hold_for_a_moment_only_if_that_is_configured(self):
        self.start("--policy-url", self.policy.url, "--policy-cache", "60s")
        run = {"exec": {"argv": ["true"]}}
        for _ in range(3):
            self.assertEqual(self.ask("POST", "/v1/runs", run).status, 200)
        self.assertEqual(len(self.policy.asked), 1)

    def test_a_url_that_names_no_decision_is_told(self):
        done = subprocess.run([ATOLL, "serve", "--listen", "none", "--state", "/nonexistent/atoll", "--policy-url",
                               "http://127.0.0.1:8181"], capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("names no decision", done.stderr)


if __name__ == "__main__":
    unittest.main()
