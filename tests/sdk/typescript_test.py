"""The TypeScript client, installed, against a real daemon. The cases are in typescript_*.mjs; each is one here."""

import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

import installed
from live import Daemon
from meddler import Meddler, certificate, cut_in_half, problem, with_new_fields

HERE = pathlib.Path(__file__).resolve().parent
ACTIONS = {
    "unknown": problem(418, "of_next_year"),
    "busy": problem(429, "resource_exhausted", Retry_After=0),
    "garbage": b"SSH-2.0-x\r\n\r\n",
    "proxy": b"HTTP/1.1 502 X\r\nContent-Length: 5\r\nConnection: close\r\n\r\noops\n",
    "grow": with_new_fields,
    "cut": cut_in_half,
}


class Control:
    """Where the cases ask for somebody between them and the daemon, and for its restart."""

    def __init__(self, daemon):
        self.daemon, self.meddlers = daemon, {}
        self.directory = tempfile.TemporaryDirectory()
        self.cert, self.context = certificate(self.directory.name)
        control = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                answer = control.answer(self.path[1:]).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def answer(self, what):
        if what == "restart":
            self.daemon.kill()
            self.daemon.start()
            return ""
        if what.startswith("seen?"):
            return str(len(self.meddlers[what[len("seen?"):]].seen))
        secure = what == "tls"
        meddler = Meddler(self.daemon, [] if secure else [ACTIONS[name] for name in what.split(",")],
                          self.context if secure else None)
        self.meddlers[meddler.url] = meddler
        return json.dumps({"url": meddler.url, "ca": self.cert if secure else None})

    def end(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(10)
        for meddler in self.meddlers.values():
            meddler.end()
        self.directory.cleanup()


def run_cases(file, daemon, control):
    """What each case came to, by name; and what the program said besides."""
    project = installed.node_project()
    for source in HERE.glob("*.mjs"):
        shutil.copy(source, project / source.name)
    port = re.search(r'"address":"127\.0\.0\.1:(\d+)"|127\.0\.0\.1:(\d+)', daemon.log())
    environment = {**{name: value for name, value in os.environ.items() if not name.startswith("ATOLL_")},
                   "TEST_STATE": daemon.state, "TEST_KEY": daemon.key, "TEST_CONTROL": control.url,
                   "TEST_URL": f"http://127.0.0.1:{port.group(1) or port.group(2)}"}
    done = subprocess.run(["node", file], cwd=project, env=environment, capture_output=True, text=True, timeout=240)
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"name":')]
    return {case["name"]: case.get("error") for case in said}, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


def cases_of(file):
    names = re.findall(r'^test\("([^"]+)"', (HERE / file).read_text(), re.M)
    assert names, file

    class Cases(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            daemon = Daemon().start()
            cls.addClassCleanup(daemon.end)
            control = Control(daemon)
            cls.addClassCleanup(control.end)
            cls.outcome, cls.said = run_cases(file, daemon, control)

        def test_nothing_else_was_said(self):
            self.assertEqual(set(self.outcome), set(names), self.said)

    for name in names:
        def one(self, name=name):
            self.assertIn(name, self.outcome, self.said)
            self.assertIsNone(self.outcome[name], self.outcome[name])
        setattr(Cases, "test_" + re.sub(r"\W+", "_", name), one)
    return Cases


class TypeScript(cases_of("typescript_cases.mjs")):
    pass


class TypeScriptFaults(cases_of("typescript_faults.mjs")):
    pass


if __name__ == "__main__":
    unittest.main()
