"""Every driver that works here: what a fresh sandbox, a command in a live one, a pause and an idle sandbox cost, each
beside what its engine takes by itself for the same, over its own socket and with its own program.

Ours and theirs alternate in one run. Both sides speak HTTP from the same Python client, so its part is the same.
"""
import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

import engines  # noqa: E402
import peers  # noqa: E402
from samples import summary  # noqa: E402

HEAD = ["| driver | fresh sandbox → output, p50 | engine's API | engine's CLI | command in a live one, p50 | engine's API | "
        "pause | resume | idle sandbox |", "|---|---|---|---|---|---|---|---|---|"]
COLD, WARM, THEIR_WARM, CROWD = 12, 200, 40, 10
SETTLED_LOOKS = 20
WARM_AIM, COLD_AIM = 0.05, 1.1
ENGINES = ("docker", "podman")
DRIVERS = ("native", "subprocess", *ENGINES, "gvisor")
ARGV = ["/bin/true"]


def timed(function):
    start = time.perf_counter()
    function()
    return (time.perf_counter() - start) * 1000


def milliseconds(value):
    return f"{value:,.0f} ms" if value >= 100 else f"{value:,.1f} ms" if value >= 10 else f"{value:,.2f} ms"


class Client:
    """One connection that stays open."""

    def __init__(self, path, headers=None):
        self.connection, self.headers = engines.UnixConnection(str(path)), headers or {}

    def call(self, method, path, body=None):
        self.connection.request(method, path, None if body is None else json.dumps(body),
                                {"Content-Type": "application/json", **self.headers})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"bench: {method} {path}: {answer.status} {text[:300]!r}")
        return json.loads(text) if text else None

    def close(self):
        self.connection.close()


class Ours:
    def __init__(self, daemon, driver):
        self.client, self.driver = Client(daemon.state / "atoll.sock"), driver

    def cold(self):
        done = self.client.call("POST", "/v1/runs", {"sandbox": {"driver": self.driver}, "exec": {"argv": ARGV}})
        if done["exit_code"] != 0:
            raise SystemExit(f"bench: {self.driver}: {done}")

    def create(self):
        return self.client.call("POST", "/v1/sandboxes", {"driver": self.driver, "ttl_s": 600})["id"]

    def exec(self, box):
        self.client.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ARGV})

    def change(self, box, what):
        self.client.call("POST", f"/v1/sandboxes/{box}/{what}")

    def remove(self, box):
        self.client.call("DELETE", f"/v1/sandboxes/{box}")


