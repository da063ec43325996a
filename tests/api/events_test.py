"""Events: what becomes of sandboxes, as it happens, and going on after a broken connection."""

import json
import pathlib
import subprocess
import unittest

from live import ATOLL, Daemon, files_of, wait_until


class Stream:
    """Events of one connection."""

    def __init__(self, daemon, query="", accept="application/x-ndjson", headers=None):
        self.connection = daemon.connection()
        self.connection.request("GET", "/v1/events" + query, headers={"Accept": accept, **(headers or {})})
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.read()

    def close(self):
        self.answer.close()
        self.connection.close()

    def next(self):
        """The next event of a stream of lines."""
        while True:
            line = self.answer.readline()
            assert line, "the stream has ended"
            if line.strip():
                return json.loads(line)

    def until(self, is_last):
        seen = []
        while not seen or not is_last(seen[-1]):
            seen.append(self.next())
        return seen

    def next_block(self):
        """The fields of the next server-sent event."""
        fields = {}
        while True:
            line = self.answer.readline().decode().rstrip("\n")
            if line.startswith(":"):
                continue
            if line == "" and "id" in fields:
                return fields
            name, _, value = line.partition(": ")
            if name:
                fields[name] = value


class Events(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon().start()
        self.addCleanup(self.daemon.end)

    def stream(self, *arguments, **more):
        stream = Stream(self.daemon, *arguments, **more)
        self.addCleanup(stream.close)
        return stream

    def life_of_one(self, **request):
        box = self.daemon.create(driver="native", **request)
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
        return box

    def test_a_life_is_told_from_its_first_moment_to_its_last(self):
        stream = self.stream()
        box = self.life_of_one(name="one")
        seen = [e for e in stream.until(lambda e: e["state"] == "destroyed") if e["sandbox"] == box]
        self.assertEqual([e["state"] for e in seen], ["starting", "running", "stopping", "destroyed"])
        self.assertEqual([e["from"] for e in seen], ["pending", "starting", "running", "stopping"])
        self.assertEqual({(e["name"], e["driver"]) for e in seen}, {("one", "native")})
        self.assertEqual([e["type"] for e in seen], ["sandbox." + e["state"] for e in seen])

    def test_a_client_that_was_cut_off_goes_on_where_it_was(self):
        first = self.stream()
        self.life_of_one(name="before")
        seen = first.until(lambda e: e["state"] == "running")
        first.close()
        self.life_of_one(name="meanwhile")
        rest = self.stream("?after=" + seen[-1]["id"]).until(
            lambda e: e.get("name") == "meanwhile" and e["state"] == "destroyed")
        self.assertEqual([(e["name"], e["state"]) for e in seen[-1:] + rest],
                         [("before", "running"), ("before", "stopping"), ("before", "destroyed"), ("meanwhile", "starting"),
                          ("meanwhile", "running"), ("meanwhile", "stopping"), ("meanwhile", "destroyed")])

    def test_browsers_get_their_own_form_and_resume_by_header(self):
        stream = self.stream("?runs=false", accept="text/event-stream")
        self.life_of_one()
        block = stream.next_block()
        self.assertEqual((block["event"], json.loads(block["data"])["id"]), ("sandbox.starting", block["id"]))
        stream.close()
        again = self.stream(accept="text/event-stream", headers={"Last-Event-ID": block["id"]})
        self.assertEqual(again.next_block()["event"], "sandbox.running")

    def test_whoever_listened_to_an_earlier_daemon_is_told_so(self):
        stream = self.stream()
        self.life_of_one()
        last = stream.until(lambda e: e["state"] == "destroyed")[-1]["id"]
        stream.close()
        self.daemon.kill()
        self.daemon.start()
        again = self.stream("?after=" + last)
        self.assertEqual(again.next()["type"], "reset")
        box = self.life_of_one()
        self.assertEqual(again.until(lambda e: e["state"] == "destroyed")[-1]["sandbox"], box)

    def test_pages_hold_what_is_kept(self):
        boxes = [self.life_of_one() for _ in range(3)]
        seen, after = [], "0"
        while True:
            page = self.daemon.call("GET", f"/v1/events?limit=5&after={after}").json
            self.assertFalse(page["reset"])
            if not page["events"]:
                break
            self.assertLessEqual(len(page["events"]), 5)
            seen += page["events"]
            after = page["last"]
        self.assertEqual([e["sandbox"] for e in seen if e["state"] == "destroyed"], boxes)

    def test_only_what_was_asked_for(self):
        box = self.life_of_one(name="wanted")
        self.life_of_one(name="other")
        self.daemon.call("POST", "/v1/runs", {"sandbox": {"driver": "native"}, "exec": {"argv": ["true"]}})
        def states(query):
            return [(e.get("name"), e["state"]) for e in self.daemon.call("GET", "/v1/events?" + query).json["events"]]
        self.assertEqual(states("sandbox=wanted&state=running"), [("wanted", "running")])
        self.assertEqual(states(f"sandbox={box}&state=destroyed"), [("wanted", "destroyed")])
        self.assertEqual(states("runs=false&state=running"), [("wanted", "running"), ("other", "running")])
        self.assertEqual(len(states("state=running")), 3)

    def test_an_expired_sandbox_says_so(self):
        stream = self.stream("?state=destroyed")
        self.daemon.create(driver="native", ttl_s=1)
        self.assertEqual(stream.next()["reason"], "expired")

    def test_what_is_wrong_is_said(self):
        for query, word in [("after=nonsense", "after"), ("after=x-1x", "after"), ("state=odd", "state"), ("limit=1001", "limit"),
                            ("until=1", "until")]:
            with self.subTest(query):
                answer = self.daemon.call("GET", "/v1/events?" + query)
                self.assertEqual(answer.status, 400)
                self.assertIn(word, answer.json["detail"])

    def test_listeners_that_leave_are_forgotten(self):
        def connections():
            """Accepted sockets of the daemon: its other descriptors come and go with what it makes ahead."""
            rows = [line.split() for line in pathlib.Path("/proc/net/unix").read_text().splitlines()]
            # Connected, and with a path: that of the socket which was listening.
            accepted = {f"socket:[{row[6]}]" for row in rows if len(row) == 8 and row[5] == "03"}
            return len(accepted.intersection(files_of(self.daemon.process.pid)))
        streams = [Stream(self.daemon) for _ in range(20)]
        self.assertGreaterEqual(connections(), 20)
        for stream in streams:
            stream.close()
        wait_until(lambda: connections() == 0, "the daemon lets go of them", seconds=10)

    def test_on_the_command_line(self):
        self.life_of_one(name="shown")
        def atoll(*arguments):
            done = subprocess.run([ATOLL, "events", "--state", self.daemon.state, *arguments], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done)
            return done.stdout.splitlines()
        lines = atoll("--once", "--box", "shown")
        self.assertEqual(len(lines), 4)
        self.assertIn("starting → running    shown", lines[1])
        first = json.loads(atoll("--once", "--json", "--into", "running", "--no-runs")[0])
        self.assertEqual(first["name"], "shown")
        rest = atoll("--once", "--after", first["id"], "--box", "shown")
        self.assertEqual(len(rest), 2)
        with subprocess.Popen([ATOLL, "events", "--state", self.daemon.state, "--after", "0"], stdout=subprocess.PIPE, text=True) as follower:
            self.assertIn("shown", follower.stdout.readline())
            follower.terminate()
            follower.wait(timeout=20)

    def test_the_command_line_goes_on_with_the_next_daemon(self):
        self.life_of_one(name="before")
        with subprocess.Popen([ATOLL, "events", "--state", self.daemon.state, "--after", "0", "--into", "running"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as follower:
            self.addCleanup(follower.kill)
            self.assertIn("before", follower.stdout.readline())
            self.daemon.kill()
            self.assertIn("has stopped", follower.stderr.readline())
            self.daemon.start()
            self.assertIn("is back", follower.stderr.readline())
            self.life_of_one(name="after")
            lines = [follower.stdout.readline()]
            if "missing" in lines[0]:
                lines.append(follower.stdout.readline())
            self.assertIn("after", lines[-1])
            follower.terminate()
            follower.wait(timeout=20)


if __name__ == "__main__":
    unittest.main()
