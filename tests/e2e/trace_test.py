"""Traces and metrics of a real daemon: every stage, what belongs together, what a collector gets, and what nobody does."""

import json
import os
import subprocess
import time
import unittest

import exposition
from collector import Collector
from live import ATOLL, Daemon, wait_until
from websocket import WebSocket

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
STAGES = {"authorise", "decode", "route", "intent", "commit", "exec", "wake", "first_byte", "reply", "reap"}


def headers(parent=PARENT, **more):
    return {"traceparent": parent, **more}


class Live(unittest.TestCase):
    arguments = ()

    def setUp(self):
        self.daemon = Daemon(arguments=self.arguments).start()
        self.addCleanup(self.daemon.end)

    def run_it(self, *argv, parent=PARENT, **exec_more):
        body = {"sandbox": {"driver": "native"}, "exec": {"argv": list(argv), **exec_more}}
        answer = self.daemon.call("POST", "/v1/runs", body, headers(parent) if parent else None)
        self.assertEqual(answer.status, 200, answer)
        return answer

    def trace(self, trace_id=TRACE):
        answer = self.daemon.call("GET", f"/v1/traces/{trace_id}")
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def spans(self, trace_id=TRACE):
        return {span["name"]: span for span in self.trace(trace_id)["spans"]}

    def metrics(self):
        answer = self.daemon.call("GET", "/metrics")
        self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        return exposition.parse(answer.body.decode())

    def atoll(self, *words, env=None):
        return subprocess.run([ATOLL, "--state", self.daemon.state, *words], capture_output=True, text=True,
                              env={**os.environ, **(env or {})}, timeout=60)


