"""Every driver that works here: what a fresh sandbox, a command in a live one, a pause, a snapshot, a sandbox from it, a
fork and an idle sandbox cost, each beside what its engine takes by itself for the same, over its own socket and with its own
program.

Ours and theirs take turns in one run. What speaks HTTP does so from the same Python client, so its part is the same.
"""
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

import engines  # noqa: E402
import peers  # noqa: E402
from live import wait_until  # noqa: E402
from samples import summary  # noqa: E402

HEAD = ["| driver | what | Atoll, p50 | engine's API | Atoll over it | engine's program | Atoll over it | aim | |",
        "|---|---|---|---|---|---|---|---|---|"]
COLD, WARM, THEIR_WARM, BY_HAND, CROWD, KEPT = 12, 200, 40, 10, 10, 8
SETTLED_LOOKS = 20
ENGINES = ("docker", "podman")
DRIVERS = ("native", "rootless", "subprocess", "chroot", "local", *ENGINES, "gvisor")
ARGV = ["/bin/true"]
WAITING = ["sleep", "600"]
FRESH, COMMAND, IDLE = "fresh sandbox → output", "command in a live one", "memory of an idle one"
# Of a driver that says which: one that waited for whoever asks, and one that did not.
AHEAD, NONE_AHEAD = "fresh sandbox, made ahead → output", "fresh sandbox, none made ahead → output"
# The ratio to the engine's API, or to its program where it has no API.
AIMS = {FRESH: 1.1, AHEAD: 1.1, NONE_AHEAD: 1.3, COMMAND: 0.05}  # NONE_AHEAD: ADR 24


def timed(function, *arguments):
    """Milliseconds, and what it gave."""
    start = time.perf_counter()
    given = function(*arguments)
    return (time.perf_counter() - start) * 1000, given


class Client:
    """One connection that stays open."""

    def __init__(self, path, headers=None):
        self.connection, self.headers = engines.UnixConnection(str(path)), headers or {}

    def call(self, method, path, body=None):
        answer_type, text = self.exchange(method, path, None if body is None else json.dumps(body), "application/json")
        return json.loads(text) if text and "json" in answer_type else text

    def exchange(self, method, path, body, kind):
        self.connection.request(method, path, body, {"Content-Type": kind, **self.headers})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"bench: {method} {path}: {answer.status} {text[:300]!r}")
        return answer.getheader("Content-Type") or "", text

    def close(self):
        self.connection.close()


class Ours:
    def __init__(self, daemon, driver, **wish):
        self.client, self.wish = Client(daemon.state / "atoll.sock"), {"driver": driver, **wish}

    def cold(self):
        done = self.client.call("POST", "/v1/runs", {"sandbox": self.wish, "exec": {"argv": ARGV}})
        if done["exit_code"] != 0:
            raise SystemExit(f"bench: {self.wish}: {done}")

    def settle(self):
        """Whoever is measured beside it knows what has to be over."""

    def create(self, **more):
        return self.client.call("POST", "/v1/sandboxes", {**self.wish, "ttl_s": 600, **more})["id"]

    def create_persistent(self):
        return self.create(persistence="persistent")

    def snapshot(self, box, kind):
        return self.client.call("POST", f"/v1/sandboxes/{box}/snapshots", {"kind": kind})["id"]

    def restore(self, snapshot, _):
        box = self.create(snapshot=snapshot)
        self.exec(box)
        return box

    def fork(self, box, kind):
        child = self.client.call("POST", f"/v1/sandboxes/{box}/fork", {"count": 1, "kind": kind})["sandboxes"][0]["id"]
        self.exec(child)
        return child

    def drop(self, snapshot, _):
        self.client.call("DELETE", f"/v1/snapshots/{snapshot}")

    def exec(self, box):
        self.client.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ARGV})

    def change(self, box, what):
        self.client.call("POST", f"/v1/sandboxes/{box}/{what}")

    def remove(self, box):
        self.client.call("DELETE", f"/v1/sandboxes/{box}")

    def capabilities(self):
        listed = self.client.call("GET", "/v1/drivers")["drivers"]
        return next(one for one in listed if one["name"] == self.wish["driver"])["capabilities"]

    def close(self):
        self.client.close()


