"""A real OPA server as the judge of a daemon: `./dev test full` builds it (build/opa) where Go is new enough.

The manual's policy, the questions whose answers are recorded for everybody else (tests/support/opa_recorded.json), a token, and
a server that dies.
"""

import json
import pathlib
import socket
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

from admission_test import World
from live import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPA = ROOT / "build/opa/bin/opa"
RECORDED = json.loads((ROOT / "tests/support/opa_recorded.json").read_text())
GUARD = """package system.authz
default allow := false
allow if input.identity == "token-of-the-policy"
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Opa:
    """`opa run --server` on loopback with these policies; end() ends it."""

    def __init__(self, place, policies, *arguments):
        self.place = pathlib.Path(place)
        for name, text in policies.items():
            (self.place / name).write_text(text)
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        self.url = f"{self.base}/v1/data/atoll/allow"
        with open(self.place / "log", "wb") as log:
            self.process = subprocess.Popen([OPA, "run", "--server", "--addr", f"127.0.0.1:{port}", "--skip-version-check", *arguments,
                                             *(self.place / name for name in policies)], stdout=log, stderr=log)
        try:
            wait_until(self.is_there, "the OPA server answers")
        except BaseException:
            self.end()
            raise

    def is_there(self):
        if self.process.poll() is not None:
            raise AssertionError((self.place / "log").read_text())
        try:
            return self.ask("/health")[0] in (200, 401)
        except urllib.error.URLError:
            return False

    def ask(self, path, body=None):
        request = urllib.request.Request(self.base + path, body.encode() if body else None, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@unittest.skipUnless(OPA.exists(), "build/opa/bin/opa is not there: `./dev test full` builds it where Go is new enough")
class RealPolicy(World):
    def serve(self, policies=None, *arguments):
        place = tempfile.TemporaryDirectory(prefix="atoll-opa-")
        self.addCleanup(place.cleanup)
        opa = Opa(place.name, policies or {"atoll.rego": RECORDED["policy"]}, *arguments)
        self.addCleanup(opa.end)
        return opa

    def refused_by(self, answer, status, said):
        self.assertEqual((answer.status, answer.json["stage"]), (status, "policy"), answer)
        self.assertIn(said, answer.json["detail"])

    def test_what_is_recorded_is_what_it_says(self):
        told = subprocess.run([OPA, "version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
        self.assertEqual(f"opa {told.removeprefix('Version: ')}", RECORDED["said_by"].split(",")[0])
        opa = self.serve()
        for pair in RECORDED["pairs"]:
            with self.subTest(pair["question"]):
                self.assertEqual(opa.ask(pair["path"], pair["question"]), (pair["status"], pair["answer"]))

    def test_the_manuals_policy_says_who_may_have_what(self):
        self.start("--policy-url", self.serve().url)
        self.assertEqual(self.create().status, 201)
        self.assertEqual(self.create(resources={"cpu": 2}).status, 201)
        self.assertEqual(self.create("search", resources={"cpu": 8}).status, 201)
        self.refused_by(self.create(resources={"cpu": 8}), 403, "only search may have more than 4 processors")
        run = {"exec": {"argv": ["true"]}}
        self.assertEqual(self.ask("POST", "/v1/runs", run).status, 200)
        self.refused_by(self.ask("POST", "/v1/runs", {**run, "sandbox": {"resources": {"cpu": 8}}}), 403, "only search may")
        self.assertEqual(len(self.ask("GET", "/v1/sandboxes").json["sandboxes"]), 2)

    def test_a_rule_that_it_does_not_have_is_no_yes(self):
        self.start("--policy-url", self.serve().base + "/v1/data/atoll/nothing")
        self.refused_by(self.create(), 403, "no rule applies to it")

    def test_it_is_told_our_token_and_a_daemon_without_one_is_answered_nothing(self):
        opa = self.serve({"atoll.rego": RECORDED["policy"], "guard.rego": GUARD}, "--authentication=token", "--authorization=basic")
        self.start("--policy-url", opa.url, env={"ATOLL_POLICY_TOKEN": "token-of-the-policy"})
        self.assertEqual(self.create().status, 201)
        self.start("--policy-url", opa.url)
        self.refused_by(self.create(), 503, "it answered with status 401")

    def test_nothing_is_made_once_it_has_died(self):
        opa = self.serve()
        self.start("--policy-url", opa.url)
        self.assertEqual(self.create().status, 201)
        opa.end()
        self.refused_by(self.create(), 503, "policy")
        self.assertEqual(len(self.ask("GET", "/v1/sandboxes").json["sandboxes"]), 1)


if __name__ == "__main__":
    unittest.main()
