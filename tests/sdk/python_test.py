"""The Python client, installed, against a real daemon."""

import io
import math
import os
import pathlib
import socket
import ssl
import tarfile
import tempfile
import threading
import time
import unittest
import zipfile

import installed
from live import Daemon, wait_until
from meddler import Meddler, certificate, cut_in_half, problem, with_new_fields

installed.use_python_package()
import atoll  # noqa: E402
from atoll import _target  # noqa: E402

SERVER = """
import socket
listener = socket.create_server(("127.0.0.1", 3000))
print("listening", flush=True)
while True:
    visitor = listener.accept()[0]
    while piece := visitor.recv(65536):
        visitor.sendall(piece.upper())
    visitor.sendall(b"the end")
    visitor.close()
"""
MANY = 100_000_000


class Live(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.end)
        cls.client = atoll.Client(state=cls.daemon.state)
        cls.addClassCleanup(cls.client.close)

    def box(self, **options):
        box = atoll.Sandbox.create(client=self.client, **options)
        self.daemon.made.add(box.id)
        self.addCleanup(box.delete)
        return box

    def meddle(self, *plan, tls=None):
        meddler = Meddler(self.daemon, plan, tls)
        self.addCleanup(meddler.end)
        return meddler

    def sandboxes(self):
        return self.daemon.call("GET", "/v1/sandboxes").json["sandboxes"]


class Runs(Live):
    def test_a_command(self):
        done = self.client.run(command=["python3", "-c", "print(6 * 7)"])
        self.assertEqual((done.stdout, done.exit_code, done.reason, done.ok), ("42\n", 0, "exited", True))
        self.assertEqual((done.driver, done.isolation), ("native", "container"))
        self.assertTrue(done.stages and done.request_id.startswith("req"))
        self.assertGreater(done.usage["cpu_ms"], 0)

    def test_code(self):
        self.assertEqual(self.client.run("print(6 * 7)").stdout, "42\n")
        self.assertEqual(self.client.run("echo $((6 * 7))", language="bash").stdout, "42\n")
        done = self.client.run("import sys; print(open('a').read(), open('b/c', 'rb').read(), sys.stdin.read())",
                               files={"a": "text", "b/c": b"\xff"}, stdin="in")
        self.assertEqual(done.stdout, "text b'\\xff' in\n")
        self.assertIn("line 2", self.client.run("x = 1\nraise ValueError(x)").stderr)
        with self.client.stream("print('now')") as stream:
            self.assertEqual("".join(piece.text for piece in stream), "now\n")
        with self.assertRaises(atoll.InvalidArgumentError):
            self.client.run("1", language="of next year")

    def test_code_with_packages(self):
        wheel = self.wheel("answer", "ANSWER = 42\n")
        done = self.client.run("import answer; print(answer.ANSWER)", files={"answer-1.0-py3-none-any.whl": wheel},
                               requirements=["./answer-1.0-py3-none-any.whl"])
        self.assertEqual(done.stdout, "42\n", done.stderr)
        with self.assertRaises(atoll.InvalidArgumentError) as raised:
            self.client.run("1", requirements=["./nobody-1.0-py3-none-any.whl"])
        self.assertEqual(raised.exception.stage, "setup")

    def wheel(self, name, code):
        packed = io.BytesIO()
        info = f"{name}-1.0.dist-info"
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(f"{name}.py", code)
            archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{info}/RECORD", "")
        return packed.getvalue()

    def test_what_a_command_gets(self):
        done = self.client.run(command="cat; echo $A; pwd; exit 3", env={"A": "b"}, cwd="/tmp", stdin=b"\xff\n",
                               sandbox={"resources": {"memory_mb": 64}})
        self.assertEqual((done.stdout_bytes, done.exit_code), (b"\xff\nb\n/tmp\n", 3))
        self.assertEqual(done.stdout, "\ufffd\nb\n/tmp\n")
        with self.assertRaises(atoll.CommandFailedError) as raised:
            done.check()
        self.assertIs(raised.exception.result, done)

    def test_output_as_it_comes(self):
        with self.client.stream(command="echo one; echo two >&2; cat", stdin_open=True) as stream:
            pieces = [next(stream), next(stream)]
            stream.write("three", eof=True)
            pieces += list(stream)
        self.assertEqual({(piece.stream, piece.text) for piece in pieces},
                         {("stdout", "one\n"), ("stderr", "two\n"), ("stdout", "three")})
        self.assertTrue(stream.result.ok)
        self.assertEqual(pieces[-1].offset, 4)

    def test_many(self):
        with self.client.run_many([["echo", str(n)] for n in range(20)] + ["exit 5"], concurrency=4) as batch:
            results = batch.all()
        self.assertEqual([result.result.stdout for result in results[:20]], [f"{n}\n" for n in range(20)])
        self.assertEqual((results[20].index, results[20].ok, results[20].result.exit_code), (20, False, 5))

    def test_one_of_many_that_cannot_be_made(self):
        with self.client.run_many([["true"]], sandbox={"driver": "nobody"}) as batch:
            result, = batch
        self.assertIsNone(result.result)
        self.assertIsInstance(result.error, atoll.AtollError)

    def test_who_leaves_ends_it(self):
        with self.client.stream(command="sleep 1000") as stream:
            box = stream.sandbox
            self.assertEqual([b["id"] for b in self.sandboxes()], [box])
        wait_until(lambda: self.sandboxes() == [], "the run has ended")

    def test_a_run_is_code_or_a_command(self):
        for arguments in {}, {"code": "1", "command": "true"}:
            with self.assertRaisesRegex(ValueError, "either code, or a command"):
                self.client.run(**arguments)