class Theirs:
    """The engine itself, over its own socket, with the limits and the hardening that it is asked for by us; in its favour with
    one place in memory instead of five, and with nothing masked beyond what it masks by itself."""

    FRESH = {"User": "1000:1000", "NetworkDisabled": True,
             "HostConfig": {"CapDrop": ["ALL"], "SecurityOpt": ["no-new-privileges"], "NetworkMode": "none", "PidsLimit": 100,
                            "Memory": 2 << 30, "MemorySwap": 2 << 30, "ReadonlyRootfs": True, "Tmpfs": {"/tmp": ""},
                            "CgroupnsMode": "private", "LogConfig": {"Type": "none"}}}
    # With a root that can be written to, as a sandbox of ours has that is kept.
    PERSISTENT = {**FRESH, "HostConfig": {**FRESH["HostConfig"], "ReadonlyRootfs": False}}

    def __init__(self, engine):
        self.engine, self.client, self.made, self.over = engine, Client(engine.socket), 0, []

    def can(self, kind):
        return kind == "disk" or self.engine.has_criu

    def create(self, argv=WAITING, image=None, words=None):
        name = self.next_name()
        self.client.call("POST", f"/v1.41/containers/create?name={name}",
                         {**(words or self.FRESH), "Image": image or self.engine.image, "Cmd": argv})
        self.client.call("POST", f"/v1.41/containers/{name}/start")
        return name

    def create_persistent(self):
        return self.create(words=self.PERSISTENT)

    def next_name(self):
        self.made += 1
        return f"bench-{self.made}"

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

    def snapshot(self, name, kind):
        if kind == "memory":  # an archive, which ours keeps as well
            return self.client.exchange("POST", f"/v4.0.0/libpod/containers/{name}/checkpoint?export=true&leaveRunning=true", None,
                                        "application/json")[1]
        self.made += 1
        return self.client.call("POST", f"/v1.41/commit?container={name}&repo=bench&tag={self.made}&pause=1", {})["Id"]

    def restore(self, kept, kind):
        """A container that stays, and a command in it, as ours."""
        if kind == "memory":
            name = self.next_name()
            self.client.exchange("POST", f"/v4.0.0/libpod/containers/{name}/restore?import=true&name={name}", kept, "application/x-tar")
        else:
            name = self.create(image=kept, words=self.PERSISTENT)
        self.exec(name)
        return name

    def fork(self, name, kind):
        """They have no word for it, so it takes both."""
        kept = self.snapshot(name, kind)
        child = self.restore(kept, kind)
        self.forked = kept
        return child

    def drop(self, kept, kind):
        if kind == "disk":
            self.client.call("DELETE", f"/v1.41/images/{kept}?force=1")

    def change(self, name, what):
        self.client.call("POST", f"/v1.41/containers/{name}/{'unpause' if what == 'resume' else what}")

    def remove(self, name):
        self.client.call("DELETE", f"/v1.41/containers/{name}?force=1&v=1")

    def close(self):
        self.client.close()