class Traces(Live):
    def test_a_run_tells_every_stage(self):
        answer = self.run_it("echo", "hi")
        # The sandbox is cleared away after the answer.
        wait_until(lambda: "reap" in self.spans(), "the sandbox is gone")
        spans = self.spans()
        self.assertLessEqual(STAGES, set(spans))
        self.assertTrue({"create", "hand_over"} & set(spans), spans.keys())
        root = spans["POST /v1/runs"]
        self.assertEqual(root["parent_span_id"], "00f067aa0ba902b7")
        self.assertEqual(answer.headers["traceparent"], f"00-{TRACE}-{root['span_id']}-01")
        by_id = {span["span_id"]: span for span in spans.values()}
        for name, span in spans.items():
            if span is root:
                continue
            parent = by_id[span["parent_span_id"]]
            self.assertGreaterEqual(span["offset_ms"], parent["offset_ms"], name)
            if name != "reap":
                end = lambda one: one["offset_ms"] + one["duration_ms"]
                self.assertLessEqual(end(span), end(parent) + 0.002, name)
        self.assertEqual(spans["wake"]["parent_span_id"], spans["exec"]["span_id"])
        self.assertGreaterEqual(spans["reap"]["offset_ms"], spans["exec"]["offset_ms"])
        self.assertEqual(spans["exec"]["attributes"]["atoll.driver"], "native")

    def test_what_a_caller_sends_reaches_the_command_and_nothing_else_does(self):
        shown = self.run_it("sh", "-c", "echo $TRACEPARENT").json["stdout"].strip()
        self.assertEqual(shown, f"00-{TRACE}-{self.spans()['exec']['span_id']}-01")
        quiet = self.run_it("sh", "-c", "echo $TRACEPARENT", parent=None)
        self.assertEqual(quiet.json["stdout"], "\n")
        own = self.run_it("sh", "-c", "echo $TRACEPARENT", env={"TRACEPARENT": "mine"})
        self.assertEqual(own.json["stdout"], "mine\n")
        # An interpreter that was started ahead gets it, too.
        warm = self.run_it("python3", "-c", "import os; print(os.environ['TRACEPARENT'])")
        self.assertRegex(warm.json["stdout"], rf"^00-{TRACE}-[0-9a-f]{{16}}-01\n$")

    def test_what_is_done_with_a_sandbox_belongs_together(self):
        call = lambda *args: self.daemon.call(*args, headers=headers())
        box = call("POST", "/v1/sandboxes", {"driver": "native", "name": "dev"}).json["id"]
        path = f"/v1/sandboxes/{box}"
        call("POST", f"{path}/exec", {"argv": ["true"]})
        call("PUT", f"{path}/files?path=a", b"x")
        call("GET", f"{path}/files?path=a")
        self.assertEqual(call("POST", f"{path}/snapshot", {}).status, 409)
        call("POST", f"{path}/pause")
        call("DELETE", path)
        trace = self.trace()
        names = [span["name"] for span in trace["spans"]]
        for name in "exec", "write_file", "read_file", "snapshot", "pause", "destroy":
            self.assertIn(name, names)
        failed = [span for span in trace["spans"] if span["name"] == "snapshot"]
        self.assertEqual(failed[0]["error"], "unsupported")
        self.assertEqual(trace["sandboxes"], [box])
        self.assertEqual(len(trace["requests"]), 7)

    def test_the_command_line_draws_them(self):
        answer = self.run_it("true")
        wait_until(lambda: "reap" in self.spans(), "the sandbox is gone")
        by_trace = self.atoll("trace", TRACE)
        self.assertEqual(by_trace.returncode, 0, by_trace.stderr)
        self.assertIn("POST /v1/runs", by_trace.stdout)
        self.assertRegex(by_trace.stdout, r"├─ exec +\+[0-9.]+ ms +[0-9.]+ ms +true  exit 0")
        self.assertRegex(by_trace.stdout, r"│  └─ wake|│  ├─ wake")
        for words in (["--last"], [answer.headers["X-Request-Id"]], self.trace()["sandboxes"]):
            told = self.atoll("trace", *words)
            self.assertEqual((told.returncode, told.stdout), (0, by_trace.stdout), told.stderr)
        as_json = json.loads(self.atoll("trace", "--json", TRACE).stdout)
        self.assertEqual([one["trace_id"] for one in as_json], [TRACE])
        missing = self.atoll("trace", "nobody")
        self.assertEqual(missing.returncode, 125)
        self.assertIn("--last", missing.stderr)
        self.assertEqual(self.atoll("trace").returncode, 2)
        self.assertEqual(self.atoll("trace", "--last", TRACE).returncode, 2)

    def test_the_last_request_is_the_one_that_people_mean(self):
        # It sends stdin in requests of its own, and the last of them after the command has ended.
        ran = subprocess.run([ATOLL, "--state", self.daemon.state, "run", "-i", "--driver", "native", "cat"], input="hi",
                             capture_output=True, text=True, timeout=60)
        self.assertEqual((ran.returncode, ran.stdout), (0, "hi"), ran.stderr)
        self.assertIn("\nPOST /v1/runs ", self.atoll("trace", "--last").stdout)

    def test_the_command_line_is_part_of_its_callers_trace(self):
        ran = self.atoll("run", "--driver", "native", "true", env={"TRACEPARENT": PARENT})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("exec", self.spans())
        requests = self.trace()["requests"]
        ran = self.atoll("run", "--driver", "native", "true", env={"TRACEPARENT": "nonsense"})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(self.trace()["requests"], requests)

    def test_a_terminal_session_is_traced(self):
        box = self.daemon.create(driver="native")
        with WebSocket(self.daemon.connection(), f"/v1/sandboxes/{box}/exec", headers=headers()) as socket:
            socket.send({"exec": {"argv": ["sh", "-c", "echo hi; exit 3"], "tty": {}}})
            socket.until_end()
        wait_until(lambda: "GET /v1/sandboxes/{id}/exec" in self.spans(), "the connection is over")
        spans = self.spans()
        self.assertLessEqual({"wake", "first_byte"}, set(spans))
        self.assertEqual(spans["exec"]["attributes"]["process.exit.code"], 3)

    def test_a_batch_is_bounded(self):
        runs = [{"argv": ["true"]} for _ in range(150)]
        answer = self.daemon.call("POST", "/v1/runs:batch", {"sandbox": {"driver": "local"}, "runs": runs}, headers())
        self.assertEqual(answer.json["succeeded"], 150)
        wait_until(lambda: self.trace()["dropped_spans"] > 0, "more than 1,000 spans were made")
        self.assertEqual(len(self.trace()["spans"]), 1000)


