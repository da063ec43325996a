"""Every route, as everybody: no key, wrong ones, each role, tokens, and another tenant's ids. Only what should work does.

The table below says what each route is for and who may do such things. It is written by hand, apart from the daemon's own,
and a route that docs/openapi.yaml has and this table has not is a failure.
"""

import http.client
import io
import json
import os
import pathlib
import re
import subprocess
import tarfile
import unittest

from live import ATOLL, Answer, Daemon, wait_until

DRIVER = "native" if os.geteuid() == 0 else "rootless"
OPENAPI = pathlib.Path(__file__).parents[2] / "docs" / "openapi.yaml"
NOBODY = "sbx" + "0" * 20
OTHER_USERS = (61_918, 61_919)

UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
           "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": "atoll.exec.v1"}
TUNNEL = {"Connection": "Upgrade", "Upgrade": "tcp"}
BOX, EXEC = "/v1/sandboxes/{id}", {"argv": ["true"]}


def make_tree(content):
    """A root file system as tar."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        entry = tarfile.TarInfo("file")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


TREE = make_tree(b"new")
# method, path, what it is for, query, body, headers
ROUTES = [
    ("GET", "/healthz", "open", "", None, {}),
    ("GET", "/readyz", "open", "", None, {}),
    ("GET", "/metrics", "measure", "", None, {}),
    ("GET", "/v1/version", "know", "", None, {}),
    ("GET", "/v1/openapi.json", "know", "", None, {}),
    ("GET", "/v1/whoami", "know", "", None, {}),
    ("GET", "/v1/limits", "know", "", None, {}),
    ("GET", "/v1/drivers", "survey", "", None, {}),
    ("GET", "/v1/templates", "survey", "", None, {}),
    ("GET", "/v1/templates/{name}", "survey", "", None, {}),
    ("PUT", "/v1/templates/{name}", "administer", "", TREE, {}),
    ("POST", "/v1/templates/{name}/rollback", "administer", "", None, {}),
    ("DELETE", "/v1/templates/{name}", "administer", "", None, {}),
    ("GET", "/v1/sandboxes", "look", "", None, {}),
    ("GET", "/v1/snapshots", "look", "", None, {}),
    ("GET", "/v1/snapshots/{snapshot}", "look", "", None, {}),
    ("DELETE", "/v1/snapshots/{snapshot}", "manage", "", None, {}),
    ("GET", "/v1/sessions", "look", "", None, {}),
    ("POST", "/v1/sessions", "create", "", {"sandbox": {"driver": DRIVER, "ttl_s": 600}}, {}),
    ("GET", "/v1/sessions/{session}", "look", "", None, {}),
    ("POST", "/v1/sessions/{session}/renew", "manage", "", {}, {}),
    ("DELETE", "/v1/sessions/{session}", "manage", "", None, {}),
    ("GET", "/v1/traces", "look", "", None, {}),
    ("GET", "/v1/traces/{trace}", "look", "", None, {}),
    ("GET", "/v1/events", "look", "", None, {}),
    ("GET", BOX, "look", "", None, {}),
    ("GET", BOX + "/stats", "look", "", None, {}),
    ("GET", BOX + "/start", "look", "", None, {}),
    ("GET", BOX + "/processes", "look", "", None, {}),
    ("GET", BOX + "/files/list", "look", "?path=.", None, {}),
    ("GET", BOX + "/files/stat", "look", "?path=.", None, {}),
    ("GET", BOX + "/files/find", "look", "?path=.", None, {}),
    ("GET", BOX + "/files/watch", "look", "?path=none", None, {}),
    ("GET", BOX + "/files/uploads", "look", "?path=none&upload=u", None, {}),
    ("GET", BOX + "/diff", "look", "", None, {}),
    ("GET", BOX + "/files", "read", "?path=note", None, {}),
    ("GET", BOX + "/files/grep", "read", "?pattern=x", None, {}),
    ("GET", BOX + "/files/tar", "read", "?path=.", None, {}),
    ("GET", BOX + "/logs", "read", "", None, {}),
    ("GET", BOX + "/processes/{process}/output", "read", "", None, {}),
    ("POST", BOX + "/exec", "use", "", EXEC, {}),
    ("GET", BOX + "/exec", "use", "", None, UPGRADE),
    ("GET", BOX + "/processes/{process}/attach", "use", "", None, UPGRADE),
    ("POST", BOX + "/processes/{process}/stdin", "use", "", b"x", {}),
    ("POST", BOX + "/processes/{process}/signal", "use", "", {"signal": "SIGCONT"}, {}),
    ("POST", BOX + "/processes/{process}/resize", "use", "", {"rows": 2, "cols": 2}, {}),
    ("PUT", BOX + "/files", "use", "?path=written", b"x", {}),
    ("DELETE", BOX + "/files", "use", "?path=none", None, {}),
    ("PUT", BOX + "/files/tar", "use", "?path=.", bytes(1024), {}),
    ("POST", BOX + "/files/batch", "use", "", {"files": {"batched": "x"}}, {}),
    ("POST", BOX + "/files/mkdir", "use", "", {"path": "made"}, {}),
    ("POST", BOX + "/files/move", "use", "", {"from": "none", "to": "else"}, {}),
    ("POST", BOX + "/files/remove", "use", "", {"path": "none"}, {}),
    ("GET", BOX + "/ports/{port}", "use", "", None, TUNNEL),
    ("PATCH", BOX, "manage", "", {"resources": {"memory_mb": 300}}, {}),
    ("DELETE", BOX, "manage", "", None, {}),
    ("POST", BOX + "/stop", "manage", "", None, {}),
    ("POST", BOX + "/start", "manage", "", None, {}),
    ("POST", BOX + "/recreate", "manage", "", None, {}),
    ("POST", BOX + "/renew", "manage", "", {}, {}),
    ("POST", BOX + "/pause", "manage", "", None, {}),
    ("POST", BOX + "/resume", "manage", "", None, {}),
    ("POST", BOX + "/resize", "manage", "", {"memory_mb": 300}, {}),
    ("POST", BOX + "/reset", "manage", "", {}, {}),
    ("POST", BOX + "/release", "manage", "", {"corrupted": True}, {}),
    ("GET", "/v1/pools", "measure", "", None, {}),
    ("POST", "/v1/pools", "administer", "", {"name": "shared", "driver": DRIVER, "target": 0, "max": 1}, {}),
    ("GET", "/v1/pools/{pool}", "measure", "", None, {}),
    ("PATCH", "/v1/pools/{pool}", "administer", "", {"idle_s": 60}, {}),
    ("POST", "/v1/pools/{pool}/drain", "administer", "", None, {}),
    ("POST", "/v1/pools/{pool}/acquire", "create", "", {"ttl_s": 600}, {}),
    ("DELETE", "/v1/pools/{pool}", "administer", "", None, {}),
    ("POST", BOX + "/snapshot", "create", "", {"name": "snap"}, {}),
    ("POST", BOX + "/snapshots", "create", "", {"name": "snap"}, {}),
    ("POST", BOX + "/fork", "create", "", {"count": 1}, {}),
    ("POST", "/v1/sandboxes", "create", "", {"driver": DRIVER, "ttl_s": 600}, {}),
    ("POST", "/v1/sandboxes:explain", "create", "", {"driver": DRIVER}, {}),
    ("POST", "/v1/plan", "create", "", {"driver": DRIVER}, {}),
    ("GET", "/v1/profiles", "survey", "", None, {}),
    ("GET", "/v1/profiles/{name}", "survey", "", None, {}),
    ("POST", "/v1/runs", "create", "", {"sandbox": {"driver": DRIVER}, "exec": EXEC}, {}),
    ("POST", "/v1/runs:batch", "create", "", {"sandbox": {"driver": DRIVER}, "runs": [EXEC]}, {}),
    ("POST", BOX + "/token", "delegate", "", {}, {}),
    ("POST", "/v1/keys", "administer", "", {"role": "viewer", "tenant": "acme"}, {}),
    ("GET", "/v1/keys", "administer", "", None, {}),
    ("DELETE", "/v1/keys/{key}", "administer", "", None, {}),
    ("POST", "/v1/shutdown", "administer", "", {"sandboxes": "a wrong word, so that it goes on"}, {}),
]

ALL = {"know", "survey", "measure", "look", "read", "use", "manage", "create", "delegate", "administer"}
RIGHTS = {
    "admin": ALL,
    "member": ALL - {"administer"},
    "viewer": {"know", "survey", "measure", "look"},
    "agent": ALL - {"administer", "measure"},
    "token": {"know", "look", "read", "use"},
    "read token": {"know", "look", "read"},
    "nobody": set(),
}


class Caller:
    def __init__(self, name, kind, key, sees):
        self.name, self.kind, self.key, self.sees = name, kind, key, sees


def bearer(key):
    return {"Authorization": f"Bearer {key}"} if key else {}


class World(Daemon):
    """A daemon, its keys, and a sandbox that an agent of the tenant acme made."""

    def tcp(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(self.address, timeout=60)
        try:
            data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
            connection.request(method, path, body=data, headers=headers or {})
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    @property
    def address(self):
        return re.search(r"http://([0-9.:]+)", self.log()).group(1)

    def make_key(self, role, tenant="acme", **more):
        answer = self.call("POST", "/v1/keys", {"role": role, "tenant": tenant, **more})
        assert answer.status == 201, answer
        return answer.json

    def make_box(self, key):
        answer = self.call("POST", "/v1/sandboxes", {"driver": DRIVER, "ttl_s": 600}, bearer(key))
        assert answer.status == 201, answer
        box = answer.json["id"]
        self.made.add(box)
        return box

    def fill(self, box):
        """Something to read, and a process that has ended."""
        assert self.call("PUT", f"/v1/sandboxes/{box}/files?path=note", b"text").status < 300
        return self.exec(box, "true")["process"]

    def make_token(self, box, key, **asked):
        answer = self.call("POST", f"/v1/sandboxes/{box}/token", asked, bearer(key))
        assert answer.status == 201, answer
        return answer.json["token"]


def same_but_for_ids(answer, box):
    problem = answer.json
    problem.pop("request_id"), problem.pop("trace_id")
    return json.dumps(problem).replace(box, "ID")


class EveryRoute(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = world = World(arguments=["--rate", "0"]).start()
        cls.owner = world.make_key("agent")["key"]
        cls.box = world.make_box(cls.owner)
        cls.process = world.fill(cls.box)
        foreign = world.make_key("member", "other")["key"]
        foreign_box = world.make_box(foreign)
        revoked = world.make_key("member")
        assert world.call("DELETE", f"/v1/keys/{revoked['id']}").status == 204
        expired = world.make_key("admin", ttl_s=1)["key"]
        wait_until(lambda: world.call("GET", "/v1/whoami", headers=bearer(expired)).status == 401, "a key expires")
        gone = world.make_box(cls.owner)
        gone_token = world.make_token(gone, cls.owner)
        assert world.call("DELETE", f"/v1/sandboxes/{gone}").status == 204
        cls.callers = [
            Caller("admin", "admin", world.key, True),
            Caller("admin of another tenant", "admin", world.make_key("admin", "other")["key"], True),
            Caller("member", "member", world.make_key("member")["key"], True),
            Caller("viewer", "viewer", world.make_key("viewer")["key"], True),
            Caller("the agent that made it", "agent", cls.owner, True),
            Caller("another agent", "agent", world.make_key("agent")["key"], False),
            Caller("member of another tenant", "member", foreign, False),
            Caller("viewer of another tenant", "viewer", world.make_key("viewer", "other")["key"], False),
            Caller("its token", "token", world.make_token(cls.box, cls.owner), True),
            Caller("its token for viewers", "read token", world.make_token(cls.box, cls.owner, mode="read"), True),
            Caller("a foreign token", "token", world.make_token(foreign_box, foreign), False),
            Caller("a revoked key", "nobody", revoked["key"], False),
            Caller("an expired key", "nobody", expired, False),
            Caller("the token of one that is gone", "nobody", gone_token, False),
            Caller("a wrong key", "nobody", "atk_" + "0" * 43, False),
            Caller("a forged token", "nobody", f"ast_{cls.box}.9999999999.socket." + "0" * 64, False),
            Caller("a key's id", "nobody", revoked["id"], False),
        ]

    @classmethod
    def tearDownClass(cls):
        cls.world.end()

    def test_the_table_has_every_route(self):
        described, path = set(), ""
        for line in OPENAPI.read_text().split("\ncomponents:")[0].splitlines():
            if found := re.fullmatch(r"  (/\S+):", line):
                path = found.group(1)
            elif found := re.fullmatch(r"    (get|put|post|delete|patch|head|options):", line):
                described.add((found.group(1).upper(), path))
        self.assertGreater(len(described), 40)
        self.assertEqual({(route[0], route[1]) for route in ROUTES}, described)

    def make_trace(self, send, key):
        """One that whoever has the key made."""
        trace = os.urandom(16).hex()
        send("GET", "/v1/sandboxes", None, {"traceparent": f"00-{trace}-00f067aa0ba902b7-01", **bearer(key)})
        return trace

    def request(self, send, route, box, process, key):
        method, path, _, query, body, headers = route
        about = self.world.make_key("viewer")["id"] if "{key}" in path else ""
        trace = self.make_trace(send, key) if "{trace}" in path else ""
        if path.startswith("/v1/templates/{name}"):  # with an earlier version to go back to
            for tree in (make_tree(b"earlier"), TREE):
                self.world.call("PUT", "/v1/templates/shared", tree)
        name = "python" if path.startswith("/v1/profiles/") else "shared"
        if "{pool}" in path:
            self.world.call("POST", "/v1/pools", {"name": "tried", "driver": DRIVER, "target": 0, "max": 1})
        target = path.format(id=box, process=process, port=9, key=about, trace=trace, name=name, pool="tried",
                             snapshot="snp" + "0" * 20, session="ses" + "0" * 20) + query
        kind = {"Content-Type": "application/json"} if isinstance(body, dict) else {}
        answer = send(method, target, body, {**kind, **headers, **bearer(key)})
        if path in ("/v1/sandboxes", "/v1/pools/{pool}/acquire") and method == "POST" and answer.status == 201:
            self.world.made.add(answer.json["id"])
            self.world.call("DELETE", f"/v1/sandboxes/{answer.json['id']}")
        if path == "/v1/sessions" and method == "POST" and answer.status == 201:
            self.world.made.add(answer.json["sandbox"])
            self.world.call("DELETE", f"/v1/sessions/{answer.json['id']}")
        return answer

    def check(self, send, route, caller):
        _, path, action, *_ = route
        box, process = self.box, self.process
        is_about_a_box = "{id}" in path
        may = action in RIGHTS[caller.kind]
        if may and is_about_a_box and caller.sees and action in ("manage", "create"):
            box = self.world.make_box(self.owner)  # to be changed or to go
        answer = self.request(send, route, box, process, caller.key)
        told = f"{caller.name}: {route[0]} {path}: {answer}"
        if action == "open":
            self.assertEqual(answer.status, 200, told)
        elif caller.kind == "nobody":
            self.assertIn(answer.status, (401, 429), told)
        elif not may:
            self.assertEqual((answer.status, answer.json["code"]), (403, "permission_denied"), told)
        elif is_about_a_box and not caller.sees:
            never = self.request(send, route, NOBODY, process, caller.key)
            self.assertEqual(answer.status, 404, told)
            self.assertEqual(same_but_for_ids(answer, box), same_but_for_ids(never, NOBODY), told)
        else:
            # What this driver, or this moment, does not allow is not the role's doing.
            self.assertNotIn(answer.status, (401, 403, 429), told)
            if path != "/v1/shutdown":
                self.assertNotEqual(answer.status, 400, told)  # the table sends what makes sense
            self.assertLess(answer.status, 500 if "ports" not in path else 504, told)
            # A watch has no end, so it is asked for what is not there. This driver has no snapshots: whose they are is looked at
            # in tests/e2e/snapshots_test.py, and whose sessions are in tests/e2e/rest_test.py.
            if action not in ("use",) and not path.endswith(("/watch", "{snapshot}")) and "{session}" not in path:
                self.assertNotEqual(answer.status, 404, told)
        if box != self.box:
            self.world.call("DELETE", f"/v1/sandboxes/{box}")

    def try_all(self, send):
        for caller in self.callers:
            for route in ROUTES:
                with self.subTest(caller=caller.name, method=route[0], path=route[1]):
                    self.check(send, route, caller)

    def test_over_tcp(self):
        self.try_all(self.world.tcp)

    def test_over_the_unix_socket(self):
        self.try_all(self.world.call)

    def test_without_a_key(self):
        for route in ROUTES:
            with self.subTest(method=route[0], path=route[1]):
                answer = self.request(self.world.tcp, route, self.box, self.process, "")
                if route[2] == "open":
                    self.assertEqual(answer.status, 200)
                else:
                    self.assertIn(answer.status, (401, 429), answer)

    def test_lists_have_only_what_one_sees(self):
        for caller in self.callers:
            if caller.kind == "nobody":
                continue
            listed = self.world.tcp("GET", "/v1/sandboxes", headers=bearer(caller.key)).json["sandboxes"]
            is_admin_elsewhere = caller.name == "admin" or caller.name == "admin of another tenant"
            self.assertEqual(self.box in [box["id"] for box in listed], caller.sees and not is_admin_elsewhere, caller.name)
            if caller.kind != "admin":
                for tenant in ("*", "default", "other" if caller.sees else "acme"):
                    answer = self.world.tcp("GET", f"/v1/sandboxes?tenant={tenant}", headers=bearer(caller.key))
                    if answer.status == 200:  # an agent of acme asks for acme
                        self.assertEqual(tenant, "acme", caller.name)
                        self.assertNotIn(self.box, answer.body.decode(), caller.name)

    def test_events_tell_only_of_what_one_sees(self):
        stranger = self.world.make_key("member", "stranger")["key"]
        for caller in [*self.callers, Caller("a stranger", "member", stranger, False)]:
            if caller.kind == "nobody":
                continue
            for query in ("?limit=1000", f"?sandbox={self.box}"):
                events, after = [], "0"
                while True:
                    page = self.world.tcp("GET", f"/v1/events{query}&after={after}", headers=bearer(caller.key)).json
                    events += page["events"]
                    if not page["events"]:
                        break
                    after = page["last"]
                self.assertEqual(self.box in {event["sandbox"] for event in events}, caller.sees, (caller.name, query))
                if caller.name == "a stranger":
                    self.assertEqual(events, [])
                if caller.kind in ("token", "read token") and caller.sees:
                    self.assertEqual({event["sandbox"] for event in events}, {self.box})

    def test_a_viewer_reads_no_environment(self):
        key = self.world.make_key("viewer")["key"]
        owner = {**bearer(self.owner), "Content-Type": "application/json"}
        answer = self.world.call("POST", "/v1/sandboxes", {"driver": DRIVER, "env": {"A": "secret-of-env"}}, owner)
        box = answer.json["id"]
        self.world.made.add(box)
        self.addCleanup(self.world.call, "DELETE", f"/v1/sandboxes/{box}")
        self.world.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["env"], "env": {"B": "secret-of-env"}}, owner)
        for method, path, _, query, body, headers in ROUTES:
            target = path.format(id=box, process=1, port=9, key="none", trace="0" * 32, name="none", snapshot="none", session="none", pool="none") + query
            got = self.world.call(method, target, body, {**headers, **bearer(key)})
            self.assertNotIn(b"secret-of-env", got.body, path)

    def test_no_answer_speaks_of_origins(self):
        for headers in ({}, bearer(self.world.key)):
            for method, path in (("GET", "/v1/whoami"), ("OPTIONS", "/v1/sandboxes"), ("GET", "/healthz"), ("GET", "/nowhere")):
                answer = self.world.tcp(method, path, headers={
                    **headers, "Origin": "https://evil.example", "Access-Control-Request-Method": "POST"})
                self.assertEqual([name for name in answer.headers if name.lower().startswith("access-control")], [], path)


class AcrossARestart(unittest.TestCase):
    def test_keys_owners_and_tokens_are_as_they_were(self):
        world = World().start()
        self.addCleanup(world.end)
        key, viewer = world.make_key("agent", label="nightly"), world.make_key("viewer")
        gone = world.make_key("member")
        self.assertEqual(world.call("DELETE", f"/v1/keys/{gone['id']}").status, 204)
        box = world.make_box(key["key"])
        token = world.make_token(box, key["key"])

        world.kill()
        world.start()

        seen = world.call("GET", f"/v1/sandboxes/{box}", headers=bearer(key["key"]))
        self.assertEqual((seen.status, seen.json["owner"], seen.json["tenant"]), (200, key["id"], "acme"))
        self.assertEqual(world.call("GET", f"/v1/sandboxes/{box}", headers=bearer(token)).status, 200)
        self.assertEqual(world.call("DELETE", f"/v1/sandboxes/{box}", headers=bearer(viewer["key"])).status, 403)
        self.assertEqual(world.call("GET", "/v1/whoami", headers=bearer(gone["key"])).status, 401)
        labels = {one["id"]: one["label"] for one in world.call("GET", "/v1/keys").json["keys"]}
        self.assertEqual(labels[key["id"]], "nightly")

        self.assertEqual(world.call("DELETE", f"/v1/keys/{key['id']}").status, 204)
        self.assertEqual(world.call("GET", f"/v1/sandboxes/{box}", headers=bearer(token)).status, 401)


class OnTheHost(unittest.TestCase):
    @unittest.skipUnless(os.geteuid() == 0, "it is about a daemon that is root")
    def test_only_an_admin_may_have_a_driver_whose_commands_are_the_daemon_itself(self):
        world = World().start()
        self.addCleanup(world.end)
        everybody = [world.make_key(role, tenant)["key"] for role, tenant in (("member", "default"), ("member", "other"), ("agent", "other"))]
        for key in everybody:
            for driver in "local", "subprocess":
                with self.subTest(driver=driver):
                    for path, body in (("/v1/sandboxes", {"driver": driver}),
                                       ("/v1/runs", {"sandbox": {"driver": driver}, "exec": {"argv": ["id"]}}),
                                       ("/v1/runs", {"sandbox": {"driver": driver}, "code": "print(1)"})):
                        refused = world.tcp("POST", path, body, bearer(key))
                        self.assertEqual((refused.status, refused.json["code"]), (403, "permission_denied"), refused)
                        self.assertIn("only administrators", refused.json["detail"])
            batch = {"sandbox": {"driver": "local"}, "runs": [{"argv": ["id"]}]}
            refused = world.tcp("POST", "/v1/runs:batch", batch, bearer(key)).json["runs"][0]
            self.assertEqual(refused["problem"]["code"], "permission_denied", refused)
        run = {"sandbox": {"driver": "local"}, "exec": {"argv": ["true"]}}
        self.assertEqual(world.tcp("POST", "/v1/runs", run, bearer(world.key)).status, 200)

    def test_the_first_key_stays_revoked(self):
        world = World().start()
        self.addCleanup(world.end)
        old = world.key
        first = next(key for key in world.call("GET", "/v1/keys").json["keys"] if key["label"] == "admin.key")
        self.assertEqual(world.call("DELETE", f"/v1/keys/{first['id']}").status, 204)
        self.assertEqual(world.tcp("GET", "/v1/whoami", headers=bearer(old)).status, 401)
        world.terminate()
        world.start()
        self.assertEqual(world.call("GET", "/v1/whoami", headers=bearer(old)).status, 401)
        self.assertNotEqual(world.key, old)
        self.assertEqual(world.call("GET", "/v1/whoami", headers=bearer(world.key)).status, 200)


class HowMuch(unittest.TestCase):
    def test_a_tenant_has_its_number_of_sandboxes_and_a_key_its_rate(self):
        world = World(arguments=["--tenant-sandboxes", "2", "--rate", "1"]).start()
        self.addCleanup(world.end)
        busy, other = world.make_key("member")["key"], world.make_key("member", "other")["key"]
        for _ in range(2):
            world.make_box(world.key)
        refused = world.call("POST", "/v1/sandboxes", {}, bearer(world.key))
        self.assertEqual((refused.status, refused.json["code"]), (429, "resource_exhausted"), refused)
        self.assertIn("this tenant has 2", refused.json["detail"])
        world.make_box(other)  # another tenant's number is its own

        first = world.tcp("GET", "/v1/limits", headers=bearer(busy))
        self.assertEqual((first.json["sandboxes"], first.json["requests_per_s"]), (2, 1))
        for _ in range(20):
            refused = world.tcp("GET", "/v1/whoami", headers=bearer(busy))
            if refused.status != 200:
                break
        self.assertEqual(refused.status, 429, refused)
        self.assertEqual(refused.headers["Content-Type"], "application/problem+json")
        self.assertGreaterEqual(int(refused.headers["Retry-After"]), 1)
        self.assertEqual(world.tcp("GET", "/v1/whoami", headers=bearer(world.key)).status, 200)

    def test_an_origin_that_is_named_may_call_and_no_other(self):
        world = World(arguments=["--cors-origin", "https://console.example"]).start()
        self.addCleanup(world.end)
        ask = {"Origin": "https://console.example", "Access-Control-Request-Method": "POST"}
        answer = world.tcp("OPTIONS", "/v1/sandboxes", headers=ask)
        self.assertEqual((answer.status, answer.headers["Access-Control-Allow-Origin"]), (204, ask["Origin"]), answer)
        other = world.tcp("GET", "/healthz", headers={"Origin": "https://evil.example"})
        self.assertNotIn("Access-Control-Allow-Origin", other.headers)
        for wrong in ("*", "console.example", "https://console.example/", "https://Console.example"):
            done = subprocess.run([ATOLL, "serve", "--cors-origin", wrong, "--listen", "none", "--state", f"{world.directory}/no"],
                                  capture_output=True, text=True, timeout=30)
            self.assertEqual(done.returncode, 125, wrong)
            self.assertIn("no origin", done.stderr)


@unittest.skipUnless(os.geteuid() == 0 or os.environ.get("ATOLL_MUST_RUN"), "only root can be somebody else")
class UsersOfThisHost(unittest.TestCase):
    def atoll(self, world, uid, *words, code=0):
        done = subprocess.run([ATOLL, "--state", world.state, *words], user=uid, group=uid, extra_groups=[],
                              capture_output=True, text=True, timeout=60, env={"HOME": "/", "PATH": os.environ["PATH"]})
        self.assertEqual(done.returncode, code, done)
        return done.stdout + done.stderr

    def test_the_socket_is_closed_to_them_unless_the_operator_opens_it(self):
        world = World().start()
        self.addCleanup(world.end)
        self.assertIn("permission denied", self.atoll(world, OTHER_USERS[0], "ps", code=126))

    def test_each_is_a_tenant_and_sees_nothing_of_the_others(self):
        world = World(arguments=["--local-users"]).start()
        self.addCleanup(world.end)
        one, two = OTHER_USERS
        boxes = {}
        for uid in OTHER_USERS:  # the same name, twice
            boxes[uid] = self.atoll(world, uid, "create", "--driver", DRIVER, "--name", "web").strip()
            world.made.add(boxes[uid])
        self.assertNotEqual(boxes[one], boxes[two])
        self.assertIn("hello", self.atoll(world, one, "exec", "web", "--", "echo", "hello"))
        for words in (["inspect"], ["exec"], ["rm"], ["token"], ["logs"], ["stop"]):
            more = ["--", "true"] if words == ["exec"] else []
            self.assertIn("no sandbox is called", self.atoll(world, one, *words, boxes[two], *more, code=125))
        listed = self.atoll(world, one, "ps", "-q").split()
        self.assertEqual(listed, [boxes[one]])
        self.assertIn("administer", self.atoll(world, one, "keys", "list", code=126))
        self.assertIn("administer", self.atoll(world, one, "down", code=126))
        self.assertIn("admin", self.atoll(world, one, "ps", "--tenant", "*", code=126))
        self.assertIn("Unix socket", self.atoll(world, one, "create", "--driver", DRIVER, "-v", "/etc:/x:ro", code=126))
        for name in ("admin.key", "atoll.db", "lock"):
            done = subprocess.run(["cat", f"{world.state}/{name}"], user=one, group=one, extra_groups=[], capture_output=True)
            self.assertNotEqual(done.returncode, 0, name)

        views = world.call("GET", "/v1/sandboxes?tenant=*").json["sandboxes"]
        self.assertEqual({view["id"]: (view["tenant"], view["owner"]) for view in views},
                         {boxes[uid]: (f"uid:{uid}", f"uid:{uid}") for uid in OTHER_USERS})
        self.assertEqual(world.call("GET", f"/v1/sandboxes/{boxes[one]}").status, 200)


class CommandLine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World().start()

    @classmethod
    def tearDownClass(cls):
        cls.world.end()

    def atoll(self, *words, code=0, key=None):
        environment = {"HOME": "/", "PATH": os.environ["PATH"]}
        if key:
            environment |= {"ATOLL_URL": f"http://{self.world.address}", "ATOLL_API_KEY": key}
        else:
            environment["ATOLL_STATE"] = self.world.state
        done = subprocess.run([ATOLL, *words], capture_output=True, text=True, timeout=60, env=environment)
        self.assertEqual(done.returncode, code, done)
        return done

    def test_keys_are_made_listed_used_from_afar_and_revoked(self):
        made = self.atoll("keys", "create", "--role", "agent", "--tenant", "acme", "--label", "nightly", "--ttl", "1h")
        key = made.stdout.strip()
        self.assertRegex(key, "^atk_[0-9A-Za-z]{43}$")
        identity = re.search("key[a-z0-9]{12}", made.stderr).group()
        row = next(line for line in self.atoll("keys", "list").stdout.splitlines() if identity in line)
        for word in ("acme", "agent", "nightly", "never"):
            self.assertIn(word, row)
        self.assertNotIn(key, self.atoll("keys", "list", "--json").stdout)

        box = self.atoll("create", "--driver", DRIVER, key=key).stdout.strip()
        self.world.made.add(box)
        self.assertEqual(self.atoll("exec", box, "--", "echo", "hello", key=key).stdout, "hello\n")
        self.assertIn("administer", self.atoll("keys", "list", key=key, code=126).stderr)
        token = self.atoll("token", box, "--ttl", "5m", key=key).stdout.strip()
        self.assertEqual(self.atoll("exec", box, "--", "echo", "again", key=token).stdout, "again\n")
        self.assertIn("manage", self.atoll("rm", box, key=token, code=126).stderr)

        self.assertEqual(self.atoll("keys", "revoke", identity).stdout, identity + "\n")
        self.assertIn("ATOLL_API_KEY", self.atoll("ps", key=key, code=125).stderr)
        self.atoll("ps", key=token, code=125)
        self.atoll("rm", box)

    def test_what_makes_no_sense_is_said(self):
        self.assertIn("none of create, list, revoke", self.atoll("keys", "make", code=2).stderr)
        self.assertIn("none of admin, member", self.atoll("keys", "create", "--role", "root", code=2).stderr)
        self.assertIn("does not take it", self.atoll("keys", "list", "--role", "admin", code=2).stderr)
        self.assertIn("name the ids", self.atoll("keys", "revoke", code=2).stderr)
        self.assertIn("no key has the id", self.atoll("keys", "revoke", "keynone", code=125).stderr)


if __name__ == "__main__":
    unittest.main()