class Typed:
    """The engine's program, as people type it; podman's without a server in between, which is how it is used."""

    # As Theirs.PERSISTENT and Theirs.FRESH say it.
    PERSISTENT = ("--network=none", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--user=1000:1000", "--pids-limit=100", "--memory=2g",
                  "--memory-swap=2g", "--tmpfs=/tmp", "--cgroupns=private", "--log-driver=none")
    FRESH = ("--read-only", *PERSISTENT)

    def __init__(self, theirs):
        self.theirs, self.engine = theirs, theirs.engine

    def can(self, kind):
        return self.theirs.can(kind)

    def type(self, *words, inside=()):
        argv = ["docker", "-H", f"unix://{self.engine.socket}"] if self.engine.name == "docker" else \
            ["podman", "--root", f"{self.engine.root}/data", "--runroot", f"{self.engine.root}/exec", "--tmpdir", f"{self.engine.root}/tmp"]
        environment = {name: value for name, value in os.environ.items() if name not in ("DOCKER_HOST", "CONTAINER_HOST")}
        if self.engine.has_criu:
            environment["PATH"] = f"{engines.criu.found()}:{environment['PATH']}"
        done = subprocess.run([*inside, *argv, *words], timeout=60, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, env={**environment, "CONTAINERS_CONF": f"{self.engine.root}/containers.conf"})
        if done.returncode != 0:
            raise SystemExit(f"bench: {self.engine.name} {words[0]}: {done.stderr[-500:]}")

    def cold(self):
        self.type("run", "--rm", *self.FRESH, self.engine.image, *ARGV)

    def settle(self):
        self.theirs.settle()

    def create(self):
        return self.theirs.create()

    def create_persistent(self):
        return self.theirs.create_persistent()

    def run(self, image=None, words=FRESH):
        """One that no server has made, where the program needs none."""
        name = self.theirs.next_name()
        self.type("run", "--detach", f"--name={name}", *words, image or self.engine.image, *WAITING)
        return name

    def exec(self, name):
        self.type("exec", "--user=1000:1000", name, *ARGV)

    def snapshot(self, name, kind):
        if kind == "memory":
            kept = f"{self.engine.root}/{self.theirs.next_name()}.tar"
            self.type_as_the_engine("container", "checkpoint", "--leave-running", f"--export={kept}", name)
            return kept
        kept = f"localhost/{self.theirs.next_name()}:1"
        self.type("commit", "--pause", name, kept)
        return kept

    def restore(self, kept, kind):
        """A container that stays, and a command in it, as ours."""
        if kind == "memory":
            name = self.theirs.next_name()
            self.type_as_the_engine("container", "restore", f"--import={kept}", f"--name={name}")
        else:
            name = self.run(kept, self.PERSISTENT)
        self.exec(name)
        return name

    def type_as_the_engine(self, *words):
        """In the engine's network: CRIU tries there what sockets can do."""
        self.type(*words, inside=("nsenter", f"--net=/proc/{self.engine.process.pid}/ns/net"))

    def fork(self, name, kind):
        """It has no word for it, so it takes both."""
        kept = self.snapshot(name, kind)
        child = self.restore(kept, kind)
        self.forked = kept
        return child

    def drop(self, kept, kind):
        if kind == "memory":
            os.unlink(kept)
        else:
            self.type("rmi", "--force", kept)

    def change(self, name, what):
        self.type("unpause" if what == "resume" else what, name)

    def remove(self, name):
        self.theirs.remove(name)

    def close(self):
        pass


