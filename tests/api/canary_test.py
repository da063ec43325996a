"""What is secret stays where it belongs: marks in environment values, stdin, file contents, output, keys and tokens are looked
for in everything that the daemon writes, at its most talkative, and in the rows of its store."""

import base64
import json
import os
import pathlib
import secrets
import subprocess
import unittest

from live import ATOLL, Daemon

DRIVER = "native" if os.geteuid() == 0 else "rootless"


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


class Canary(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.daemon.start(env={"ATOLL_LOG": "debug"})
        self.addCleanup(self.daemon.end)
        self.marks = {}

    def mark(self, what):
        """A new one for each place, so that a find tells where it came from."""
        self.marks[what] = "canary" + secrets.token_hex(12)
        return self.marks[what]

    def tell(self, method, path, body=None, headers=None):
        return self.daemon.call(method, path, body, headers)

    def run_through_everything(self):
        mark = self.mark
        box = self.daemon.create(driver=DRIVER, name="canary", env={"SECRET": mark("env of a sandbox")})
        at = f"/v1/sandboxes/{box}"
        done = self.daemon.exec(box, "sh", "-c", "cat; echo $SECRET $OTHER; echo $OTHER >&2",
                                env={"OTHER": mark("env of a command")}, stdin=mark("stdin"))
        self.assertEqual(done["exit_code"], 0, done)
        # They did arrive, so the search below looks for something that was there.
        for what in ("env of a sandbox", "env of a command", "stdin"):
            self.assertIn(self.marks[what], done["stdout"])
        self.assertEqual(self.tell("PUT", f"{at}/files?path=f", mark("contents of a file").encode()).status // 100, 2)
        self.assertIn(self.marks["contents of a file"], self.tell("GET", f"{at}/files?path=f").body.decode())
        started = self.daemon.start_process(box, "cat")
        self.tell("POST", f"{at}/processes/{started['process']}/stdin", mark("stdin later").encode())
        self.tell("GET", f"{at}/logs")
        run = {"sandbox": {"driver": DRIVER, "env": {"S": mark("env of a run")}},
               "exec": {"argv": ["cat"], "stdin_b64": base64.b64encode(mark("stdin of a run").encode()).decode()}}
        self.assertEqual(self.tell("POST", "/v1/runs", run).status, 200)
        code = {"sandbox": {"driver": DRIVER, "files": {"g": mark("a first file")}}, "code": "# " + mark("code") + "\nprint(open('f').read())",
                "files": {"f": mark("a file beside code")}}
        self.assertIn(self.marks["a file beside code"], self.tell("POST", "/v1/runs", code).json["stdout"])
        first = self.daemon.create(driver=DRIVER, name="canary-files", files={"f": mark("a first file of a sandbox")})
        self.assertIn(self.marks["a first file of a sandbox"], self.daemon.exec(first, "cat", "f")["stdout"])
        batch = {"sandbox": {"driver": DRIVER, "env": {"S": mark("env of a batch")}},
                 "runs": [{"argv": ["cat"], "stdin": mark("stdin of a batch")}]}
        self.assertEqual(self.tell("POST", "/v1/runs:batch", batch).status, 200)
        self.tell("POST", "/v1/sandboxes:explain", {"driver": DRIVER, "env": {"S": mark("env that is explained")}})
        self.tell("POST", "/v1/sandboxes", {"driver": DRIVER, "name": "canary", "env": {"SECRET": mark("env that differs")}})
        self.tell("POST", f"{at}/recreate")
        return box

    def send_what_is_wrong(self, box):
        """Errors quote what was wrong, and errors are logged."""
        mark, at = self.mark, f"/v1/sandboxes/{box}"
        wrong = [
            {"env": {"S": [mark("env that is a list")]}},
            {"env": mark("env that is text")},
            {"env": {"BAD=NAME": mark("env with a bad name")}},
            {"env": {"S": mark("env with a NUL") + "\0"}},
            {"files": {"a": [mark("a file that is a list")]}},
            {"files": {"a": mark("a file beside a bad one"), "b/": ""}},
            {"files_b64": {"a": mark("a file that is no base64") + "!"}},
        ]
        for body in wrong:
            answer = self.tell("POST", "/v1/sandboxes", body)
            self.assertEqual(answer.status, 400, answer)
            self.assertEqual(self.tell("POST", "/v1/runs", {"sandbox": body, "exec": {"argv": ["true"]}}).status, 400)
        for body in ({"argv": ["true"], "stdin": {"a": mark("stdin that is an object")}},
                     {"argv": ["true"], "stdin_b64": mark("stdin that is no base64") + "!"},
                     {"argv": ["true"], "env": {"S": {"x": mark("env of a command that is an object")}}}):
            self.assertEqual(self.tell("POST", f"{at}/exec", body).status, 400, body)
        cut = json.dumps({"env": {"S": mark("env of a body that is cut off")}})[:-3]
        self.assertEqual(self.tell("POST", "/v1/sandboxes", cut.encode()).status, 400)
        self.tell("PUT", f"{at}/files?path=f/below/a/file", mark("contents that cannot be written").encode())

    def use_keys(self, box):
        at = f"/v1/sandboxes/{box}"
        made = self.tell("POST", "/v1/keys", {"role": "agent", "tenant": "acme", "label": "canary"}).json
        token = self.tell("POST", f"{at}/token", {}).json["token"]
        self.marks["a key"], self.marks["a token"] = made["key"][4:], token.rsplit(".", 1)[1]
        self.marks["the first key"] = self.daemon.key[4:]
        for key in (made["key"], token, self.daemon.key):
            self.assertEqual(self.tell("GET", "/v1/whoami", headers=bearer(key)).status, 200)
            self.assertEqual(self.tell("GET", "/v1/whoami", headers={"X-API-Key": key}).status, 200)
            # Where they do not belong.
            self.tell("DELETE", f"/v1/keys/{key}")
            self.tell("GET", f"/v1/sandboxes/{key}")
            self.tell("GET", f"/{key}")
            self.tell("GET", f"/v1/sandboxes?key={key}")
            self.tell("GET", "/v1/whoami", headers={"Authorization": f"Basic {key}"})
        wrong = "atk_" + self.mark("a wrong key").ljust(43, "0")
        self.tell("GET", "/v1/whoami", headers=bearer(wrong))
        done = subprocess.run([ATOLL, "keys", "create", "--role", "viewer"], capture_output=True, text=True, timeout=60,
                              env={"HOME": "/", "PATH": os.environ["PATH"], "ATOLL_STATE": self.daemon.state})
        self.marks["a key of the command line"] = done.stdout.strip()[4:]
        self.assertEqual(len(self.marks["a key of the command line"]), 43)

    def files(self):
        """Everything that the daemon and the launcher write, but the key file and what is the sandboxes' own."""
        yield pathlib.Path(self.daemon.log_path)
        state = pathlib.Path(self.daemon.state)
        # What goes meanwhile is passed over, as sandboxes that were made ahead do when a daemon stops.
        for directory, below, names in os.walk(state):
            inside = pathlib.Path(directory).relative_to(state).parts
            if inside[:1] == ("run",):
                below[:] = [name for name in below if name != "box"]
            for path in sorted(pathlib.Path(directory, name) for name in names):
                if path != state / "admin.key" and path.is_file():
                    yield path

    def search(self, when):
        searched = set()
        for path in self.files():
            searched.add(path.name)
            content = path.read_bytes()
            for what, mark in self.marks.items():
                for form in (mark.encode(), base64.b64encode(mark.encode()).rstrip(b"=")[:-2]):
                    self.assertNotIn(form, content, f"{when}: {what} is in {path.name}")
        self.assertLessEqual({"atoll.db", "daemon.log"}, searched)
        return searched

    def test_secrets_are_nowhere(self):
        box = self.run_through_everything()
        self.send_what_is_wrong(box)
        self.use_keys(box)

        shown = [self.tell("GET", path).body.decode() for path in
                 ("/metrics", f"/v1/sandboxes/{box}", "/v1/sandboxes?tenant=*", "/v1/keys", "/v1/drivers", "/v1/limits",
                  "/v1/events?limit=1000", "/v1/traces?limit=100")]
        for what, mark in self.marks.items():
            for text in shown:
                self.assertNotIn(mark, text, what)
        self.assertIn("atoll.db-wal", self.search("while it runs"))
        self.assertIn(box, self.daemon.log(), "the log is the one that tells of it")

        self.daemon.terminate()
        self.search("after it has stopped")
        self.daemon.start(env={"ATOLL_LOG": "debug"})
        self.search("after it has come back")
        self.assertGreater(len(self.marks), 20)

    def test_the_search_finds_what_is_there(self):
        """What may be stored is found in the same files, so the search can fail."""
        name = "canary-" + secrets.token_hex(8)
        box = self.daemon.create(driver=DRIVER, labels={"mark": name})
        self.marks["a label, which is no secret"] = name
        with self.assertRaises(AssertionError):
            self.search("now")
        self.assertEqual(self.tell("DELETE", f"/v1/sandboxes/{box}").status, 204)


if __name__ == "__main__":
    unittest.main()