class Sandboxes(Live):
    def test_a_life(self):
        with atoll.Sandbox.create(client=self.client, name="dev", ttl_s=600, labels={"team": "search"}) as box:
            self.daemon.made.add(box.id)
            self.assertEqual((box.name, box.state), ("dev", "running"))
            self.assertEqual(atoll.Sandbox.connect("dev", client=self.client).id, box.id)
            self.assertEqual([b.id for b in self.client.sandboxes(labels={"team": "search"})], [box.id])
            self.assertEqual(list(self.client.sandboxes(labels={"team": "other"})), [])
            again = atoll.Sandbox.create(client=self.client, name="dev", ttl_s=600, labels={"team": "search"})
            self.assertEqual(again.id, box.id)
            box.files.write("kept", "yes")
            box.stop()
            self.assertEqual(box.state, "stopped")
            box.start()
            self.assertEqual(box.files.read_text("kept"), "yes")
            box.pause()
            self.assertEqual(box.state, "paused")
            box.resume()
            ends = box.info["expires_at"]
            box.renew(3600)
            self.assertGreater(box.info["expires_at"], ends)
            box.resize(memory_mb=128)
            self.assertEqual(box.info["resources"]["memory_mb"], 128)
            box.recreate()
            self.assertEqual(box.refresh().state, "running")
            self.assertGreaterEqual(box.stats()["age_ms"], 0)
        with self.assertRaises(atoll.NotFoundError):
            box.refresh()
        box.delete()

    def test_pages(self):
        boxes = {self.box(labels={"page": "yes"}).id for _ in range(3)}
        self.assertEqual({box.id for box in self.client.sandboxes(labels={"page": "yes"})}, boxes)
        page = self.client.api.list_sandboxes(label=["page=yes"], limit=2)
        rest = self.client.api.list_sandboxes(label=["page=yes"], limit=2, cursor=page["next_cursor"])
        self.assertEqual(len(page["sandboxes"] + rest["sandboxes"]), 3)
        self.assertIsNone(rest["next_cursor"])

    def test_commands(self):
        box = self.box()
        self.assertEqual(box.exec("echo $((6 * 7))").stdout, "42\n")
        self.assertEqual(box.exec(["printf", "%s", "a b"]).stdout, "a b")
        done = box.exec("sleep 100", timeout=0.2)
        self.assertEqual((done.reason, done.limit, done.exit_code), ("timeout", "wall_time", 124))
        done = box.exec("yes", output_limit=100_000, max_output_bytes=10)
        self.assertEqual((len(done.stdout), done.truncated, done.limit), (10, True, "output"))
        self.assertEqual(box.exec("while :; do :; done", cpu_time=0.2).limit, "cpu_time")
        self.assertEqual(box.exec("kill -9 $$").signal, 9)

    def test_processes(self):
        box = self.box()
        process = box.spawn("cat; echo done >&2", stdin_open=True)
        self.assertEqual([(p["process"], p["running"]) for p in box.processes.list()], [(process.process, True)])
        process.write("one ")
        process.write("two", eof=True)
        done = box.processes.get(process.process).wait()
        self.assertEqual((done.stdout, done.stderr), ("one two", "done\n"))
        with process.output(stdout_offset=4) as stream:
            pieces = [piece for piece in stream if piece.stream == "stdout"]
        self.assertEqual([(piece.offset, piece.data) for piece in pieces], [(4, b"two")])
        with box.processes.logs(process.process, stream="stdout") as logs:
            self.assertEqual(logs.read(), b"one two")
        sleeper = box.spawn(["sleep", "1000"])
        with self.assertRaises(atoll.DeadlineExceededError):
            sleeper.wait(timeout=0.1)
        sleeper.signal("TERM")
        self.assertEqual(sleeper.wait().signal, 15)
        sleeper = box.spawn(["sleep", "1000"])
        sleeper.kill()
        self.assertEqual(sleeper.wait().signal, 9)

    def test_a_stream_that_is_left_ends_its_command_unless_it_may_go_on(self):
        box = self.box()
        for choice, runs in (("kill", False), ("keep", True)):
            with box.stream(["sleep", "1000"], on_disconnect=choice) as stream:
                process = stream.process
            running = lambda: next(p["running"] for p in box.processes.list() if p["process"] == process)  # noqa: E731
            if runs:
                box.exec("true")
                self.assertTrue(running())
            else:
                wait_until(lambda: not running(), "the command is killed")

    def test_a_stream_waits_for_its_reader(self):
        box = self.box()
        with box.stream(f"head -c {MANY} /dev/zero; touch written") as stream:
            first = next(stream)
            self.assertFalse(box.files.exists("written"))
            size = len(first.data) + sum(len(piece.data) for piece in stream)
        self.assertEqual((size, stream.result.ok), (MANY, True))
        self.assertTrue(box.files.exists("written"))

    def test_characters_are_not_torn_apart(self):
        box = self.box()
        with box.stream("printf 'a\\303'; sleep 0.1; printf '\\244b'") as stream:
            self.assertEqual("".join(piece.text for piece in stream), "aäb")

    def test_a_terminal(self):
        box = self.box()
        with box.pty("stty size; read line; stty size; echo got $line; exit 7", rows=30, cols=90) as terminal:
            seen = b""
            while b"30 90" not in seen:
                seen += next(terminal)
            terminal.resize(31, 91)
            terminal.write("hello\n")
            seen += b"".join(terminal)
        self.assertIn(b"31 91\r\ngot hello\r\n", seen)
        self.assertEqual(terminal.result.exit_code, 7)

    def test_back_to_a_terminal(self):
        box = self.box()
        with box.pty(["cat"], on_disconnect="keep") as terminal:
            terminal.write("one\n")
            seen = b""
            while seen.count(b"one") < 2:
                seen += next(terminal)
        process = box.processes.get(terminal.process)
        process.resize(40, 100)
        with process.attach(stdout_offset=len(seen)) as again:
            again.write("two\n")
            self.assertTrue(next(again).startswith(b"two"))
            again.signal("KILL")
            self.assertEqual(again.wait().signal, 9)

    def test_a_terminal_that_cannot_be_had(self):
        with self.assertRaises(atoll.NotFoundError):
            self.box().processes.get(99).attach()

    def test_a_token_is_good_for_one_sandbox(self):
        box, other = self.box(), self.box()
        token = box.token(600)
        with atoll.Client(f"unix:{self.daemon.socket_path}", api_key=token["token"]) as client:
            self.assertEqual(atoll.Sandbox.connect(box.id, client=client).exec("echo hi").stdout, "hi\n")
            with self.assertRaises(atoll.NotFoundError):
                atoll.Sandbox.connect(other.id, client=client)

    def test_what_a_driver_cannot_do(self):
        box = self.box(driver="subprocess")
        for ask in box.snapshot, box.fork:
            with self.assertRaises(atoll.UnsupportedError) as raised:
                ask()
            self.assertTrue(raised.exception.hint)

    def test_changes_in_copies_of_host_directories(self):
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o777)
            pathlib.Path(directory, "old").write_text("old")
            box = self.box(host_dirs=[{"path": directory, "guest_path": "/data", "access": "cow"}])
            box.exec("rm /data/old; echo new > /data/new").check()
            changes = {change["path"]: change["change"] for change in box.diff()["changes"]}
        self.assertEqual(changes, {"/data/old": "deleted", "/data/new": "added"})