class Runsc:
    """gVisor's own program with containers from a bundle; it has no server to ask."""

    NAMES = ("runsc", "exe", "atoll-oci")

    def __init__(self, directory):
        self.place, self.made = Path(tempfile.mkdtemp(prefix="runsc-", dir=directory)), 0
        # `now`: what a container is called since it was brought back.
        self.living, self.over, self.now = set(), [], {}
        peers.make_root(self.place / "root")
        self.bundles = {words[0]: self.bundle(words) for words in (ARGV, WAITING)}

    def bundle(self, argv):
        place = self.place / Path(argv[0]).name
        place.mkdir()
        peers.call(["runsc", "spec"], cwd=place)
        path = place / "config.json"
        config = json.loads(path.read_text())
        config["process"].update(terminal=False, args=peers.resolved(argv), user={"uid": 1000, "gid": 1000}, capabilities={})
        config["root"] = {"path": str(self.place / "root"), "readonly": True}
        config["mounts"] += [{"destination": bound, "type": "bind", "source": bound, "options": ["rbind", "ro"]} for bound in peers.BOUND]
        config["mounts"].append({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"})
        path.write_text(json.dumps(config))
        return f"--bundle={place}"

    def can(self, kind):
        return kind == "memory"

    def type(self, *words):
        # Files of our own: what is left running holds them, and a pipe would be waited for.
        with tempfile.TemporaryFile() as said:
            done = subprocess.run([peers.find("runsc"), f"--root={self.place}/state", "--network=none", "--ignore-cgroups", *words],
                                  timeout=60, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)
            if done.returncode != 0:
                said.seek(0)
                raise SystemExit(f"bench: runsc {words[0]}: {said.read()[-500:]!r}")

    def next_name(self):
        self.made += 1
        return f"bench-{self.made}"

    def cold(self):
        self.type("run", self.bundles[ARGV[0]], self.next_name())

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

    def create(self):
        name = self.next_name()
        self.living.add(name)
        self.type("run", "--detach", self.bundles[WAITING[0]], name)
        return name

    def exec(self, name):
        self.type("exec", name, *ARGV)

    def change(self, name, what):
        self.type(what, name)

    def snapshot(self, name, _):
        """It ends with that, so it is brought back: `--leave-running` would stay to wait for it. What it was is removed later,
        because that takes two seconds."""
        kept = tempfile.mkdtemp(prefix="kept-", dir=self.place)
        self.type("checkpoint", f"--image-path={kept}", self.now.get(name, name))
        self.over.append(self.now.get(name, name))
        self.now[name] = self.next_name()
        self.bring_back(self.now[name], kept)
        return kept

    def bring_back(self, name, kept):
        self.living.add(name)
        self.type("restore", "--detach", self.bundles[WAITING[0]], f"--image-path={kept}", name)

    def restore(self, kept, _):
        name = self.next_name()
        self.bring_back(name, kept)
        self.exec(name)
        return name

    def fork(self, name, kind):
        kept = self.snapshot(name, kind)
        child = self.restore(kept, kind)
        self.forked = kept
        return child

    def drop(self, kept, _):
        shutil.rmtree(kept)
        while self.over:
            self.end(self.over.pop())

    def remove(self, name):
        self.end(self.now.pop(name, name))

    def end(self, name):
        self.type("delete", "--force", name)
        self.living.discard(name)

    def close(self):
        for name in list(self.living):
            self.end(name)


def memory_by_pid():
    """KiB of every process, proportional, so that what is shared is counted once."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{name}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    found[int(name)] = int(line.split()[1])
    return found


def idle_kib(face, create):
    """What goes with a crowd of idle sandboxes when they are removed, the engine's helpers included: some of their processes
    may have been there before they were asked for."""
    boxes = [create() for _ in range(CROWD)]
    before = memory_by_pid()
    for box in boxes:
        face.remove(box)
    gone, unchanged = set(), 0
    while unchanged < SETTLED_LOOKS:  # an engine's helper ends a moment after its container
        time.sleep(0.1)
        now = {pid for pid in before if not os.path.exists(f"/proc/{pid}")}
        gone, unchanged = now, unchanged + 1 if now == gone else 0
    return sum(before[pid] for pid in gone) / CROWD


class Samples:
    """What was measured of a driver: of each thing, the series of each side."""

    def __init__(self):
        self.taken = {}

    def take(self, what, side, function, *arguments):
        ms, given = timed(function, *arguments)
        self.taken.setdefault(what, {}).setdefault(side, []).append(ms)
        return given


def measure_driver(faces):
    """`faces`: "ours", and "api" and "program" where there are such."""
    samples = Samples()
    for face in faces.values():
        face.settle()
        face.cold()
    for _ in range(COLD):
        for side, face in faces.items():
            for other in faces.values():
                other.settle()
            samples.take(FRESH, side, face.cold)
    for face in faces.values():
        face.settle()
    boxes = {side: face.create() for side, face in faces.items()}
    often = {"ours": WARM, "api": THEIR_WARM, "program": BY_HAND}
    for i in range(WARM):
        for side, face in faces.items():
            if i % (WARM // often[side]) == 0:
                samples.take(COMMAND, side, face.exec, boxes[side])
    can = faces["ours"].capabilities()
    if can["pause"] != "none":
        for _ in range(COLD):
            for side, face in faces.items():
                for what in ("pause", "resume"):
                    samples.take(what, side, face.change, boxes[side], what)
    for side, face in faces.items():
        face.remove(boxes[side])
    for kind in ["disk"] * can["snapshot"] + ["memory"] * can["checkpoint"]:
        measure_kept(samples, {side: face for side, face in faces.items() if side == "ours" or face.can(kind)}, can, kind)
    for side, face in faces.items():
        samples.taken.setdefault(IDLE, {})[side] = [idle_kib(face, face.run if isinstance(face, Typed) else face.create)]
    return samples.taken


def measure_kept(samples, faces, can, kind):
    """Snapshots of one kind, sandboxes from them and forks; on both sides of a root that can be written to, where there is one."""
    ours = faces["ours"]
    boxes = {side: face.create_persistent() if can["writable_root"] else face.create() for side, face in faces.items()}
    for side, face in faces.items():
        face.exec(boxes[side])
    for _ in range(KEPT):
        for side, face in faces.items():
            kept = samples.take(f"snapshot of {kind}", side, face.snapshot, boxes[side], kind)
            face.remove(samples.take(f"sandbox from it ({kind}) → output", side, face.restore, kept, kind))
            face.drop(kept, kind)
            if can["fork"]:
                face.remove(samples.take(f"fork with {kind} → output", side, face.fork, boxes[side], kind))
                if face is not ours:
                    face.drop(face.forked, kind)
    for side, face in faces.items():
        face.remove(boxes[side])


def measure_none_ahead(context, driver, taken, theirs):
    """Fresh ones of a daemon that makes none ahead, beside the engine's program."""
    samples = Samples()
    with context.another("--parked", "0") as daemon, contextlib.closing(Ours(daemon, driver)) as ours:
        ours.cold()
        for _ in range(COLD):
            for side, face in (("ours", ours), ("program", theirs)):
                theirs.settle()
                samples.take(NONE_AHEAD, side, face.cold)
    return {AHEAD: taken.pop(FRESH), **samples.taken, **taken}


def shown(what, value):
    if what == IDLE:
        return f"{value / 1024:.1f} MiB"
    return f"{value:,.0f} ms" if value >= 100 else f"{value:,.1f} ms" if value >= 10 else f"{value:,.2f} ms"


def rows(driver, taken):
    lines = []
    for what, sides in taken.items():
        ours, ratios, cells = summary(sides["ours"])["p50"], {}, []
        for side in ("api", "program"):
            if side not in sides:
                cells += ["–", "–"]
                continue
            theirs = summary(sides[side])["p50"]
            ratios[side] = ours / theirs
            cells += [shown(what, theirs), f"**{ratios[side]:.2f}×**"]
        aim, verdict = "", ""
        if what in AIMS and ratios:
            ratio = ratios.get("api", ratios.get("program"))
            # What is aimed at for a command is beside a socket, not beside a program's start.
            if what != COMMAND or "api" in ratios:
                aim, verdict = f"≤ {AIMS[what]}×", "met" if ratio <= AIMS[what] else "**missed**"
        lines.append(f"| `{driver}` | {what} | {shown(what, ours)} | {' | '.join(cells)} | {aim} | {verdict} |")
    return lines


def image_tree(directory):
    """The image of the engines, as a tree."""
    tree = Path(directory) / "tree"
    with tarfile.open(fileobj=io.BytesIO(engines.image_tar())) as image:
        image.extractall(tree)
    return tree


def faces_of(context, daemon, driver, engine):
    wish = {"rootfs": str(image_tree(context.directory))} if driver == "chroot" else {}
    faces = {"ours": Ours(daemon, driver, **wish)}
    if engine:
        faces["api"] = Theirs(engine)
        faces["program"] = Typed(faces["api"])
    elif driver == "gvisor":
        faces["program"] = Runsc(context.directory)
    return faces


def measure(context):
    """What is kept, and the lines of the table."""
    kept, lines = {}, []
    with contextlib.ExitStack() as stack:
        started = {}
        for name in ENGINES:
            started[name] = engines.Engine(name, has_criu=name == "podman" and not engines.lacking("criu")).start()
            stack.callback(started[name].stop)
            os.environ.update(started[name].environment)
        daemon = stack.enter_context(context.another())
        for driver in DRIVERS:
            with contextlib.ExitStack() as opened:
                host = opened.enter_context(context.users()) if driver == "rootless" else daemon
                listed = json.loads(host.call("GET", "/v1/drivers"))["drivers"]
                told = next((one for one in listed if one["name"] == driver), None)
                if not told or not told["available"]:
                    print(f"    {driver} is not available here: {told['reason'] if told and 'reason' in told else 'it is not known'}", flush=True)
                    continue
                faces = faces_of(context, host, driver, started.get(driver))
                for face in faces.values():
                    opened.callback(face.close)
                taken = measure_driver(faces)
                if driver == "gvisor":
                    taken = measure_none_ahead(context, driver, taken, faces["program"])
            kept[driver] = taken
            lines += (more := rows(driver, taken))
            print("\n".join(more), flush=True)
    return kept, [*HEAD, *lines]