class Theirs:
    """The engine itself, with the same limits and the same hardening, over its own socket."""

    FRESH = {"User": "1000:1000", "NetworkDisabled": True,
             "HostConfig": {"CapDrop": ["ALL"], "SecurityOpt": ["no-new-privileges"], "NetworkMode": "none", "PidsLimit": 100,
                            "Memory": 256 << 20, "MemorySwap": 256 << 20, "ReadonlyRootfs": True, "Tmpfs": {"/tmp": ""},
                            "CgroupnsMode": "private", "LogConfig": {"Type": "none"}}}

    def __init__(self, engine):
        self.engine, self.client, self.made = engine, Client(engine.socket), 0
        if engine.name == "podman":  # which knows no log driver of that name
            self.FRESH = {**self.FRESH, "HostConfig": {k: v for k, v in self.FRESH["HostConfig"].items() if k != "LogConfig"}}

    def create(self, argv):
        self.made += 1
        name = f"bench-{self.made}"
        self.client.call("POST", f"/v1.41/containers/create?name={name}", {**self.FRESH, "Image": self.engine.image, "Cmd": argv})
        self.client.call("POST", f"/v1.41/containers/{name}/start")
        return name

    def cold(self):
        name = self.create(ARGV)
        done = self.client.call("POST", f"/v1.41/containers/{name}/wait")
        if done["StatusCode"] != 0:
            raise SystemExit(f"bench: {self.engine.name}: {done}")
        self.remove(name)

    def exec(self, name):
        asked = self.client.call("POST", f"/v1.41/containers/{name}/exec",
                                 {"AttachStdout": True, "AttachStderr": True, "Cmd": ARGV, "User": "1000:1000"})
        self.read_to_the_end(asked["Id"])
        while (state := self.client.call("GET", f"/v1.41/exec/{asked['Id']}/json"))["Running"]:
            pass
        if state["ExitCode"] != 0:
            raise SystemExit(f"bench: {self.engine.name}: {state}")

    def read_to_the_end(self, number):
        """Its connection becomes a stream, as the engines' own clients have it."""
        with contextlib.closing(engines.UnixConnection(self.engine.socket)) as connection:
            connection.connect()
            body = json.dumps({"Detach": False, "Tty": False})
            connection.sock.sendall((f"POST /v1.41/exec/{number}/start HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
                                     f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode())
            while connection.sock.recv(65536):
                pass

    def change(self, name, what):
        self.client.call("POST", f"/v1.41/containers/{name}/{'unpause' if what == 'resume' else what}")

    def remove(self, name):
        self.client.call("DELETE", f"/v1.41/containers/{name}?force=1&v=1")

    def by_hand(self):
        """As people type it."""
        argv = ["docker", "-H", f"unix://{self.engine.socket}"] if self.engine.name == "docker" else \
            ["podman", "--root", f"{self.engine.root}/data", "--runroot", f"{self.engine.root}/exec", "--tmpdir", f"{self.engine.root}/tmp"]
        # Podman without a server in between, which is how it is used.
        environment = {name: value for name, value in os.environ.items() if name not in ("DOCKER_HOST", "CONTAINER_HOST")}
        done = subprocess.run(
            [*argv, "run", "--rm", "--network=none", "--cap-drop=ALL", "--user=1000:1000", self.engine.image, *ARGV], timeout=60,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env={**environment, "CONTAINERS_CONF": f"{self.engine.root}/containers.conf"})
        if done.returncode != 0:
            raise SystemExit(f"bench: {self.engine.name} run: {done.stderr[-500:]}")


def memory_by_pid():
    """KiB of every process, proportional, so that what is shared is counted once."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{name}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    found[int(name)] = int(line.split()[1])
    return found


def idle_kib(ours):
    """What goes with a crowd of idle sandboxes when they are removed, the engine's helpers included: some of their processes
    may have been there before they were asked for."""
    boxes = [ours.create() for _ in range(CROWD)]
    before = memory_by_pid()
    for box in boxes:
        ours.remove(box)
    gone, unchanged = set(), 0
    while unchanged < SETTLED_LOOKS:  # an engine's helper ends a moment after its container
        time.sleep(0.1)
        now = {pid for pid in before if not os.path.exists(f"/proc/{pid}")}
        gone, unchanged = now, unchanged + 1 if now == gone else 0
    return sum(before[pid] for pid in gone) / CROWD


def measure_driver(daemon, driver, engine):
    ours = Ours(daemon, driver)
    theirs = Theirs(engine) if engine else None
    raw = {"cold_ms": [], "warm_ms": [], "pause_ms": [], "resume_ms": []}
    their = {"cold_ms": [], "cli_ms": [], "warm_ms": [], "pause_ms": [], "resume_ms": []}
    ours.cold()
    if theirs:
        theirs.cold()
    for _ in range(COLD):
        raw["cold_ms"].append(timed(ours.cold))
        if theirs:
            their["cold_ms"].append(timed(theirs.cold))
            their["cli_ms"].append(timed(theirs.by_hand))
    box, container = ours.create(), theirs.create(["sleep", "600"]) if theirs else None
    for i in range(WARM):
        raw["warm_ms"].append(timed(lambda: ours.exec(box)))
        if theirs and i % (WARM // THEIR_WARM) == 0:
            their["warm_ms"].append(timed(lambda: theirs.exec(container)))
    capabilities = next(one for one in ours.client.call("GET", "/v1/drivers")["drivers"] if one["name"] == driver)["capabilities"]
    if capabilities["pause"] != "none":
        for _ in range(COLD):
            for what in ("pause", "resume"):
                raw[f"{what}_ms"].append(timed(lambda what=what: ours.change(box, what)))
                if theirs:
                    their[f"{what}_ms"].append(timed(lambda what=what: theirs.change(container, what)))
    ours.remove(box)
    if theirs:
        theirs.remove(container)
        theirs.client.close()
    raw["idle_kib"] = idle_kib(ours)
    ours.client.close()
    return raw, their if theirs else None


def measure_runsc(context):
    """gVisor's own program; it has no server to ask."""
    runsc = next(peer for peer in peers.PEERS if peer.name == "runsc do")
    if not runsc.is_available()[0]:
        return []
    runsc.prepare(context.directory)
    try:
        return [sample / 1000 for sample in peers.measure(runsc, ARGV, COLD, 30)]
    finally:
        runsc.close()


def beside(ours, theirs, aim=None):
    """Their median, how ours stands to it, and whether that is what we aim at."""
    if not theirs:
        return "–"
    ratio = summary(ours)["p50"] / summary(theirs)["p50"]
    verdict = "" if aim is None else f", aim ≤ {aim}×: " + ("met" if ratio <= aim else "**missed**")
    return f"{milliseconds(summary(theirs)['p50'])} (**{ratio:.2f}×**{verdict})"


def row(driver, raw, their):
    their = their or {}
    pause = ["–", "–"] if not raw["pause_ms"] else [milliseconds(summary(raw[f"{what}_ms"])["p50"]) for what in ("pause", "resume")]
    return f"| `{driver}` | {milliseconds(summary(raw['cold_ms'])['p50'])} | {beside(raw['cold_ms'], their.get('cold_ms'), COLD_AIM)} | " \
           f"{beside(raw['cold_ms'], their.get('cli_ms'))} | {milliseconds(summary(raw['warm_ms'])['p50'])} | " \
           f"{beside(raw['warm_ms'], their.get('warm_ms'), WARM_AIM)} | {pause[0]} | {pause[1]} | {raw['idle_kib'] / 1024:.1f} MiB |"


def measure(context):
    """What is kept, and a line for each driver."""
    kept, lines = {}, []
    with contextlib.ExitStack() as stack:
        started = {name: engines.Engine(name).start() for name in ENGINES}
        for engine in started.values():
            stack.callback(engine.stop)
            os.environ.update(engine.environment)
        with context.another() as daemon:
            listed = json.loads(daemon.call("GET", "/v1/drivers"))["drivers"]
            for driver in DRIVERS:
                if not any(one["name"] == driver and one["available"] for one in listed):
                    print(f"    {driver} is not available here", flush=True)
                    continue
                raw, their = measure_driver(daemon, driver, started.get(driver))
                if driver == "gvisor":
                    their = {"cli_ms": measure_runsc(context)}
                kept[driver] = {"ours": raw, "theirs": their}
                lines.append(row(driver, raw, their))
                print(lines[-1], flush=True)
    return kept, lines