class Files(Live):
    def setUp(self):
        self.files = self.box().files

    def test_one(self):
        info = self.files.write("a/b.txt", "häl", mode=0o600)
        self.assertEqual((info["size"], info["mode"]), (4, "0600"))
        self.assertEqual(self.files.read_text("a/b.txt"), "häl")
        self.assertEqual(self.files.read("a/b.txt", offset=1, length=2), "ä".encode())
        self.assertEqual(self.files.stat("a/b.txt")["kind"], "file")
        self.assertEqual([entry["name"] for entry in self.files.list("a")["entries"]], ["b.txt"])
        self.files.move("a/b.txt", "c.txt")
        self.assertEqual((self.files.exists("a/b.txt"), self.files.exists("c.txt")), (False, True))
        self.files.remove("c.txt")
        self.files.mkdir("x/y/z")
        with self.assertRaises(atoll.AtollError):
            self.files.remove("x")
        self.files.remove("x", recursive=True)
        self.assertFalse(self.files.exists("x"))

    def test_a_name_that_is_not_text(self):
        self.files.write(b"\xff", "x")
        self.assertEqual(self.files.read(b"\xff"), b"x")
        self.assertIn("name_b64", self.files.list()["entries"][0])

    def test_who_was_faster(self):
        first = self.files.write("n", "1")
        self.files.write("n", "2", if_match=first["etag"])
        for data in b"3", b"3" * 20_000_000, iter([b"3" * 1_000_000] * 20):
            with self.assertRaises(atoll.ConflictError) as raised:
                self.files.write("n", data, if_match=first["etag"])
            self.assertEqual(raised.exception.code, "precondition_failed")
        self.assertEqual(self.files.read("n"), b"2")

    def test_many(self):
        answer = self.files.write_many({"src/a.py": "print(1)\n", "src/b/c.bin": b"\xff"})
        self.assertEqual((answer["written"], answer["failed"]), (2, 0))
        found = self.files.find("src", name="*.py")
        self.assertEqual([entry["path"] for entry in found["entries"]], ["src/a.py"])
        matches = self.files.grep("PRINT", "src", ignore_case=True)["matches"]
        self.assertEqual([(match["path"], match["line"]) for match in matches], [("src/a.py", 1)])

    def test_archives(self):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            entry = tarfile.TarInfo("d/hello")
            entry.size = 5
            archive.addfile(entry, io.BytesIO(b"hello"))
        packed.seek(0)
        self.assertEqual(self.files.write_archive(packed, "in")["entries"], 1)
        with self.files.read_archive("in") as answer, tarfile.open(fileobj=io.BytesIO(answer.read())) as archive:
            self.assertEqual(archive.extractfile("d/hello").read(), b"hello")

    def test_files_of_this_machine(self):
        data = os.urandom(5_000_000)
        with tempfile.TemporaryDirectory() as directory:
            local, back = pathlib.Path(directory, "local"), pathlib.Path(directory, "back")
            local.write_bytes(data)
            self.files.upload(str(local), "up/big", mode=0o755, part=2_000_000)
            self.assertEqual(self.files.stat("up/big")["mode"], "0755")
            self.files.download("up/big", str(back))
            self.assertTrue(back.read_bytes() == data)
            with self.assertRaises(atoll.NotFoundError):
                self.files.download("nobody", str(back))
            self.assertEqual(sorted(os.listdir(directory)), ["back", "local"])
            pathlib.Path(directory, "empty").touch()
            self.files.upload(str(pathlib.Path(directory, "empty")), "up/empty")
            self.assertEqual(self.files.read("up/empty"), b"")

    def test_more_than_was_asked_for(self):
        self.files.write("big", b"x" * 1_000_001)
        with self.assertRaises(atoll.TooLargeError):
            self.files.read("big", most=1_000_000)
        self.assertEqual(len(self.files.read("big")), 1_000_001)

    def test_watching(self):
        with self.files.watch(recursive=True) as watch:
            self.files.mkdir("seen")
            self.assertEqual([(event["type"], event["path"]) for event in [next(watch)]], [("created", "seen")])


