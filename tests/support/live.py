"""A real daemon under test: started, killed and started again, asked over its socket, and looked after from outside."""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ATOLL = os.environ.get("ATOLL_BIN", "build/release/bin/atoll")
LIBEXEC = os.environ.get("ATOLL_LIBEXEC", "build/release/libexec/atoll")


def wait_until(condition, what, seconds=20):
    """Asks again until it holds; the last answer is returned."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.01)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=60):
        super().__init__("atoll", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        # However long the path is: a directory of the caller's own stands for it.
        directory = os.open(os.path.dirname(self.path), os.O_PATH)
        try:
            self.sock.connect(f"/proc/self/fd/{directory}/{os.path.basename(self.path)}")
        finally:
            os.close(directory)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:500]!r}"


class Daemon:
    def __init__(self, atoll=ATOLL, state=None, arguments=()):
        self.directory = tempfile.mkdtemp(prefix="atoll-live-")
        os.chmod(self.directory, 0o711)
        self.state = state or os.path.join(self.directory, "state")
        self.atoll, self.arguments, self.process = atoll, list(arguments), None
        self.log_path = os.path.join(self.directory, "daemon.log")

    # Its life.

    def start(self, **popen):
        with open(self.log_path, "ab") as log:
            environment = {k: v for k, v in os.environ.items() if not k.startswith("ATOLL_")}
            environment.update(popen.pop("env", {}))
            self.process = subprocess.Popen(
                [self.atoll, "serve", "--listen", "127.0.0.1:0", "--state", self.state, *self.arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, **popen)
        wait_until(self.is_ready, f"the daemon is ready; its log:\n{self.log()}")
        return self

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the daemon ended with {self.process.returncode}:\n{self.log()}")
        try:
            return self.call("GET", "/readyz").status == 200
        except OSError:
            return False

    def log(self):
        return pathlib.Path(self.log_path).read_text(errors="replace")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def terminate(self):
        self.process.terminate()
        self.process.wait(timeout=30)

    def end(self):
        """Ends the daemon with all sandboxes, and removes its directory."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(timeout=30)
        wait_until(lambda: not self.launchers(), "the launcher leaves")
        left = census(self.directory)
        assert left == NOTHING, f"something is left: {left}"
        shutil.rmtree(self.directory)

    # Asking it.

    @property
    def socket_path(self):
        return os.path.join(self.state, "atoll.sock")

    @property
    def key(self):
        return pathlib.Path(self.state, "admin.key").read_text().strip()

    def connection(self, timeout=60):
        return UnixConnection(self.socket_path, timeout)

    def call(self, method, path, body=None, headers=None, timeout=60):
        connection = self.connection(timeout)
        try:
            data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
            head = {"Content-Type": "application/json"} if isinstance(body, (dict, list)) else {}
            connection.request(method, path, body=data, headers={**head, **(headers or {})})
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def create(self, **request):
        answer = self.call("POST", "/v1/sandboxes", request)
        assert answer.status == 201, answer
        return answer.json["id"]

    def exec(self, box, *argv, **more):
        answer = self.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": list(argv), **more})
        assert answer.status == 200, answer
        return answer.json

    def start_process(self, box, *argv):
        """Starts a command and goes away; gives its process number."""
        connection = self.connection()
        connection.request("POST", f"/v1/sandboxes/{box}/exec", json.dumps({"argv": list(argv)}),
                           {"Content-Type": "application/json", "Accept": "application/x-ndjson"})
        first = json.loads(connection.getresponse().readline())
        connection.close()
        assert first["type"] == "start", first
        return first

    def events(self, box, process, stdout_offset=0, stderr_offset=0):
        """The NDJSON events of a process from an offset on, as they come."""
        connection = self.connection()
        connection.request(
            "GET", f"/v1/sandboxes/{box}/processes/{process}/output"
            f"?stdout_offset={stdout_offset}&stderr_offset={stderr_offset}", headers={"Accept": "application/x-ndjson"})
        with contextlib.closing(connection):
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            for line in iter(answer.readline, b""):
                yield json.loads(line)

    # Seeing it from outside.

    def launchers(self):
        """Pids of keeper and launcher: they hold our run directory."""
        run = os.path.realpath(os.path.join(self.state, "run"))
        found = []
        for pid in all_pids():
            if not (name_of(pid) or "").startswith("atoll-launcher"):
                continue
            with contextlib.suppress(OSError):
                if any(os.readlink(f"/proc/{pid}/fd/{fd}") == run for fd in os.listdir(f"/proc/{pid}/fd")):
                    found.append(pid)
        return sorted(found)

    def launcher(self):
        """The one that serves: the keeper's child."""
        pids = self.launchers()
        return next((pid for pid in pids if parent_of(pid) in pids), None)

    def agents(self):
        boxes = os.path.realpath(os.path.join(self.state, "run", "box"))
        found = {}
        for pid in all_pids():
            if name_of(pid) != "atoll-agent":
                continue
            with contextlib.suppress(OSError):
                for fd in os.listdir(f"/proc/{pid}/fd"):
                    target = os.readlink(f"/proc/{pid}/fd/{fd}")
                    if target.startswith(boxes):
                        found[target[len(boxes) + 1:].split("/")[0]] = pid
        return found


def all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def stat_of(pid):
    with contextlib.suppress(OSError):
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
        return text[text.rindex(")") + 2:].split()
    return None


def parent_of(pid):
    stat = stat_of(pid)
    return int(stat[1]) if stat else 0


def is_alive(pid):
    stat = stat_of(pid)
    return stat is not None and stat[0] != "Z"


def name_of(pid):
    stat = stat_of(pid)
    if stat is None or stat[0] == "Z":
        return None
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    return None


def descriptors_of(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def belongs_to(pid, root):
    """Whether a process holds, stands in, or carries in its environment or arguments a path below `root`."""
    with contextlib.suppress(OSError):
        if not is_alive(pid) or pid == os.getpid():
            return False
        for name in ("environ", "cmdline"):
            if root.encode() in pathlib.Path(f"/proc/{pid}/{name}").read_bytes():
                return True
        links = [f"/proc/{pid}/cwd", *(f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd"))]
        return any(os.readlink(link).startswith(root) for link in links)
    return False


def processes_of(root):
    """Who belongs to `root`, and everybody below them: a sandbox with a root of its own knows no path of the host."""
    members = {pid for pid in all_pids() if belongs_to(pid, root)}
    parents = {pid: parent_of(pid) for pid in all_pids() if is_alive(pid)}
    while grown := {pid for pid, parent in parents.items() if parent in members and pid not in members}:
        members |= grown
    return {pid for pid in members if is_alive(pid)}


def is_in_use(cgroup):
    for place, _, _ in os.walk(cgroup):
        try:
            if pathlib.Path(place, "cgroup.procs").read_text():
                return True
        except OSError:
            continue  # gone meanwhile
    return False


def census(root):
    """What of ours is on the host: everything that has to do with the directory `root`. Others may be at work beside us.

    Zombies do not count: where nobody reaps orphans they stay for ever, whatever we do.
    """
    # A cgroup that has processes is somebody's living sandbox; if it is ours, its processes are counted anyway.
    boxes = [name for place, directories, _ in os.walk("/sys/fs/cgroup") for name in directories
             if name.startswith("sbx") and not is_in_use(os.path.join(place, name))]
    return {
        "processes": sorted((name_of(pid), pid) for pid in processes_of(root)),
        "mounts": [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if root in line],
        "cgroups": sorted(boxes),
    }


NOTHING = {"processes": [], "mounts": [], "cgroups": []}
