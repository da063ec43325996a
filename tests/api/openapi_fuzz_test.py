"""Every operation that the daemon says it has, fuzzed: no 500, nothing that its own description does not allow, no crash.

Schemathesis reads GET /v1/openapi.json and asks what it likes, with values that are right and values that are wrong, over a
real daemon whose sandboxes are real; fuzz_hooks.py tells it what there is. The same seed asks the same.

  FUZZ_SEED=N      another seed
  FUZZ_SECONDS=N   how long it goes on with random values (a night is fine)
"""

import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import unittest

from live import Daemon

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMATHESIS = ROOT / "build" / "venv" / "bin" / "schemathesis"  # ./dev setup test
DRIVER = "native" if os.geteuid() == 0 else "rootless"
SEED = os.environ.get("FUZZ_SEED", "1")
CHECKS = ("not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
          "response_schema_conformance,lines_conform,nothing_is_undocumented")

# What never succeeds here, and which test sees it succeed. Their refusals are fuzzed like everything else.
NEVER_SUCCEED = {
    "POST /v1/shutdown": "it would end the daemon: tests/e2e/cli_test.py",
    "GET /v1/sandboxes/{id}/exec": "a WebSocket: tests/api/websocket_test.py",
    "GET /v1/sandboxes/{id}/processes/{process}/attach": "a WebSocket: tests/api/websocket_test.py",
    "GET /v1/sandboxes/{id}/ports/{port}": "a tunnel: tests/e2e/port_test.py",
    "GET /v1/sandboxes/{id}/diff": "it needs a directory of the host, which only the Unix socket gives: tests/e2e/changes_test.py",
    "POST /v1/sandboxes/{id}/snapshot": "this driver cannot: tests/e2e/snapshots_test.py",
    "POST /v1/sandboxes/{id}/snapshots": "this driver cannot: tests/e2e/snapshots_test.py",
    "POST /v1/sandboxes/{id}/fork": "this driver cannot: tests/e2e/snapshots_test.py",
    "GET /v1/snapshots/{snapshot}": "there are none: tests/e2e/snapshots_test.py",
    "DELETE /v1/snapshots/{snapshot}": "there are none: tests/e2e/snapshots_test.py",
    "GET /v1/sessions/{session}": "nobody can guess one: tests/e2e/rest_test.py",
    "POST /v1/sessions/{session}/renew": "nobody can guess one: tests/e2e/rest_test.py",
    "DELETE /v1/sessions/{session}": "nobody can guess one: tests/e2e/rest_test.py",
}

# Server errors that are answers, not accidents: nothing listens, no driver is strong enough, the time was too short, the
# sandbox's disk is full.
CONFIGURATION = """
request-timeout = 60
[[operations]]
include-operation-id = ["createSandbox", "acquireSandbox", "openSession", "explainSandbox", "plan", "dialPort", "startSandbox", "recreateSandbox"]
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 503]
[[operations]]
include-operation-id = "run"
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 503, 504]
[[operations]]
include-operation-id = ["findFiles", "grepFiles"]
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 504]
[[operations]]
include-operation-id = ["writeFile", "writeArchive", "writeBatch", "makeDirectory", "moveFile"]
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 507]
"""