class Metrics(Live):
    NEEDED = {
        "atoll_exec_duration_seconds": "histogram", "atoll_exec_cpu_seconds_total": "counter",
        "atoll_exec_peak_memory_bytes": "histogram", "atoll_exec_output_bytes_total": "counter",
        "atoll_execs_total": "counter", "atoll_operations_total": "counter",
        "atoll_operation_duration_seconds": "histogram", "atoll_sandbox_creates_total": "counter",
        "atoll_sandbox_create_duration_seconds": "histogram", "atoll_queue_length": "gauge",
        "atoll_sandbox_seconds_total": "counter", "atoll_sandboxes": "gauge", "atoll_http_requests_total": "counter",
    }

    def test_the_exposition_is_well_formed_and_counts(self):
        boxes = {}
        for driver in "native", "local":
            box = boxes[driver] = self.daemon.create(driver=driver)
            self.daemon.exec(box, "sh", "-c", "echo 12345; i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done")
            self.daemon.exec(box, "sh", "-c", "kill -9 $$")
            self.daemon.call("GET", f"/v1/sandboxes/{box}/files?path=missing")
        self.daemon.call("DELETE", f"/v1/sandboxes/{boxes['local']}")
        self.run_it("echo", "hi")
        families = self.metrics()
        for name, kind in self.NEEDED.items():
            self.assertEqual(families[name].kind, kind, name)
        for driver in "native", "local":
            labels = {"driver": driver}
            self.assertEqual(families["atoll_execs_total"].value(reason="signaled", **labels), 1)
            self.assertGreaterEqual(families["atoll_exec_output_bytes_total"].value(**labels), 6)
            self.assertGreater(families["atoll_exec_cpu_seconds_total"].value(**labels), 0.0005)
            self.assertEqual(families["atoll_operations_total"].value(
                operation="read_file", outcome="not_found", **labels), 1)
            self.assertGreaterEqual(families["atoll_sandbox_create_duration_seconds"].value("_count", **labels), 1)
            self.assertGreaterEqual(families["atoll_operation_duration_seconds"].value(
                "_count", operation="exec_start", **labels), 2)
        self.assertEqual(families["atoll_operations_total"].value(driver="local", operation="destroy", outcome="ok"), 1)
        for queue in "calls", "turns", "cleanup", "store":
            self.assertIn(("atoll_queue_length", frozenset({("queue", queue)})), families["atoll_queue_length"].samples)

    def test_labels_are_words_and_never_ids(self):
        box = self.daemon.create(driver="local", name="canary-name")
        self.daemon.call("GET", f"/v1/sandboxes/{box}/files?path=canary-path")
        self.daemon.call("GET", "/canary-route", headers={"X-Request-Id": "canary-request"})
        self.daemon.call("CANARY", "/v1/sandboxes")
        known = {"method", "route", "status", "driver", "outcome", "reason", "state", "le", "operation", "queue",
                 "durability", "health", "why"}
        text = self.daemon.call("GET", "/metrics").body.decode()
        self.assertNotIn("canary", text.lower())
        self.assertNotIn(box, text)
        for family in exposition.parse(text).values():
            for _, labels in family.samples:
                self.assertLessEqual({key for key, _ in labels}, known, family.name)
                for _, value in labels:
                    self.assertNotRegex(value, r"sbx[a-z0-9]{20}|req[a-z0-9]{16}|[0-9a-f]{32}")