class Ports(Live):
    def setUp(self):
        self.box_ = self.box()
        server = self.box_.spawn(["python3", "-c", SERVER])
        with server.output() as output:
            self.assertEqual(next(output).text, "listening\n")

    def test_a_connection(self):
        with self.box_.ports.dial(3000) as port:
            port.write(b"hello ")
            port.write_end()
            got = b""
            while piece := port.read():
                got += piece
        self.assertEqual(got, b"HELLO the end")

    def test_nobody_listens(self):
        with self.assertRaises(atoll.UnavailableError):
            self.box_.ports.dial(3999)

    def test_a_port_of_this_machine(self):
        with self.box_.ports.forward(3000) as forward:
            large = b"x" * 3_000_000
            for sent in b"a", large, b"b":
                with socket.create_connection((forward.host, forward.port), timeout=30) as visitor:
                    sender = threading.Thread(target=lambda: (visitor.sendall(sent), visitor.shutdown(socket.SHUT_WR)))
                    sender.start()
                    got = b""
                    while piece := visitor.recv(65536):
                        got += piece
                    sender.join()
                self.assertTrue(got == sent.upper() + b"the end")
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection((forward.host, forward.port))

    def test_a_port_that_leads_nowhere_says_why(self):
        with self.box_.ports.forward(3999) as forward:
            with socket.create_connection((forward.host, forward.port), timeout=30) as visitor:
                self.assertEqual(visitor.recv(1), b"")
            wait_until(lambda: forward.error, "the error is told")
            self.assertEqual(forward.error.code, "unavailable")