class Fuzz:
    def setUp(self):
        if not SCHEMATHESIS.exists():
            if os.environ.get("ATOLL_MUST_RUN") == "1":
                self.fail(f"{SCHEMATHESIS} is not there: ./dev setup test")
            self.skipTest("schemathesis is not installed: ./dev setup test")
        self.daemon = Daemon(arguments=["--rate", "0"]).start()
        self.addCleanup(self.daemon.end)  # asserts that nothing is left
        self.address = re.search(r"http://([0-9.:]+)", self.daemon.log()).group(1)
        self.tally_path = os.path.join(self.daemon.directory, "tally.json")

    def fuzz(self, phases, *more):
        configuration = os.path.join(self.daemon.directory, "schemathesis.toml")
        pathlib.Path(configuration).write_text(CONFIGURATION)
        # From a file: what it loads over HTTP it does not fuzz.
        document = os.path.join(self.daemon.directory, "openapi.json")
        pathlib.Path(document).write_bytes(self.daemon.call("GET", "/v1/openapi.json").body)
        environment = {
            **os.environ, "SCHEMATHESIS_HOOKS": str(pathlib.Path(__file__).with_name("fuzz_hooks.py")),
            "FUZZ_ADDRESS": self.address, "FUZZ_KEY": self.daemon.key, "FUZZ_DRIVER": DRIVER,
            "FUZZ_TALLY": self.tally_path, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
        command = [SCHEMATHESIS, "--config-file", configuration, "run", document,
                   "--url", f"http://{self.address}", "--header", f"Authorization: Bearer {self.daemon.key}",
                   "--checks", CHECKS, "--phases", phases, "--seed", SEED,
                   "--continue-on-failure", "--no-shrink", "--warnings", "off", *more]
        fuzzer = subprocess.Popen(command, cwd=self.daemon.directory, env=environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            said, _ = fuzzer.communicate(timeout=self.seconds + 480)
        except subprocess.TimeoutExpired:
            fuzzer.send_signal(signal.SIGKILL)
            said, _ = fuzzer.communicate()
            self.fail(f"the fuzzer does not end:\n{said}")
        self.assertIsNone(self.daemon.process.poll(), f"the daemon died:\n{self.daemon.log()[-4000:]}\n{said}")
        self.assertEqual(fuzzer.returncode, 0, said)

    def test_every_operation_keeps_its_word(self):
        served = self.daemon.call("GET", "/v1/openapi.json").json

        self.fuzz("examples,coverage")
        self.fuzz("fuzzing,stateful", "--max-time", str(self.seconds))

        self.every_operation_was_reached(served)
        self.nothing_went_wrong_inside()
        self.everything_can_be_removed()

    def every_operation_was_reached(self, served):
        tally = json.loads(pathlib.Path(self.tally_path).read_text())
        reached = collections.defaultdict(int)
        for operation, statuses in tally.items():
            for status, count in statuses.items():
                reached[operation] += count if int(status) < 400 else 0
        operations = {f"{method.upper()} {path}" for path, item in served["paths"].items() for method in item
                      if method != "parameters"}
        self.assertEqual(operations - set(tally), set(), "these were not asked at all")
        missed = {operation for operation in operations - set(NEVER_SUCCEED) if not reached[operation]}
        self.assertEqual(missed, set(), f"these never succeeded: {tally}")

    def nothing_went_wrong_inside(self):
        # Not splitlines(): what the fuzzer sent may hold U+2028 and the like, and the log repeats it as it is.
        for line in filter(None, self.daemon.log().split("\n")):
            self.assertRegex(line, r"^\{.*\}$", "a line of the log is no JSON")
            entry = json.loads(line)
            self.assertNotEqual(entry.get("code"), "internal", line)
            self.assertNotEqual(entry["level"], "error", line)

    def everything_can_be_removed(self):
        for pool in self.daemon.call("GET", "/v1/pools").json["pools"]:
            self.assertEqual(self.daemon.call("DELETE", f"/v1/pools/{pool['name']}").status, 204, pool)
        for box in self.daemon.call("GET", "/v1/sandboxes?tenant=*&limit=1000").json["sandboxes"]:
            gone = (404,) if box.get("parked") else ()  # by itself, with its pool
            self.assertIn(self.daemon.call("DELETE", f"/v1/sandboxes/{box['id']}").status, (204, *gone), box)
        self.assertEqual(self.daemon.agents(), {})


class ShortFuzz(Fuzz, unittest.TestCase):
    seconds = int(os.environ.get("FUZZ_SECONDS", 30))


class FullFuzz(Fuzz, unittest.TestCase):
    seconds = int(os.environ.get("FUZZ_SECONDS", 900))


if __name__ == "__main__":
    unittest.main()
