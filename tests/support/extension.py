"""The example extension for a test: a program of its own, as an ordinary user, and nothing left.

    extension.py PROGRAM ARGS…     runs a program that finds it, added, in the state directory that ATOLL_TEST_EXTENSION names
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from live import ATOLL, wait_until

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/extension"
MANIFEST = str(EXAMPLE / "namespaces.yaml")
NAME = "namespaces"
USER = 61_918


class Extension:
    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="atoll-extension-")
        os.chmod(self.root, 0o755)
        self.own = f"{self.root}/own"
        os.mkdir(self.own, 0o755)
        self.socket = f"{self.own}/socket"
        self.boxes = f"{self.own}/boxes"
        self.log_path = f"{self.root}/log"
        self.process = None
        self.user = {}
        if os.geteuid() == 0:
            os.chown(self.own, USER, USER)
            self.user = {"user": USER, "group": USER, "extra_groups": []}

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                ["/usr/bin/python3", "-B", str(EXAMPLE / "namespaces.py"), "--socket", self.socket, "--state", self.boxes],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self.user)
        wait_until(self.is_there, "the extension listens")
        return self

    def is_there(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the extension ended:\n{pathlib.Path(self.log_path).read_text()}")
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
            probe.connect(self.socket)
            return True
        return False

    def kill(self):
        self.process.kill()
        self.process.wait()

    def call(self, **call):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(30)
            connection.connect(self.socket)
            connection.sendall(json.dumps({"protocol": 1, **call}).encode() + b"\n")
            return json.loads(connection.makefile().readline())

    def listed(self):
        return {one["id"]: one["instance"] for one in self.call(call="list")["ok"]["sandboxes"]}

    def pid_of(self, box):
        return json.loads(pathlib.Path(self.boxes, box, "record.json").read_text())["pid"]

    def add(self, state, *flags):
        return subprocess.run([ATOLL, "extension", "add", MANIFEST, "--socket", self.socket, "--state", state, *flags],
                              capture_output=True, text=True, timeout=30)

    def stop(self):
        """Ends it with its sandboxes, and returns what should not have been left."""
        left = []
        if self.process and self.process.poll() is None:
            for box in self.listed():
                left.append(f"sandbox {box}")
                self.call(call="destroy", id=box)
            left += os.listdir(self.boxes)
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)
        log = pathlib.Path(self.log_path).read_text()
        if "Traceback" in log:
            left.append(log)
        shutil.rmtree(self.root)
        return left


def main():
    extension = Extension().start()
    state = f"{extension.root}/state"
    code = 1
    try:
        added = extension.add(state, "--trust-isolation", "container")
        if added.returncode:
            print(added.stderr, file=sys.stderr)
            return 1
        environment = dict(os.environ, ATOLL_TEST_EXTENSION=state, ATOLL_TEST_ENGINE=extension.own)
        code = subprocess.run(sys.argv[1:], env=environment).returncode
    finally:
        left = extension.stop()
        for line in left:
            print(f"the extension has left: {line}", file=sys.stderr)
    return code or (1 if left else 0)


if __name__ == "__main__":
    sys.exit(main())