class Daemons(Live):
    def test_who_and_what(self):
        self.assertEqual(self.client.version()["api"], "v1")
        self.assertEqual(self.client.whoami()["subject"], "socket")
        self.assertGreater(self.client.limits()["ttl_s"], 0)
        self.assertIn("native", [driver["name"] for driver in self.client.drivers()])
        with self.client.api.metrics() as metrics:
            self.assertIn(b"atoll_", metrics.read())

    def test_keys(self):
        made = self.client.keys.create("viewer", tenant="team", label="for Ada", ttl_s=600)
        self.assertIn(made["id"], [key["id"] for key in self.client.keys.list()])
        url = f"unix:{self.daemon.socket_path}"
        with atoll.Client(url, api_key=made["key"]) as viewer:
            self.assertEqual(viewer.whoami()["role"], "viewer")
            with self.assertRaises(atoll.PermissionDeniedError):
                atoll.Sandbox.create(client=viewer)
            self.client.keys.revoke(made["id"])
            with self.assertRaises(atoll.UnauthenticatedError):
                viewer.whoami()

    def test_events_and_where_to_go_on(self):
        with self.client.events(runs=False) as events:
            box = self.box()
            seen = [next(events), next(events)]
            box.delete()
        self.assertEqual([event["state"] for event in seen], ["starting", "running"])
        with self.client.events(after=seen[0]["id"], sandbox=box.id) as again:
            self.assertEqual([next(again)["state"] for _ in range(3)], ["running", "stopping", "destroyed"])


