"""A real daemon under test: started, killed and started again, asked over its socket, and looked after from outside."""

import contextlib
import fcntl
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
LOOP_GET_STATUS64, LOOP_NAME_AT = 0x4C05, 56
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
    def __init__(self, atoll=ATOLL, state=None, arguments=(), before=()):
        self.directory = tempfile.mkdtemp(prefix="atoll-live-")
        os.chmod(self.directory, 0o711)
        self.state = state or os.path.join(self.directory, "state")
        self.atoll, self.arguments, self.process = atoll, list(arguments), None
        self.before = list(before)  # what executes it
        self.made = set()  # ids of sandboxes
        self.log_path = os.path.join(self.directory, "daemon.log")

    # Its life.

    def start(self, **popen):
        with open(self.log_path, "ab") as log:
            environment = {k: v for k, v in os.environ.items() if not k.startswith("ATOLL_")}
            environment.update(popen.pop("env", {}))
            self.process = subprocess.Popen(
                [*self.before, self.atoll, "serve", "--listen", "127.0.0.1:0", "--state", self.state, *self.arguments],
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

    def end(self, figure=None):
        """Ends the daemon with all sandboxes, and removes its directory. Whoever has a `figure` is told what was left."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(timeout=30)
        wait_until(lambda: not self.launchers(), "the launcher leaves")
        left = census(self.directory, self.made)
        if figure:
            print(f"figure: {figure}: of {len(self.made)} sandboxes orphans {sum(map(len, left.values()))} ("
                  + ", ".join(f"{what} {len(those)}" for what, those in left.items()) + ")", flush=True)
        assert left == NOTHING, f"something is left: {left}"
        shutil.rmtree(self.directory)

    # Asking it.

    @property
    def socket_path(self):
        return os.path.join(self.state, "atoll.sock")

    def name_on(self, engine):
        """What it calls itself on the engine of this driver: the label `atoll.instance` of what it makes there."""
        return pathlib.Path(self.state, "engines", f"{engine}-name").read_text()

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
        self.made.add(answer.json["id"])
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
            if run in files_of(pid):
                found.append(pid)
        return sorted(found)

    def keepers(self):
        """Those that hold the keeper's lock."""
        lock = os.path.realpath(os.path.join(self.state, "run", "keeper.lock"))
        return [pid for pid in self.launchers() if lock in files_of(pid)]

    def launcher(self):
        """The one that serves. What it is just making from itself bears its name for a moment, and is younger."""
        keepers = self.keepers()
        ages = {pid: stat_of(pid) for pid in self.launchers() if pid not in keepers}
        return min((pid for pid, stat in ages.items() if stat), key=lambda pid: (int(ages[pid][19]), pid), default=None)

    def pool(self):
        """The loop device of the storage pool and its token, as noted for a successor; none without a pool."""
        with contextlib.suppress(FileNotFoundError):
            return pathlib.Path(self.state, "run", "pool").read_text().split()
        return None

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


class AtTheSamePath(Daemon):
    """One whose state directory has the path of another daemon's, in a mount namespace of its own."""

    def __init__(self, other):
        super().__init__(state=other.state)
        self.held = os.path.join(self.directory, "held")  # what is there, as others see it
        os.mkdir(self.held, 0o700)
        self.before = ["unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"',
                       self.held, self.state]

    @property
    def socket_path(self):
        return os.path.join(self.held, "atoll.sock")

    def launchers(self):
        return [pid for pid in all_pids() if (name_of(pid) or "").startswith("atoll-launcher") and self.is_inside(pid)]

    def is_inside(self, pid):
        with contextlib.suppress(OSError):
            return os.path.samefile(f"/proc/{pid}/root{self.state}", self.held)
        return False


def all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def told_of(pid, file):
    """What /proc tells of a process, whose name can be any bytes."""
    return pathlib.Path(f"/proc/{pid}/{file}").read_text(errors="replace")


def stat_of(pid):
    with contextlib.suppress(OSError):
        text = told_of(pid, "stat")
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
        return told_of(pid, "comm").strip()
    return None


def pid_on_host(box, pid):
    """The process that a sandbox with process ids of its own calls `pid`."""
    return wait_until(lambda: find_in_box(box, pid), f"{box} has a process {pid}")


def find_in_box(box, pid):
    for candidate in all_pids():
        with contextlib.suppress(OSError):
            if f"ATOLL_SANDBOX_ID={box}".encode() not in pathlib.Path(f"/proc/{candidate}/environ").read_bytes().split(b"\0"):
                continue
            status = told_of(candidate, "status")
            numbers = next(line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:"))
            if int(numbers[-1]) == pid:
                return candidate
    return None


def files_of(pid):
    """What a process has open."""
    found = set()
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return found


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


def census(root, boxes=()):
    """What of ours is on the host: everything that has to do with the directory `root`, or with the named sandboxes.

    Others may be at work beside us, so of other cgroups only the abandoned ones count, and of those only what was not
    there before this program began: somebody may have been killed with everything that would have cleaned up. Zombies do
    not count: where nobody reaps orphans they stay for ever, whatever we do.
    """
    groups = cgroups_of_boxes() - ABANDONED_BEFORE
    ours = [path for path in groups if os.path.basename(path) in boxes]
    return {
        "processes": sorted((name_of(pid) or "", pid) for pid in processes_of(root)),
        "mounts": [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if root in line],
        "cgroups": sorted(ours + abandoned(groups - set(ours))),
    }


def cgroups_of_boxes():
    return {os.path.join(path, name) for path, names, _ in os.walk("/sys/fs/cgroup") for name in names
            if name.startswith("sbx")}


def abandoned(cgroups, seconds=1):
    """Those in which nobody lives, and not just for the moment in which a sandbox is made or removed. A sandbox that lives
    has groups with nobody in them: one tree tells."""
    deadline = time.monotonic() + seconds
    while True:
        alive = {os.path.basename(path) for path in cgroups_of_boxes() if has_members(path)}
        cgroups = {path for path in cgroups if os.path.isdir(path) and os.path.basename(path) not in alive}
        if not cgroups or time.monotonic() > deadline:
            return list(cgroups)
        time.sleep(0.02)


def has_members(cgroup):
    """Whether somebody lives in a cgroup or below."""
    for path, _, _ in os.walk(cgroup):
        with contextlib.suppress(OSError):
            if pathlib.Path(path, "cgroup.procs").read_text().strip():
                return True
    return False


def loop_name(device):
    """What a loop device bears as its name; none if nothing is attached."""
    with contextlib.suppress(OSError), open(device, "rb") as file:
        info = fcntl.ioctl(file, LOOP_GET_STATUS64, bytes(232))
        return info[LOOP_NAME_AT:LOOP_NAME_AT + 64].rstrip(b"\0").decode(errors="replace")
    return None


NOTHING = {"processes": [], "mounts": [], "cgroups": []}
ABANDONED_BEFORE = set(abandoned(cgroups_of_boxes()))
