"""Every driver that works here: what a fresh sandbox, a command in a live one, a pause, a snapshot, a sandbox from it, a
fork and an idle sandbox cost, each beside what its engine takes by itself for the same, over its own socket and with its own
program.

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
from live import wait_until  # noqa: E402
from samples import summary  # noqa: E402

HEAD = ["| driver | fresh sandbox → output, p50 | engine's API | engine's CLI | command in a live one, p50 | engine's API | "
        "pause | resume | idle sandbox |", "|---|---|---|---|---|---|---|---|---|"]
KEPT_HEAD = ["| driver | kept | snapshot, p50 | engine's API | from a snapshot → output, p50 | engine's API | fork → output, p50 | engine's API |",
             "|---|---|---|---|---|---|---|---|"]
COLD, WARM, THEIR_WARM, CROWD, KEPT = 12, 200, 40, 10, 8
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

    def create(self, **more):
        return self.client.call("POST", "/v1/sandboxes", {"driver": self.driver, "ttl_s": 600, **more})["id"]

    def snapshot(self, box, kind):
        return self.client.call("POST", f"/v1/sandboxes/{box}/snapshots", {"kind": kind})["id"]

    def restore(self, snapshot):
        box = self.create(snapshot=snapshot)
        self.exec(box)
        return box

    def fork(self, box, kind):
        child = self.client.call("POST", f"/v1/sandboxes/{box}/fork", {"count": 1, "kind": kind})["sandboxes"][0]["id"]
        self.exec(child)
        return child

    def drop(self, snapshot):
        self.client.call("DELETE", f"/v1/snapshots/{snapshot}")

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
        self.engine, self.client, self.made, self.over = engine, Client(engine.socket), 0, []
        if engine.name == "podman":  # which knows no log driver of that name
            self.FRESH = {**self.FRESH, "HostConfig": {k: v for k, v in self.FRESH["HostConfig"].items() if k != "LogConfig"}}

    def create(self, argv, image=None):
        self.made += 1
        name = f"bench-{self.made}"
        self.client.call("POST", f"/v1.41/containers/create?name={name}", {**self.FRESH, "Image": image or self.engine.image, "Cmd": argv})
        self.client.call("POST", f"/v1.41/containers/{name}/start")
        return name

    def cold(self):
        """Until it has ended: what is left of it is cleared away afterwards, as ours is."""
        name = self.create(ARGV)
        done = self.client.call("POST", f"/v1.41/containers/{name}/wait")
        if done["StatusCode"] != 0:
            raise SystemExit(f"bench: {self.engine.name}: {done}")
        self.over.append(name)

    def settle(self):
        """Nothing of what was measured before is at work any more."""
        while self.over:
            self.remove(self.over.pop())
        wait_until(lambda: not self.engine.containers(), f"{self.engine.name} has no container left")
        wait_until(lambda: not any("containerd-shim" in words or "conmon" in words for _, words in self.engine.processes()),
                   f"the helpers of {self.engine.name} have gone")

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

    def snapshot(self, name):
        self.made += 1
        return self.client.call("POST", f"/v1.41/commit?container={name}&repo=bench&tag={self.made}&pause=1", {})["Id"]

    def restore(self, image):
        """A container that stays, and a command in it, as ours."""
        name = self.create(["sleep", "600"], image)
        self.exec(name)
        return name

    def drop(self, image):
        self.client.call("DELETE", f"/v1.41/images/{image}?force=1")

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
        if theirs:
            theirs.settle()
        raw["cold_ms"].append(timed(ours.cold))
        if theirs:
            theirs.settle()
            their["cold_ms"].append(timed(theirs.cold))
            theirs.settle()
            their["cli_ms"].append(timed(theirs.by_hand))
    if theirs:
        theirs.settle()
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
    kinds = ["disk"] * capabilities["snapshot"] + ["memory"] * capabilities["checkpoint"]
    kept = [measure_kept(ours, theirs if kind == "disk" else None, capabilities, kind) for kind in kinds]
    if theirs:
        theirs.client.close()
    raw["idle_kib"] = idle_kib(ours)
    ours.client.close()
    return raw, their if theirs else None, kept


def measure_kept(ours, theirs, capabilities, kind):
    """Snapshots of one kind, sandboxes from them and forks: (kind, ours, theirs)."""
    raw = {"snapshot_ms": [], "restore_ms": [], "fork_ms": []}
    their = {"snapshot_ms": [], "restore_ms": [], "fork_ms": []}

    def taken(into, what, function):
        start = time.perf_counter()
        made = function()
        into[what].append((time.perf_counter() - start) * 1000)
        return made

    persistent = {"persistence": "persistent"} if capabilities["writable_root"] else {}
    box = ours.create(**persistent)
    ours.exec(box)
    container = theirs.create(["sleep", "600"]) if theirs else None
    for _ in range(KEPT):
        snapshot = taken(raw, "snapshot_ms", lambda: ours.snapshot(box, kind))
        ours.remove(taken(raw, "restore_ms", lambda: ours.restore(snapshot)))
        ours.drop(snapshot)
        if capabilities["fork"]:
            ours.remove(taken(raw, "fork_ms", lambda: ours.fork(box, kind)))
        if theirs:
            image = taken(their, "snapshot_ms", lambda: theirs.snapshot(container))
            theirs.remove(taken(their, "restore_ms", lambda: theirs.restore(image)))
            theirs.drop(image)
            made = []
            child = taken(their, "fork_ms", lambda: theirs.restore(made.append(theirs.snapshot(container)) or made[0]))
            theirs.remove(child)
            theirs.drop(made[0])
    ours.remove(box)
    if theirs:
        theirs.remove(container)
    return kind, raw, their if theirs else {}


def kept_row(driver, kind, raw, their):
    cells = []
    for what in ("snapshot_ms", "restore_ms", "fork_ms"):
        cells += [milliseconds(summary(raw[what])["p50"]) if raw[what] else "–", beside(raw[what], their.get(what)) if raw[what] else "–"]
    return f"| `{driver}` | {kind} | " + " | ".join(cells) + " |"


class Runsc:
    """gVisor's own program; it has no server to ask."""

    NAMES = ("runsc", "exe", "atoll-oci")

    def __init__(self, context):
        self.peer = next(peer for peer in peers.PEERS if peer.name == "runsc do")
        self.peer.prepare(context.directory)

    def by_hand(self):
        return peers.measure(self.peer, ARGV, 1, 30)[0] / 1000

    def settle(self):
        """What was used is gone, and what is made ahead is there."""
        seen, unchanged = None, 0
        while unchanged < SETTLED_LOOKS // 4:
            time.sleep(0.1)
            now = {pid for pid in filter(str.isdigit, os.listdir("/proc")) if self.name_of(pid) in self.NAMES}
            seen, unchanged = now, unchanged + 1 if now == seen else 0

    @staticmethod
    def name_of(pid):
        with contextlib.suppress(OSError):
            return Path(f"/proc/{pid}/comm").read_text().strip()
        return ""

    def close(self):
        self.peer.close()


