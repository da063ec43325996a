"""Clients of every kind at work on one daemon, each with a fixed order of things to do.

Each thing to do is one method of Client and leaves nothing: what it has made, it removes, or the daemon must. An answer
that is not the expected one is noted, and the soak fails with it.
"""

import collections
import contextlib
import io
import json
import random
import tarfile
import threading
import traceback
import urllib.parse

from live import wait_until
from websocket import TEXT, WebSocket

DRIVERS = ("native", "native", "native", "subprocess", "local")
LISTENER = """
import socket
listener = socket.socket(); listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(('127.0.0.1', 3000)); listener.listen(5)
while True:
    visitor = listener.accept()[0]
    visitor.sendall(visitor.recv(100)); visitor.close()
"""


def archive_of(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


class Client:
    def __init__(self, daemon, seed):
        self.daemon, self.dice = daemon, random.Random(seed)

    # What the things to do are made of.

    def ask(self, expected, method, path, body=None, headers=None):
        answer = self.daemon.call(method, path, body, headers)
        assert answer.status in (expected if isinstance(expected, tuple) else (expected,)), f"{method} {path}: {answer}"
        return answer

    @contextlib.contextmanager
    def box(self, **request):
        box = self.ask(201, "POST", "/v1/sandboxes", {"driver": self.dice.choice(DRIVERS), **request}).json["id"]
        try:
            yield f"/v1/sandboxes/{box}"
        finally:
            self.ask(204, "DELETE", f"/v1/sandboxes/{box}")

    def exec(self, box, command, **more):
        return self.ask(200, "POST", box + "/exec", {"command": command, **more}).json

    @contextlib.contextmanager
    def stream(self, method, path, body=None):
        """An answer of lines; whoever leaves the block has vanished."""
        connection = self.daemon.connection()
        try:
            connection.request(method, path, json.dumps(body) if body else None,
                               {"Accept": "application/x-ndjson", "Content-Type": "application/json"})
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            yield answer
            answer.close()
        finally:
            connection.close()

    # The things to do.

    def run_something(self):
        argv, code = self.dice.choice([(["true"], 0), (["false"], 1), (["no-such-program"], 127), (["sh", "-c", "kill -9 $$"], 137)])
        answer = self.ask(200, "POST", "/v1/runs", {"sandbox": {"driver": self.dice.choice(DRIVERS)}, "exec": {"argv": argv}})
        assert answer.json["exit_code"] == code, answer

    def run_into_a_timeout(self):
        answer = self.ask(200, "POST", "/v1/runs", {"exec": {"command": "sleep 100 & sleep 100", "timeout_ms": 100}})
        assert answer.json["reason"] == "timeout", answer

    def run_python(self):
        answer = self.ask(200, "POST", "/v1/runs", {"exec": {"argv": ["python3", "-c", "print(6 * 7)"]}})
        assert answer.json["stdout"] == "42\n", answer

    def run_a_batch(self):
        answer = self.ask(200, "POST", "/v1/runs:batch", {"concurrency": 4, "runs": [{"argv": ["true"]}, {"argv": ["false"]}] * 4})
        assert len(answer.json["runs"]) == 8, answer

    def exec_and_stream(self):
        with self.box() as box, self.stream("POST", box + "/exec", {"command": "seq 20000; echo err >&2; exit 3"}) as lines:
            last = [json.loads(line) for line in iter(lines.readline, b"")][-1]
            assert last["exit_code"] == 3, last

    def vanish_while_output_comes(self):
        with self.box() as box, self.stream("POST", box + "/exec?on_disconnect=kill", {"command": "yes"}) as lines:
            assert json.loads(lines.readline())["type"] == "start"

    def vanish_from_a_run(self):
        with self.stream("POST", "/v1/runs", {"exec": {"command": "echo up; sleep 1000"}}) as lines:
            while json.loads(lines.readline())["type"] != "stdout":
                pass

    def vanish_in_an_upload(self):
        with self.box() as box:
            connection = self.daemon.connection()
            connection.putrequest("PUT", box + "/files?path=half")
            connection.putheader("Content-Length", "1000000")
            connection.endheaders(b"x" * 300_000)
            connection.close()

    def type_into_a_terminal(self):
        with self.box() as box, WebSocket(self.daemon.connection(), box + "/exec") as socket:
            socket.send({"exec": {"argv": ["sh"], "tty": {"rows": 30, "cols": 90}}})
            socket.send({"resize": {"rows": 40, "cols": 100}})
            socket.send(b"stty size; exit 4\n")
            output, lines, _ = socket.until_end()
            assert lines[-1]["exit_code"] == 4, (output, lines)

    def vanish_from_a_terminal(self):
        with self.box() as box, WebSocket(self.daemon.connection(), box + "/exec") as socket:
            socket.send({"exec": {"argv": ["cat"], "tty": {}}})
            assert socket.receive()[0] == TEXT

    def send_files(self):
        data = self.dice.randbytes(self.dice.choice([10, 5_000, 400_000]))
        with self.box() as box:
            self.ask(200, "PUT", box + "/files?path=a/b/file&parents=true", data)
            assert self.ask(200, "GET", box + "/files?path=a/b/file").body == data
            self.ask(206, "GET", box + "/files?path=a/b/file", headers={"Range": "bytes=2-5"})
            self.ask(200, "GET", box + "/files/list?path=a")
            self.ask(404, "GET", box + "/files?path=nothing")

    def send_archives(self):
        files = {f"d{i}/f{i}": self.dice.randbytes(1_000) for i in range(30)}
        with self.box() as box:
            self.ask(200, "PUT", box + "/files/tar?path=in", archive_of(files))
            with tarfile.open(fileobj=io.BytesIO(self.ask(200, "GET", box + "/files/tar?path=in").body)) as tar:
                assert sum(member.isfile() for member in tar) == 30

    def search_files(self):
        with self.box() as box:
            self.exec(box, "mkdir x; for i in 1 2 3 4 5; do echo word $i > x/$i.txt; done")
            assert len(self.ask(200, "GET", box + "/files/find?path=x&name=*.txt").json["entries"]) == 5
            self.ask(200, "GET", box + "/files/grep?" + urllib.parse.urlencode({"path": "x", "pattern": "word 3"}))

    def watch_files(self):
        with self.box(driver=self.dice.choice(["native", "local"])) as box, self.stream("GET", box + "/files/watch?recursive=true") as lines:
            lines.readline()
            self.exec(box, "echo x > seen")
            while json.loads(lines.readline()).get("path") != "seen":
                pass

    def follow_events(self):
        with self.stream("GET", "/v1/events?runs=false") as lines, self.box() as box:
            while not (line := lines.readline()).strip() or json.loads(line).get("sandbox") != box.split("/")[-1]:
                assert line, "the stream of events has ended"

    def follow_a_log(self):
        with self.box() as box:
            with self.stream("POST", box + "/exec", {"command": "echo one; sleep 100"}) as lines:
                lines.readline()
            with self.stream("GET", box + "/logs?follow=true") as lines:
                assert lines.readline() == b"one\n"

    def dial_a_port(self):
        with self.box(driver="native") as box:
            with self.stream("POST", box + "/exec", {"argv": ["python3", "-c", LISTENER]}) as lines:
                lines.readline()
            assert wait_until(lambda: self.say(box + "/ports/3000", b"hello"), "the port answers") == b"hello"

    def say(self, path, word):
        connection = self.daemon.connection()
        try:
            connection.request("GET", path, headers={"Upgrade": "tcp", "Connection": "Upgrade"})
            answer = connection.getresponse()
            if answer.status != 101:
                answer.read()
                return None
            connection.sock.sendall(word)
            return answer.fp.read(len(word))
        finally:
            connection.close()

    def make_keys(self):
        key = self.ask(201, "POST", "/v1/keys", {"role": "agent", "tenant": f"soak{self.dice.randrange(4)}"}).json
        self.ask(200, "GET", "/v1/whoami", headers={"Authorization": "Bearer " + key["key"]})
        self.ask(204, "DELETE", "/v1/keys/" + key["id"])
        # Who comes too often with what is no key any more is held off.
        self.ask((401, 429), "GET", "/v1/whoami", headers={"Authorization": "Bearer " + key["key"]})

    def pause_and_resume(self):
        with self.box(driver="native") as box:
            self.ask(200, "POST", box + "/pause")
            self.ask(409, "POST", box + "/exec", {"command": "true"})
            self.ask(200, "POST", box + "/resume")
            assert self.exec(box, "echo on")["stdout"] == "on\n"

    def stop_and_start(self):
        with self.box() as box:
            self.exec(box, "echo kept > file; sleep 100 &")
            self.ask(200, "POST", box + "/stop")
            self.ask(200, "POST", box + "/start")
            assert self.exec(box, "cat file")["stdout"] == "kept\n"
            self.ask(200, "POST", box + "/renew", {"ttl_s": 100})

    def hit_limits(self):
        with self.box(driver="native", resources={"memory_mb": 64, "pids": 16}) as box:
            loud = self.exec(box, "yes", output_limit=100_000)
            assert loud["limit"] == "output", loud
            hungry = self.exec(box, "python3 -c 'x = bytearray(400 << 20)'", timeout_ms=20_000)
            assert hungry["exit_code"] != 0, hungry
            self.exec(box, "for i in $(seq 40); do sleep 100 & done", timeout_ms=20_000)

    def ask_for_what_is_not_there(self):
        self.ask(404, "GET", "/v1/sandboxes/nobody")
        self.ask(404, "POST", "/v1/sandboxes", {"driver": "nothing"})
        self.ask(400, "POST", "/v1/sandboxes", {"ttl_s": -1})
        self.ask(404, "GET", "/v1/nothing")

    def repeat_a_create(self):
        headers = {"Idempotency-Key": f"soak-{self.dice.getrandbits(64)}"}
        first = self.ask(201, "POST", "/v1/sandboxes", {"driver": "local"}, headers).json["id"]
        assert self.ask(201, "POST", "/v1/sandboxes", {"driver": "local"}, headers).json["id"] == first
        self.ask(204, "DELETE", f"/v1/sandboxes/{first}")

    def leave_one_to_expire(self):
        self.ask(201, "POST", "/v1/sandboxes", {"driver": self.dice.choice(DRIVERS), "ttl_s": 2})

    def page_through(self):
        cursor = ""
        for _ in range(100):
            page = self.ask(200, "GET", "/v1/sandboxes?limit=2" + cursor).json
            if not page.get("next_cursor"):
                return
            cursor = "&cursor=" + urllib.parse.quote(page["next_cursor"])

    def look_around(self):
        for path in ("/v1/traces?limit=20", "/metrics", "/v1/limits", "/v1/drivers", "/v1/keys", "/v1/events?limit=100"):
            self.ask(200, "GET", path)


# How often each is done, by weight.
THINGS = {
    Client.run_something: 10, Client.run_into_a_timeout: 2, Client.run_python: 3, Client.run_a_batch: 2,
    Client.exec_and_stream: 4, Client.vanish_while_output_comes: 3, Client.vanish_from_a_run: 3,
    Client.vanish_in_an_upload: 2, Client.type_into_a_terminal: 3, Client.vanish_from_a_terminal: 2,
    Client.send_files: 5, Client.send_archives: 3, Client.search_files: 2, Client.watch_files: 2, Client.follow_events: 2,
    Client.follow_a_log: 2, Client.dial_a_port: 2, Client.make_keys: 2, Client.pause_and_resume: 3, Client.stop_and_start: 2,
    Client.hit_limits: 1, Client.ask_for_what_is_not_there: 2, Client.repeat_a_create: 1, Client.leave_one_to_expire: 2,
    Client.page_through: 2, Client.look_around: 2,
}


class Load:
    """Some clients, each in a thread of its own, that can be held still for a look."""

    def __init__(self, daemon, clients, seed):
        self.done, self.failures = collections.Counter(), []
        self.lock, self.may_work = threading.Lock(), threading.Event()
        self.stopping, self.working = False, 0
        self.may_work.set()
        self.threads = [threading.Thread(target=self.work, args=(Client(daemon, seed + i), random.Random(seed + 100 + i)))
                        for i in range(clients)]
        for thread in self.threads:
            thread.start()

    def work(self, client, dice):
        things, weights = list(THINGS), list(THINGS.values())
        while not self.stopping:
            with self.lock:
                allowed = self.may_work.is_set()
                self.working += allowed
            if not allowed:
                self.may_work.wait()
                continue
            thing = dice.choices(things, weights)[0]
            try:
                thing(client)
            except Exception:  # whatever it was belongs into the report
                self.failures.append(f"{thing.__name__}: {traceback.format_exc(limit=-3)}")
            with self.lock:
                self.working -= 1
                self.done[thing.__name__] += 1

    @contextlib.contextmanager
    def held(self):
        """Nobody is in the middle of anything."""
        with self.lock:
            self.may_work.clear()
        wait_until(lambda: self.working == 0, "all clients are done with what they do", seconds=60)
        try:
            yield
        finally:
            self.may_work.set()

    def end(self):
        self.stopping = True
        self.may_work.set()
        for thread in self.threads:
            thread.join(timeout=120)
            assert not thread.is_alive(), "a client does not end"