class Export(Live):
    def setUp(self):
        self.collector = Collector()
        self.addCleanup(self.collector.stop)
        self.arguments = ("--otlp-endpoint", self.collector.url)
        super().setUp()

    def sent(self, outcome="sent"):
        family = self.metrics().get("atoll_exported_spans_total")
        return family.value(outcome=outcome) if family else 0

    def test_a_collector_gets_every_span_once(self):
        self.collector.start()
        self.run_it("echo", "hi")
        wait_until(lambda: self.collector.named("reap"), "the last span comes")
        self.assertEqual(self.collector.problems, [])
        spans = {span["name"]: span for span in self.collector.spans}
        # One that had to be made tells of two parts of it by the same name.
        self.assertEqual(len({span["spanId"] for span in self.collector.spans}), len(self.collector.spans))
        self.assertLessEqual(STAGES, set(spans))
        self.assertEqual({span["traceId"] for span in self.collector.spans}, {TRACE})
        root = spans["POST /v1/runs"]
        self.assertEqual((root["kind"], root["parentSpanId"]), (2, "00f067aa0ba902b7"))
        known = {span["spanId"] for span in self.collector.spans} | {"00f067aa0ba902b7"}
        self.assertTrue(all(span["parentSpanId"] in known for span in self.collector.spans))
        age = time.time() - int(root["startTimeUnixNano"]) / 1e9
        self.assertTrue(0 <= age < 60, age)
        wait_until(lambda: self.sent() == len(self.collector.spans), "they are counted")

    def test_what_is_not_sampled_is_not_sent(self):
        self.collector.start()
        self.run_it("true", parent=PARENT[:-2] + "00")
        self.run_it("true", parent=PARENT.replace(TRACE, "a" * 32))
        wait_until(lambda: self.collector.named("reap"), "the other one's come")
        self.assertEqual({span["traceId"] for span in self.collector.spans}, {"a" * 32})
        self.assertIn("exec", self.spans())

    def test_nothing_secret_is_sent(self):
        self.collector.start()
        canary = "canary-" + os.urandom(8).hex()
        box = self.daemon.call("POST", "/v1/sandboxes", {"driver": "native", "env": {"TOKEN": canary}}, headers()).json["id"]
        path = f"/v1/sandboxes/{box}"
        self.daemon.call("POST", f"{path}/exec", {"argv": ["sh", "-c", f"cat; echo {canary}"], "env": {"A": canary},
                                                  "stdin": canary}, headers())
        self.daemon.call("PUT", f"{path}/files?path={canary}", canary.encode(), headers())
        self.daemon.call("POST", "/v1/runs", {"exec": {"argv": ["x"], "unknown": canary}}, headers())
        self.run_it("echo", canary, stdin=canary)
        self.daemon.call("DELETE", path, None, headers())
        wait_until(lambda: self.collector.named("destroy") and self.collector.named("reap"), "all of it comes")
        self.assertNotIn(canary.encode(), self.collector.bodies)
        self.assertIn(b"write_file", self.collector.bodies)
        self.assertNotIn(canary, json.dumps(self.trace()))
        self.assertNotIn(canary, self.daemon.call("GET", "/metrics").body.decode())

    def test_a_collector_that_is_away_comes_back(self):
        self.run_it("true")
        wait_until(lambda: "does not take spans" in self.daemon.log(), "the first attempt fails")
        self.collector.start()
        wait_until(lambda: self.collector.named("exec"), "a later attempt succeeds", seconds=40)
        wait_until(lambda: "takes spans again" in self.daemon.log(), "the log says so")

    def test_a_collector_that_refuses_costs_its_spans_only(self):
        self.collector.status = 500
        self.collector.start()
        self.run_it("true")
        wait_until(lambda: self.sent("rejected") > 0, "they are counted")
        self.collector.status = 200
        self.run_it("true")
        wait_until(lambda: self.collector.named("exec"), "and those after them come")
        self.assertEqual(self.collector.problems, [])

    def test_a_collector_that_hangs_holds_nobody_up(self):
        self.collector.gate.clear()
        self.collector.start()
        self.run_it("true")
        wait_until(lambda: self.collector.requests, "it hangs")
        slowest = 0
        for _ in range(20):
            began = time.monotonic()
            self.run_it("true")
            slowest = max(slowest, time.monotonic() - began)
        # A hundred times what a run takes, and a fraction of what the collector is waited for.
        self.assertLess(slowest, 2)
        self.assertGreater(self.metrics()["atoll_queue_length"].value(queue="export"), 0)
        # The daemon ends in time, too: that is what the clean-up of this test does.

    def test_the_last_spans_are_sent_before_the_daemon_ends(self):
        self.collector.start()
        self.run_it("true")
        self.daemon.terminate()
        self.assertTrue(self.collector.named("exec"))
        self.daemon.start()


class Endpoints(unittest.TestCase):
    def serve(self, *arguments, env=None):
        daemon = Daemon(arguments=arguments)
        try:
            daemon.start(env=env or {})
        except AssertionError as refused:
            return str(refused)
        finally:
            daemon.end()
        return ""

    def test_come_from_the_environment_with_headers(self):
        collector = Collector().start()
        self.addCleanup(collector.stop)
        daemon = Daemon()
        self.addCleanup(daemon.end)
        daemon.start(env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b"})
        daemon.create(driver="local")
        wait_until(lambda: collector.spans, "spans come")
        self.assertEqual({sent.get("x-key") for sent in collector.headers}, {"a b"})

    def test_that_make_no_sense_are_refused_in_words(self):
        self.assertIn("--otlp-endpoint http://", self.serve("--otlp-endpoint", "collector"))
        told = self.serve("--otlp-endpoint", "http://127.0.0.1:1", env={"OTEL_EXPORTER_OTLP_HEADERS": "hunter2"})
        self.assertIn("OTEL_EXPORTER_OTLP_HEADERS", told)
        self.assertNotIn("hunter2", told)


if __name__ == "__main__":
    unittest.main()
