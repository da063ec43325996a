"""Bad input against a live daemon: each gets its own clear answer, and the daemon goes on."""

import json
import os
import socket
import unittest

from live import Daemon


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.box = cls.daemon.create(driver="subprocess")

    @classmethod
    def tearDownClass(cls):
        cls.daemon.end()  # asserts that nothing is left

    def tearDown(self):
        self.assertEqual(self.daemon.exec(self.box, "echo", "alive")["stdout"], "alive\n")

    def refused(self, answer, status, words=""):
        self.assertEqual(answer.status, status, answer)
        problem = answer.json
        for field in ("code", "detail", "request_id"):
            self.assertIn(field, problem)
        self.assertIn(words, problem["detail"] + problem.get("hint", ""))

    def create(self, body):
        return self.daemon.call("POST", "/v1/sandboxes", body)

    def raw(self, data):
        """What comes back for these bytes, up to the connection's end."""
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(30)
        connection.connect(self.daemon.socket_path)
        answer = b""
        try:
            for at in range(0, len(data), 1 << 16):
                connection.sendall(data[at:at + (1 << 16)])
        except OSError:
            pass
        try:
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                answer += piece
        except OSError:
            pass
        connection.close()
        return answer

    def test_fields_types_and_numbers(self):
        self.refused(self.create({"drivr": "local"}), 400, "driver")
        self.refused(self.create({"ttl_s": "long"}), 400, "ttl_s")
        for ttl in (-1, 0, 10**15, 1.5):
            self.refused(self.create({"ttl_s": ttl}), 400)
        for resources in ({"memory_mb": -1}, {"cpu": 0}, {"cpu": 1e300}, {"pids": 10**18}):
            self.assertIn(self.create({"resources": resources}).status, (400, 409), resources)
        self.refused(self.create({"name": "No Good"}), 400, "name")
        self.refused(self.create({"env": {"A=B": "x"}}), 400)
        self.refused(self.create({"driver": "dokcer"}), 404)
        self.refused(self.create({"profile": "nope"}), 404, "default")

    def test_what_is_too_much_is_named_with_its_limit(self):
        def run(body):
            return self.daemon.call("POST", "/v1/runs", {"code": "print(1)", **body})

        self.refused(self.daemon.call("POST", f"/v1/sandboxes/{self.box}/exec", {"command": "true", "timeout_ms": 40 * 86_400_000}), 400,
                     "timeout_ms: 40 days is longer than the 30 days that a command may run")
        self.refused(self.create({"ttl_s": 8 * 86400}), 400, "ttl_s: 8 days is longer than the 7 days that a sandbox may live")
        self.refused(self.create(b'{"ttl_s":1e30}'), 400, "ttl_s: 1e+30 is too large a number")
        self.refused(self.create({"labels": {"a": "x\ay"}}), 400, "labels.a: the value has a control character in it")
        self.refused(self.create({"labels": {"a": "x" * 257}}), 400, "labels.a: the value has 257 bytes, at most 256")
        self.refused(run({"requirements": ["x"] * 100_000}), 413, "requirements: it has more than 65536 entries")
        self.refused(run({"requirements": ["x"] * 100_000}), 413, "GET /v1/limits")
        self.refused(run({"requirements": ["x"] * 300}), 400, "requirements: there are 300, at most 200 are allowed")
        self.refused(run({"files": {f"f{i}": "" for i in range(1_000)}}), 400, "at most 999 are allowed beside it")
        self.refused(self.create({"files": {f"f{i}": "" for i in range(1_001)}}), 400, "there are 1001, at most 1000")
        self.refused(self.create({"driver": "native", "resources": {"memory_mb": 1}}), 400, "at least 8 MiB of memory")

    def test_what_never_reached_a_route_is_a_problem_like_any_other(self):
        for head, status, code in ((b"GET / HTTP/2.0\r\nHost: h", 505, "unsupported"), (b"GET / HTTP/1.1", 400, "invalid_argument"),
                                   (b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 200_000, 431, "too_large")):
            answer = self.raw(head + b"\r\n\r\n")
            self.assertTrue(answer.startswith(b"HTTP/1.1 %d " % status), answer[:200])
            problem = json.loads(answer.partition(b"\r\n\r\n")[2])
            self.assertEqual((problem["type"], problem["code"]), (f"urn:atoll:problem:{code}", code))

    def test_json_that_is_none(self):
        for body in (b"", b"{", b"\xff\xfe", b"[]", b"null", b'{"a":1}x', b'{"ttl_s":1,"ttl_s":2}', b'{"name":"\xff"}'):
            self.refused(self.daemon.call("POST", "/v1/sandboxes", body, {"Content-Type": "application/json"}), 400)
        deep = b"[" * 100_000 + b"]" * 100_000
        self.refused(self.daemon.call("POST", "/v1/sandboxes", deep, {"Content-Type": "application/json"}), 400)
        huge = b'{"name":"' + b"a" * (40 << 20) + b'"}'
        answer = self.raw(b"POST /v1/sandboxes HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(huge) + huge)
        self.assertIn(b" 413 ", answer.split(b"\r\n")[0])

    def test_bytes_that_are_no_http(self):
        self.assertIn(b" 400 ", self.raw(os.urandom(200) + b"\r\n\r\n").split(b"\r\n")[0] + b" 400 ")
        self.assertIn(b" 431 ", self.raw(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * (10 << 20)).split(b"\r\n")[0])
        self.assertIn(b" 414 ", self.raw(b"GET /" + b"a" * 60000 + b" HTTP/1.1\r\nHost: a\r\n\r\n").split(b"\r\n")[0])
        both = b"POST /v1/sandboxes HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}"
        self.assertIn(b" 400 ", self.raw(both).split(b"\r\n")[0])

    def test_paths_that_lead_out(self):
        self.daemon.exec(self.box, "sh", "-c", "ln -sfn /etc link; ln -sfn ../../.. up")
        for path in ("../../x", "/etc/passwd", "link/passwd", "up/x", "a/../../../x"):
            for method in ("GET", "PUT", "DELETE"):
                answer = self.daemon.call(method, f"/v1/sandboxes/{self.box}/files?path={path}", b"x" if method == "PUT" else None)
                self.assertIn(answer.status, (403, 404), (method, path, answer))
                self.assertNotIn(b"root:", answer.body)
        self.refused(self.daemon.call("GET", f"/v1/sandboxes/{self.box}/files?path=a%00b"), 400)
        self.refused(self.daemon.call("PUT", f"/v1/sandboxes/{self.box}/files?path=a&mode=4755", b"x"), 400, "mode")
        self.assertIn(self.daemon.call("GET", f"/v1/sandboxes/{self.box}/files?path={'x' * 5000}").status, (400, 414))
        self.assertEqual(self.daemon.call("GET", f"/v1/sandboxes/{self.box}/files").status, 400)

    def test_output_and_names_that_are_not_utf8_are_carried_through(self):
        done = self.daemon.exec(self.box, "sh", "-c", r"printf '\377\376'; printf fine >&2")
        self.assertEqual((done["stdout_b64"], done["stderr"]), ("//4=", "fine"))
        self.daemon.exec(self.box, "sh", "-c", r'touch "$(printf "caf\351")"')
        listed = self.daemon.call("GET", f"/v1/sandboxes/{self.box}/files/list?path=.").json
        self.assertIn("name_b64", json.dumps(listed))

    def test_execs_that_cannot_be(self):
        path = f"/v1/sandboxes/{self.box}/exec"
        for body in ({}, {"argv": []}, {"argv": ["true"], "command": "true"}, {"argv": "true"}, {"argv": ["a\0b"]},
                     {"argv": ["true"], "timeout_ms": -5}, {"argv": ["true"], "cwd": "missing"},
                     {"argv": ["true"], "env": {"": "x"}}):
            answer = self.daemon.call("POST", path, body)
            self.assertIn(answer.status, (400, 404), (body, answer))
        self.assertEqual(self.daemon.call("POST", path, {"argv": ["true"] * 5000}).status, 400)
        self.refused(self.daemon.call("POST", "/v1/sandboxes/sbx00000000000000000000/exec", {"argv": ["true"]}), 404)

    def test_routes_and_methods_that_are_not_there(self):
        self.refused(self.daemon.call("GET", "/v1/sandbox"), 404, "sandboxes")
        answer = self.daemon.call("PATCH", "/v1/sandboxes")
        self.assertEqual(answer.status, 405)
        self.assertIn("POST", {k.lower(): v for k, v in answer.headers.items()}["allow"])

    def test_what_the_driver_lacks_names_the_drivers_that_can(self):
        for operation in ("pause", "snapshot", "fork"):
            answer = self.daemon.call("POST", f"/v1/sandboxes/{self.box}/{operation}", {})
            self.refused(answer, 409, f"subprocess cannot {operation}")
            self.assertRegex(answer.json["hint"], "native.* can" if operation == "pause" else "can")
            self.assertEqual(answer.json["code"], "unsupported")

    def test_the_same_idempotency_key_gives_the_same_sandbox_once(self):
        first = self.daemon.call("POST", "/v1/sandboxes", {"driver": "local"}, {"Idempotency-Key": "k1"})
        again = self.daemon.call("POST", "/v1/sandboxes", {"driver": "local"}, {"Idempotency-Key": "k1"})
        other = self.daemon.call("POST", "/v1/sandboxes", {"driver": "subprocess"}, {"Idempotency-Key": "k1"})
        self.assertEqual(first.json["id"], again.json["id"])
        self.refused(other, 422)
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{first.json['id']}").status, 204)
        late = self.daemon.call("POST", "/v1/sandboxes", {"driver": "local"}, {"Idempotency-Key": "k1"})
        self.refused(late, 409, "new Idempotency-Key")
        self.assertEqual(late.json["code"], "conflict")

    def test_secrets_reach_neither_log_nor_store(self):
        canary = "canary-" + os.urandom(8).hex()
        box = self.daemon.create(driver="local", env={"TOKEN": canary})
        self.daemon.exec(box, "sh", "-c", "cat; echo $TOKEN $MORE", env={"MORE": canary}, stdin=canary)
        self.daemon.call("PUT", f"/v1/sandboxes/{box}/files?path=secret", canary.encode())
        self.daemon.call("GET", f"/v1/sandboxes/{box}")
        self.assertNotIn(canary, self.daemon.log())
        for name in os.listdir(self.daemon.state):
            path = os.path.join(self.daemon.state, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    self.assertNotIn(canary.encode(), file.read(), name)


if __name__ == "__main__":
    unittest.main()