class Faults(Live):
    """What goes wrong between a client and a daemon."""

    def test_a_sandbox_without_a_name_is_not_asked_for(self):
        with self.assertRaises(atoll.InvalidArgumentError) as raised:
            atoll.Sandbox.connect("", client=self.client)
        self.assertEqual((raised.exception.detail, raised.exception.stage), ("the sandbox's id or name is empty", "client"))

    def test_errors_have_a_class_for_each_family(self):
        box = self.box()
        cases = [
            (atoll.NotFoundError, "not_found", lambda: atoll.Sandbox.connect("nobody", client=self.client)),
            (atoll.InvalidArgumentError, "invalid_argument", lambda: atoll.Sandbox.create(client=self.client, ttl_s=0)),
            (atoll.ConflictError, "already_exists", lambda: atoll.Sandbox.create(client=self.client, name="twice", ttl_s=9)),
            (atoll.InvalidArgumentError, "range_not_satisfiable", lambda: box.files.read("x", offset=100)),
        ]
        self.box(name="twice")
        box.files.write("x", "x")
        for family, code, ask in cases:
            with self.subTest(code), self.assertRaises(family) as raised:
                ask()
            error = raised.exception
            self.assertTrue(error.code == code or family is atoll.ConflictError, error.code)
            self.assertTrue(error.request_id.startswith("req"), error.request_id)
            self.assertIn(error.detail, str(error))

    def test_every_code_of_the_api_has_a_family(self):
        import yaml
        text = yaml.safe_load((installed.ROOT / "docs/openapi.yaml").read_text())
        codes = text["components"]["schemas"]["Problem"]["properties"]["code"]["enum"]
        self.assertEqual(set(codes) - set(atoll.errors.FAMILIES), set())

    def test_a_code_of_next_year(self):
        meddler = self.meddle(problem(418, "of_next_year"))
        with atoll.Client(meddler.url, api_key=self.daemon.key) as client:
            with self.assertRaises(atoll.AtollError) as raised:
                client.version()
        error = raised.exception
        self.assertEqual((type(error), error.code, error.status, error.hint, error.stage, error.request_id),
                         (atoll.AtollError, "of_next_year", 418, "do otherwise", "request", "reqmeddled"))

    def test_fields_of_next_year_are_ignored(self):
        meddler = self.meddle(*[with_new_fields] * 6)
        with atoll.Client(meddler.url, api_key=self.daemon.key) as client:
            self.assertEqual(client.run(command="echo hi").stdout, "hi\n")
            box = atoll.Sandbox.create(client=client)
            self.daemon.made.add(box.id)
            self.assertEqual(box.exec("exit 3").exit_code, 3)
            box.files.write("a", "b")
            self.assertEqual(box.files.list()["entries"][0]["name"], "a")
            self.assertIn(box.id, [one.id for one in client.sandboxes()])
            box.delete()

    def test_no_daemon(self):
        with tempfile.TemporaryDirectory() as directory:
            with atoll.Client(state=directory, retries=0) as client, self.assertRaises(atoll.UnavailableError) as raised:
                client.version()
        self.assertEqual(raised.exception.stage, "connect")
        self.assertIn("atoll serve", raised.exception.hint)

    def test_a_silent_daemon(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            with atoll.Client(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2) as client:
                began = time.monotonic()
                with self.assertRaises(atoll.DeadlineExceededError) as raised:
                    client.version()
                self.assertLess(time.monotonic() - began, 5)
        self.assertIsInstance(raised.exception, TimeoutError)
        self.assertEqual(raised.exception.stage, "client")

    def test_somebody_who_is_no_daemon(self):
        for said in b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n":
            meddler = self.meddle(said)
            with atoll.Client(meddler.url) as client, self.assertRaises(atoll.InternalError):
                client.version()
        meddler = self.meddle(b"HTTP/1.1 502 X\r\nContent-Length: 5\r\n\r\noops\n")
        with atoll.Client(meddler.url, retries=0) as client, self.assertRaises(atoll.UnavailableError) as raised:
            client.version()
        self.assertIn("proxy", raised.exception.hint)

    def test_asking_again(self):
        too_many = problem(429, "resource_exhausted", Retry_After=0)
        meddler = self.meddle(too_many, too_many)
        with atoll.Client(meddler.url, api_key=self.daemon.key) as client:
            self.assertEqual(client.run(command="echo once").stdout, "once\n")
        self.assertEqual(len(meddler.seen), 3)

    def test_asking_again_has_an_end(self):
        meddler = self.meddle(*[problem(429, "resource_exhausted", Retry_After=0)] * 9)
        with atoll.Client(meddler.url, retries=2) as client, self.assertRaises(atoll.ResourceExhaustedError):
            client.version()
        self.assertEqual(len(meddler.seen), 3)
        meddler = self.meddle(problem(429, "resource_exhausted", Retry_After=1000))
        with atoll.Client(meddler.url, timeout=5) as client, self.assertRaises(atoll.ResourceExhaustedError) as raised:
            client.version()
        self.assertEqual((len(meddler.seen), raised.exception.retry_after), (1, 1000))

    def test_a_lost_answer_makes_no_second_sandbox(self):
        meddler = self.meddle(cut_in_half)
        with atoll.Client(meddler.url, api_key=self.daemon.key) as client:
            box = atoll.Sandbox.create(client=client, labels={"lost": "yes"})
            self.daemon.made.add(box.id)
            self.assertEqual([one.id for one in self.client.sandboxes(labels={"lost": "yes"})], [box.id])
            keys = [headers["Idempotency-Key"] for _, path, headers, _ in meddler.seen if path == "/v1/sandboxes"]
            self.assertEqual((len(keys), len(set(keys))), (2, 1))
            box.delete()

    def test_a_lost_answer_to_a_command_is_an_error(self):
        box = self.box()
        meddler = self.meddle(cut_in_half)
        with atoll.Client(meddler.url, api_key=self.daemon.key) as client:
            with self.assertRaises(atoll.ConnectionLostError):
                atoll.Sandbox(client, box.info).exec("echo x >> count")
        self.assertEqual(len(meddler.seen), 1)
        self.assertEqual(box.files.read("count"), b"x\n")

    def test_tls(self):
        with tempfile.TemporaryDirectory() as directory:
            path, context = certificate(directory)
            meddler = self.meddle(tls=context)
            with atoll.Client(meddler.url, api_key=self.daemon.key, tls=ssl.create_default_context(cafile=path)) as client:
                self.assertEqual(client.run(command=["cat"], stdin="x" * 1_000_000).stdout, "x" * 1_000_000)
                self.assertEqual(client.whoami()["role"], "admin")
            with atoll.Client(meddler.url, retries=0) as client, self.assertRaises(atoll.UnavailableError) as raised:
                client.version()
            self.assertIn("certificate", str(raised.exception).lower())

    def test_threads_share_a_client(self):
        failed = []

        def one(number):
            try:
                if self.client.run(command=["echo", str(number)]).stdout != f"{number}\n":
                    failed.append(number)
            except atoll.AtollError as error:
                failed.append(error)

        threads = [threading.Thread(target=one, args=(number,)) for number in range(20)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        self.assertEqual(failed, [])

    def test_times_that_are_none(self):
        with self.assertRaises(ValueError):
            self.client.api.version(timeout=-1)
        with self.assertRaises(ValueError):
            self.box().exec("true", timeout=0)
        self.assertTrue(self.box().exec("true", timeout=math.inf).ok)


class Restarts(unittest.TestCase):
    def test_a_daemon_that_comes_back(self):
        daemon = Daemon().start()
        self.addCleanup(daemon.end)
        with atoll.Client(state=daemon.state) as client:
            box = atoll.Sandbox.create(client=client)
            daemon.made.add(box.id)
            process = box.spawn("for n in 1 2 3; do read x; echo $n; done", stdin_open=True)
            process.write("x\n")
            with client.events(sandbox=box.id) as events:
                box.pause()
                self.assertEqual(next(events)["state"], "paused")
                daemon.kill()
                daemon.start()
                box.resume()  # the first call on a connection whose other end is gone
                self.assertEqual(next(events)["type"], "reset")
                wait_until(lambda: next(events)["state"] == "running", "the event after the restart comes")
            process.write("x\nx\n", eof=True)
            self.assertEqual(process.wait().stdout, "1\n2\n3\n")
            box.delete()

    def test_who_waits_for_a_daemon_that_starts(self):
        daemon = Daemon()
        self.addCleanup(daemon.end)
        starter = threading.Timer(0.3, daemon.start)
        starter.start()
        self.addCleanup(starter.join)
        os.makedirs(daemon.state, exist_ok=True)
        with atoll.Client(state=daemon.state, retries=6) as client:
            self.assertEqual(client.version()["api"], "v1")


class Targets(unittest.TestCase):
    def find(self, url=None, key=None, state=None, **environment):
        found = _target.find(url, key, state, environment=environment)
        return str(found), found.key

    def test_as_the_command_line_finds_it(self):
        with tempfile.TemporaryDirectory() as state:
            pathlib.Path(state, "admin.key").write_text("atk_file\n")
            local, far = "http://127.0.0.1:7070", "http://example.org:7070"
            self.assertEqual(self.find(local, ATOLL_API_KEY="k"), (local, "k"))
            self.assertEqual(self.find(ATOLL_URL=local, ATOLL_API_KEY="k"), (local, "k"))
            self.assertEqual(self.find(far, "mine", ATOLL_URL=local, ATOLL_API_KEY="k"), (far, "mine"))
            self.assertEqual(self.find(state=state, ATOLL_URL=far), (f"unix:{state}/atoll.sock", ""))
            self.assertEqual(self.find(ATOLL_STATE=state), (f"unix:{state}/atoll.sock", ""))
            self.assertEqual(self.find(local, ATOLL_STATE=state), (local, "atk_file"))
            self.assertEqual(self.find(far, state=state), (far, "atk_file"))
            self.assertEqual(self.find("unix:/run/x.sock"), ("unix:/run/x.sock", ""))
            self.assertEqual(self.find("https://h/atoll/", "k"), ("https://h/atoll", "k"))
            self.assertEqual(self.find("http://[::1]:80", "k"), ("http://[::1]", "k"))
        for url in "ftp://x", "example.org", "http://":
            with self.assertRaises(atoll.InvalidArgumentError):
                self.find(url)
        for key in "a b", "a\r\nX-Y: z", "ä":
            with self.assertRaises(atoll.InvalidArgumentError):
                self.find("unix:/x", key)

    def test_a_key_never_goes_to_a_host_that_it_is_not_for(self):
        with tempfile.TemporaryDirectory() as home:
            directory = pathlib.Path(home, ".local/state/atoll")
            directory.mkdir(parents=True)
            (directory / "admin.key").write_text("atk_file\n")
            if os.geteuid() != 0:
                self.assertEqual(self.find("http://127.0.0.1:1", HOME=home)[1], "atk_file")
            self.assertEqual(self.find("http://example.org", HOME=home)[1], "")

    def test_a_long_path(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, *["long" * 20] * 3)
            os.makedirs(path)
            os.chmod(directory, 0o711)
            daemon = Daemon(state=path).start()
            self.addCleanup(daemon.end)
            with atoll.Client(state=path) as client:
                self.assertEqual(client.version()["api"], "v1")
            daemon.terminate()


if __name__ == "__main__":
    unittest.main()
