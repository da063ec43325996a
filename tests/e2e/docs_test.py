"""The examples of the documents, typed: every command of theirs works, and answers have the shape that is shown.

Each document has a daemon and a shell of its own. A command is typed as it stands, but for addresses and ids, which are those
that are real here. What is not typed stands in NOT_TYPED, with the test that does it instead.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

from live import ATOLL, Daemon, wait_until
from shell import Shell

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRIVER = "native" if os.geteuid() == 0 else "rootless"
KEY_ID, TRACE = "keyx3v9m2k7q1p", "4bf92f3577b34da6a3ce929d0e0e4736"

NOT_TYPED = {
    "./dev run": "it builds the project: guide_test.py types it, in a tree that is built",
    "./dev test": "it is what runs this test",
    "./dev build": "likewise",
    "atoll doctor --attack": "tests/security does, with every attack",
    "atoll doctor ": "what it finds depends on the host: doctor_test.py",
    "atoll serve": "each document has its daemon already: native_test.py, tenancy_test.py and trace_test.py start it so",
    "until test -s": "it waits for the daemon of the line before",
    "atoll exec -it": "it needs a terminal: terminal_test.py",
    "atoll port": "it goes on until it is stopped: port_test.py",
}


def fences(text):
    """(commands, the JSON that stands right behind them, or "") of each block of commands."""
    found = list(re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.S | re.M))
    for block, after in zip(found, found[1:] + [None]):
        if block[1] in ("sh", "console") and re.search(r"^(\w+=\$\()?(curl|atoll|\./dev) ", block[2], re.M):
            is_shown = after and after[1] == "json" and not text[block.end():after.start()].strip()
            yield block[2], after[2] if is_shown else ""


def commands_of(body):
    """One for each line; a backslash joins two. Comments on lines of their own are for people."""
    joined = body.replace("\\\n", " ")
    return [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]


def documents_in(text):
    """All JSON that a text has, whatever stands between; `…` in a document stands for more of the same."""
    text = re.sub(r",\s*…", "", text.replace("{…}", "{}"))
    decoder, found, at = json.JSONDecoder(), [], 0
    while (at := text.find("{", at)) >= 0:
        try:
            document, at = decoder.raw_decode(text, at)
            found.append(document)
        except ValueError:
            at += 1
    return found


def covers(told, shown):
    """Whether an answer has everything that the document shows: names, and kinds of values."""
    if isinstance(shown, dict):
        if not isinstance(told, dict) or shown.get("type") != told.get("type", shown.get("type")):
            return False
        return all(name in told and covers(told[name], value) for name, value in shown.items())
    if isinstance(shown, list):
        return isinstance(told, list) and all(any(covers(one, wanted) for one in told) for wanted in shown)
    if isinstance(shown, bool) or shown is None:
        return isinstance(told, type(shown))
    return isinstance(told, (int, float)) == isinstance(shown, (int, float))


class Documents(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(arguments=["--rate", "0"]).start()
        self.directory = tempfile.mkdtemp(prefix="atoll-docs-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.addCleanup(self.clean_up)
        address = re.search(r"http://([0-9.:]+)", self.daemon.log()).group(1)
        environment = {
            "PATH": os.path.dirname(os.path.abspath(ATOLL)) + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": self.directory, "LANG": "C.UTF-8", "ATOLL_STATE": self.daemon.state,
            "ATOLL_URL": f"http://{address}", "ATOLL_API_KEY": self.daemon.key}
        self.replaced = {"http://127.0.0.1:7070": f"http://{address}", "DIR/": self.daemon.state + "/",
                         "/tmp/atoll-state": self.daemon.state}
        self.shell = Shell(environment, self.directory)
        self.addCleanup(self.shell.end)
        # An answer that is a problem is a failure, as it would be for whoever reads on.
        self.shell.type('curl() { command curl --fail-with-body --max-time 60 "$@"; }')

    def clean_up(self):
        if self.daemon.process.poll() is not None:
            self.daemon.start()
        for box in self.daemon.call("GET", "/v1/sandboxes?tenant=*&limit=1000").json["sandboxes"]:
            self.daemon.call("DELETE", f"/v1/sandboxes/{box['id']}")
        self.daemon.end()

    def ask(self, method, path, body=None, headers=None):
        answer = self.daemon.call(method, path, body, headers)
        self.assertLess(answer.status, 300, (path, answer))
        return answer.json if answer.body else None

    def make_dev(self):
        self.ask("POST", "/v1/sandboxes", {"name": "dev", "ttl_s": 3600, "labels": {"team": "search"}},
                 {"Authorization": f"Bearer {self.daemon.key}"})

    def type(self, command):
        for shown, real in self.replaced.items():
            command = command.replace(shown, real)
        lines, code = self.shell.type(command)
        self.assertEqual(code, 0, (command, lines))
        return "\n".join(lines)

    def type_document(self, name, before=None, endless=None):
        """`before`: what must be there for a command that has these words. `endless`: what ends one that would not."""
        text, typed = (ROOT / name).read_text(), 0
        for body, answers in fences(text):
            said = ""
            for command in commands_of(body):
                if any(words in command + " " for words in NOT_TYPED):
                    continue
                with self.subTest(f"{name}: {command}"):
                    for words, prepare in (before or {}).items():
                        if words in command:
                            prepare()
                    follow = next((follow for words, follow in (endless or {}).items() if words in command), None)
                    said += (follow(command) if follow else self.type(command)) + "\n"
                    typed += 1
            told = documents_in(said)
            for shown in documents_in(answers):
                with self.subTest(f"{name}: {json.dumps(shown)[:100]}"):
                    self.assertTrue(any(covers(one, shown) for one in told), f"{shown}\nis not what came:\n{said}")
        return typed

    # docs/api.md

    def watch(self, command):
        """Types a command that does not end by itself, lets things happen, and reads until all of it was told."""
        for shown, real in self.replaced.items():
            command = command.replace(shown, real)
        command = command.replace("$ATOLL", os.environ.get("ATOLL", self.replaced["http://127.0.0.1:7070"]))
        command = command.replace('"$auth"', f'"Authorization: Bearer {self.daemon.key}"')
        headers = pathlib.Path(self.directory, "headers")
        headers.unlink(missing_ok=True)
        command = command.replace("curl ", f"curl --dump-header {headers} ", 1)
        process = subprocess.Popen(["bash", "-c", "exec " + command], stdout=subprocess.PIPE, text=True)
        deadline = threading.Timer(30, process.kill)
        deadline.start()
        try:
            return self.until_told(process, command, headers)
        finally:
            deadline.cancel()
            process.kill()
            process.wait()
            process.stdout.close()

    def until_told(self, process, command, headers):
        if "/v1/events" in command:
            wanted = 1
            wait_until(lambda: headers.exists() and "\n\n" in headers.read_text(), "the daemon tells from now on")
            self.ask("POST", "/v1/sandboxes", {"name": "heard"})
        else:
            wanted = 2
        said = ""
        for line in process.stdout:
            said += line
            told = documents_in(said)
            if told and told[-1]["type"] == "ready":
                self.ask("PUT", "/v1/sandboxes/dev/files?path=project/src/c.py", b"x")
                self.ask("POST", "/v1/sandboxes/dev/files/move", {"from": "project/src/c.py", "to": "project/src/d.py"})
            happened = [one for one in told if one["type"] in ("created", "moved", "sandbox.running")]
            if len({one["type"] for one in happened}) >= wanted:
                return said
        raise AssertionError(f"it ended: {command}: {said}")

    def revocable_key(self):
        self.replaced[KEY_ID] = self.ask("POST", "/v1/keys", {"role": "viewer"})["id"]

    def files_here(self):
        files = {"model.bin": b"m" * 5000, "big.bin": b"b" * (2 << 20), "part1": b"one\n", "part2": b"two\n"}
        for name, content in files.items():
            pathlib.Path(self.directory, name).write_bytes(content)
        pathlib.Path(self.directory, "src").mkdir(exist_ok=True)
        for name in ("a", "b"):
            pathlib.Path(self.directory, "src", f"{name}.py").write_text("print(1)\n")
        subprocess.run(["tar", "-C", self.directory, "-cf", os.path.join(self.directory, "image.tar"), "part1"], check=True)

    def something_to_make(self):
        self.ask("PUT", "/v1/sandboxes/dev/files?path=Makefile", b"all:\n\t@echo cc -c main.c\n")

    def process_that_reads(self):
        start = self.daemon.connection()
        start.request("POST", "/v1/sandboxes/dev/exec", json.dumps({"argv": ["cat"], "stdin_open": True}),
                      {"Accept": "application/x-ndjson"})
        number = json.loads(start.getresponse().readline())["process"]
        start.close()
        self.replaced["/processes/2/"] = f"/processes/{number}/"

    def first_half(self):
        self.ask("PUT", "/v1/sandboxes/dev/files?path=data/big.bin&upload=u7k2&offset=0&size=3221225472", b"b" * (1 << 20))

    def copy_of_a_project(self):
        project = pathlib.Path(self.directory, "project", "src")
        project.mkdir(parents=True)
        (project / "main.c").write_text("int main() {}\n")
        for path in (project.parent, project):
            path.chmod(0o755)
        self.ask("DELETE", "/v1/sandboxes/dev")
        self.ask("POST", "/v1/sandboxes", {"name": "dev", "driver": DRIVER, "host_dirs": [
            {"path": str(project.parent), "guest_path": "/workspace", "access": "cow", "workspace": True}]})
        self.assertEqual(self.daemon.exec("dev", "sh", "-c", "echo more >> src/main.c")["exit_code"], 0)

    def earlier_version(self):
        tree = subprocess.check_output(["tar", "-C", self.directory, "-c", "src"])
        self.ask("PUT", "/v1/templates/python:3.12", tree, {"Authorization": f"Bearer {self.daemon.key}"})

    def known_trace(self):
        self.ask("POST", "/v1/runs", {"exec": {"argv": ["true"]}}, {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"})

    def test_the_api_page(self):
        self.make_dev()
        self.files_here()
        before = {
            "/v1/keys/" + KEY_ID: self.revocable_key, "-X PATCH": self.make_dev, '"command":"make': self.something_to_make,
            "@part1": self.process_that_reads, '"signal":"SIGTERM"': self.process_that_reads, "offset=1048576": self.first_half,
            "/diff?": self.copy_of_a_project, "/rollback": self.earlier_version, "/v1/traces/": self.known_trace}
        typed = self.type_document("docs/api.md", before, {"/files/watch": self.watch, "/v1/events": self.watch})
        self.assertGreater(typed, 45)
        self.daemon.process.wait(timeout=30)  # the last command has ended it

    def test_the_problem_that_the_api_page_shows(self):
        shown = next(one for one in documents_in((ROOT / "docs/api.md").read_text()) if "detail" in one)
        answer = self.daemon.call("POST", "/v1/sandboxes", {"resources": {"memroy_mb": 1}})
        told = answer.json
        self.assertEqual(answer.status, shown["status"])
        self.assertEqual({**told, "request_id": "", "trace_id": ""}, {**shown, "request_id": "", "trace_id": ""})

    def test_the_page_about_access(self):
        self.make_dev()
        typed = self.type_document("docs/access.md", {f"revoke {KEY_ID}": self.revocable_key, "atoll token": self.use_admin})
        self.assertGreater(typed, 6)
        agent = self.ask("POST", "/v1/keys", {"role": "agent"})["key"]
        limits = self.ask("GET", "/v1/limits", headers={"Authorization": f"Bearer {agent}"})
        shown = documents_in((ROOT / "docs/access.md").read_text().split("```json\n")[1])[0]
        limits.update(requests_per_s=1, requests_burst=1)  # this daemon has none: --rate 0
        self.assertTrue(covers(limits, shown), (shown, limits))

    def use_admin(self):
        """The sandbox is the administrator's, and the page has just become an agent."""
        self.shell.type(f"export ATOLL_API_KEY={self.daemon.key}")

    def test_the_page_about_profiles(self):
        written = re.search(r"^```yaml\n(# mine\.yaml\n.*?)^```$", (ROOT / "docs/profiles.md").read_text(), re.S | re.M)
        pathlib.Path(self.directory, "mine.yaml").write_text(written[1])
        self.assertGreater(self.type_document("docs/profiles.md"), 10)

    def test_the_readme(self):
        os.chmod(self.directory, 0o755)
        self.shell.type("unset ATOLL_URL ATOLL_API_KEY")  # the page begins without a daemon of one's own
        self.assertGreater(self.type_document("README.md"), 10)

    def test_every_example_of_the_description(self):
        self.make_dev()
        document = self.ask("GET", "/v1/openapi.json")
        schemas, tried = document["components"]["schemas"], 0
        for path, item in document["paths"].items():
            for method, operation in item.items():
                body = operation.get("requestBody", {}) if method != "parameters" else {}
                content = body.get("content", {}).get("application/json")
                if content is None:
                    continue
                schema = schemas[content["schema"]["$ref"].rsplit("/", 1)[-1]]
                examples = [one["value"] for one in content.get("examples", {}).values()] + schema.get("examples", [])
                for example in examples:
                    with self.subTest(f"{method} {path} {example}"):
                        if example.get("cwd"):
                            self.daemon.call("POST", "/v1/sandboxes/dev/files/mkdir", {"path": example["cwd"]})
                        if "name" in example:
                            example = {**example, "name": f"example-{tried}"}  # that one is there
                        answer = self.daemon.call(method.upper(), path.replace("{id}", "dev"), example)
                        self.assertIn(answer.status, (200, 201), answer)
                        tried += 1
        self.assertGreaterEqual(tried, 7)


if __name__ == "__main__":
    unittest.main()