def measure_beside_runsc(context, daemon):
    """Fresh ones and gVisor's own, by turns; and fresh ones of a daemon that makes none ahead."""
    ours, runsc = Ours(daemon, "gvisor"), Runsc(context)
    cold, alone, theirs = [], [], []
    try:
        with context.another("--parked", "0") as other:
            unprepared = Ours(other, "gvisor")
            for client in (ours, unprepared):
                client.cold()
            for _ in range(COLD):
                for samples, take in ((cold, lambda: timed(ours.cold)), (theirs, runsc.by_hand), (alone, lambda: timed(unprepared.cold))):
                    runsc.settle()
                    samples.append(take())
            unprepared.client.close()
    finally:
        runsc.close()
        ours.client.close()
    return cold, alone, theirs


def beside(ours, theirs, aim=None):
    """Their median, how ours stands to it, and whether that is what we aim at."""
    if not theirs:
        return "–"
    ratio = summary(ours)["p50"] / summary(theirs)["p50"]
    verdict = "" if aim is None else f", aim ≤ {aim}×: " + ("met" if ratio <= aim else "**missed**")
    return f"{milliseconds(summary(theirs)['p50'])} (**{ratio:.2f}×**{verdict})"


def row(driver, raw, their):
    their = their or {}
    # What has no API is compared with the engine's program.
    cli_aim = None if their.get("cold_ms") else COLD_AIM
    pause = ["–", "–"] if not raw["pause_ms"] else [milliseconds(summary(raw[f"{what}_ms"])["p50"]) for what in ("pause", "resume")]
    return f"| `{driver}` | {milliseconds(summary(raw['cold_ms'])['p50'])} | {beside(raw['cold_ms'], their.get('cold_ms'), COLD_AIM)} | " \
           f"{beside(raw['cold_ms'], their.get('cli_ms'), cli_aim)} | {milliseconds(summary(raw['warm_ms'])['p50'])} | " \
           f"{beside(raw['warm_ms'], their.get('warm_ms'), WARM_AIM)} | {pause[0]} | {pause[1]} | {raw['idle_kib'] / 1024:.1f} MiB |"


def none_ahead_row(driver, raw, their):
    """What whoever finds none made ahead waits for."""
    cold = raw["none_ahead_ms"]
    return f"| `{driver}`, none made ahead | {milliseconds(summary(cold)['p50'])} | – | {beside(cold, their['cli_ms'], COLD_AIM)} | – | – | – | – | – |"


def measure(context):
    """What is kept, and a line for each driver, in two tables."""
    kept, lines, kept_lines = {}, [], []
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
                raw, their, snapshots = measure_driver(daemon, driver, started.get(driver))
                if driver == "gvisor":
                    raw["cold_ms"], raw["none_ahead_ms"], their_cli = measure_beside_runsc(context, daemon)
                    their = {"cli_ms": their_cli}
                kept[driver] = {"ours": raw, "theirs": their, "snapshots": snapshots}
                lines.append(row(driver, raw, their))
                if driver == "gvisor":
                    lines.append(none_ahead_row(driver, raw, their))
                print("\n".join(lines[-2:] if driver == "gvisor" else lines[-1:]), flush=True)
                for one in snapshots:
                    kept_lines.append(kept_row(driver, *one))
                    print(kept_lines[-1], flush=True)
    return kept, [*HEAD, *lines, *(["", *KEPT_HEAD, *kept_lines] if kept_lines else [])]
