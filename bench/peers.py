#!/usr/bin/env python3
"""The sandboxes of other people: the same payloads as ours, timed in the same way, from spawn to exit.

    peers.py [NAME…] [--count N] [--seconds S]

Each gets no network, a read-only root with the host's /usr and a private /tmp, and, if it knows limits, ours. A peer that
keeps things (containers, mounts, a daemon) does so in a room: namespaces for mounts, processes and network, which end
with us however we end, and all that is in them with them. What can outlast a killed run are control groups and files,
both named after their owner; the next run removes those of the dead.

ATOLL_RUNSC names the runsc to measure; the packaged one is old, and `go install gvisor.dev/gvisor/runsc@latest` makes a
current one.
"""
import argparse
import contextlib
import hashlib
import json
import os
import re
import secrets
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

from samples import summary  # noqa: E402

PAYLOADS = [["/bin/true"], ["python3", "-c", "print(1)"]]
# Of every run, so that nobody's settings or shims are measured.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT = {"PATH": PATH, "HOME": "/", "LANG": "C.UTF-8"}
# What a native sandbox may use if nothing is said.
MEMORY = 2 << 30
PIDS = 1024

MARK = "atoll-peers-"
RUN_SECONDS = 30
START_SECONDS = 30
END_SECONDS = 20


class PeerFailure(Exception):
    """What a peer could not do, with its own words."""


def find(program):
    return shutil.which(program, path=f"{PATH}:{os.environ.get('PATH', '')}")


def resolved(argv):
    """With the absolute path of the program, which is the same inside and out."""
    program = shutil.which(argv[0], path=PATH)
    if not program:
        raise PeerFailure(f"no {argv[0]} in {PATH}")
    return [program, *argv[1:]]


def call(argv, **kwargs):
    """Runs a command of the preparation; its words are in the error."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=START_SECONDS, env=ENVIRONMENT, **kwargs)
    except subprocess.TimeoutExpired:
        raise PeerFailure(f"{shlex.join(argv)}: no end within {START_SECONDS} s") from None
    if done.returncode != 0:
        raise PeerFailure(f"{shlex.join(argv)} gave {done.returncode}: {done.stdout[-2000:].strip()}")


def version_of(program):
    """As the program tells it, behind its name; nothing of one that does not."""
    path = find(program)
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, errors="replace", timeout=START_SECONDS, env=ENVIRONMENT)
        found = re.search(r"(release-\d+|\d+)(\.\d+)+[\w.+~-]*", done.stdout)
        if done.returncode == 0 and found:
            return f"{Path(program).name} {found[0]}"
    return ""


def tail_of(path):
    with contextlib.suppress(OSError):
        return Path(path).read_text(errors="replace")[-2000:].strip()
    return ""


# Timing


def wait_for(pid):
    """The exit status; after RUN_SECONDS, or when we are told to stop, the process is killed."""
    ended = os.pidfd_open(pid)
    try:
        waiter = select.poll()
        waiter.register(ended, select.POLLIN)
        if not waiter.poll(RUN_SECONDS * 1000):
            raise PeerFailure(f"no end within {RUN_SECONDS} s")
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except BaseException:
        signal.pidfd_send_signal(ended, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    finally:
        os.close(ended)


def time_runs(command, count, seconds):
    """Microseconds of each run, one after the other. A first one, which warms the caches, is not counted."""
    # Files of our own: some runtimes give what they find at 0, 1 and 2 to the user of the container, /dev/null as well.
    with (open(os.memfd_create("stdin"), "rb") as nothing, open(os.memfd_create("stdout"), "wb") as output,
          open(os.memfd_create("stderr"), "r+b", buffering=0) as errors):
        actions = [(os.POSIX_SPAWN_DUP2, file.fileno(), number) for number, file in enumerate((nothing, output, errors))]

        def run():
            start = time.perf_counter_ns()
            status = wait_for(os.posix_spawn(command[0], command, ENVIRONMENT, file_actions=actions))
            took = (time.perf_counter_ns() - start) / 1000
            if status != 0:
                errors.seek(0)
                said = errors.read().decode(errors="replace")[-2000:].strip()
                raise PeerFailure(f"{shlex.join(command)} gave {status}: {said}")
            return took

        run()
        samples = []
        begin = time.monotonic()
        while not samples or len(samples) < count and time.monotonic() - begin < seconds:
            samples.append(run())
        return samples


def measure(peer, argv, count, seconds):
    """Microseconds of wall time of each run: `count` of them, or as many as `seconds` allow.

    For a peer with a room the clock is in there as well, so that entering it is not counted."""
    command = peer.command(argv)
    if not peer.enter:
        return time_runs(command, count, seconds)
    job = json.dumps([command[len(peer.enter):], count, seconds])
    try:
        done = subprocess.run([*peer.enter, sys.executable, os.path.abspath(__file__), "--inside", job],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=seconds + 2 * RUN_SECONDS + START_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise PeerFailure(f"no end within {error.timeout:.0f} s") from None
    if done.returncode != 0:
        raise PeerFailure(done.stderr.strip())
    return json.loads(done.stdout)


# What peers stand on


class Room:
    """Mount, process and network namespaces; `enter` is put before a command that is to run there.

    The room ends when the pipe to its first process closes: in close(), or with us."""

    # Where peers write outside their own directory. Empty in the room, and gone with it.
    COVERED = ["/run", "/var/lib", "/dev/shm", "/etc/docker", "/etc/cni/net.d"]

    def __init__(self, place, *more):
        hidden = [path for path in self.COVERED if Path(path) in place.parents]
        if hidden:
            raise PeerFailure(f"{place} cannot be used: peers see nothing of {hidden[0]}")
        # The shell stays, to reap whom nobody else reaps.
        script = [f"mount -t tmpfs tmpfs {path}" for path in self.COVERED if os.path.isdir(path)]
        script += [*more, "echo ready", "cat", "exit 0"]
        with open(place / "room.log", "wb") as log:
            self.holder = subprocess.Popen(
                ["unshare", "--mount", "--pid", "--net", "--fork", "--mount-proc", "sh", "-ec", "\n".join(script)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        try:
            if not select.select([self.holder.stdout], [], [], START_SECONDS)[0] or not self.holder.stdout.readline():
                raise PeerFailure(f"no namespaces: {tail_of(place / 'room.log')}")
        except BaseException:
            self.close()
            raise
        own = f"/proc/{self.holder.pid}/ns"
        self.enter = [find("nsenter"), f"--mount={own}/mnt", f"--pid={own}/pid_for_children", f"--net={own}/net", "--"]

    def close(self):
        """Returns when the last process of the room is gone."""
        self.holder.stdin.close()
        try:
            self.holder.wait(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            self.holder.kill()
            self.holder.wait(timeout=END_SECONDS)
        self.holder.stdout.close()


def host_links():
    """The names in / that lead into /usr, and those that are directories beside it."""
    names = [name for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32") if os.path.isdir(f"/{name}")]
    links = {name: os.readlink(f"/{name}") for name in names if os.path.islink(f"/{name}")}
    return links, ["/usr", *(f"/{name}" for name in names if name not in links)]


LINKS, BOUND = host_links()


def make_root(root):
    """A root of directories, links and three files, into which BOUND are mounted."""
    for name in ("proc", "dev", "sys", "tmp", "run", "etc", *(path[1:] for path in BOUND)):
        (root / name).mkdir(parents=True)
    for name, target in LINKS.items():
        (root / name).symlink_to(target)
    for name in ("ld.so.cache", "passwd", "group"):
        shutil.copy(f"/etc/{name}", root / "etc" / name)
    return root


def make_image(place):
    """The same root as a tar to import."""
    with tarfile.open(place / "image.tar", "w") as image:
        image.add(make_root(place / "root"), arcname=".")
    return place / "image.tar"


def mount_points(kinds=None):
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, right = line.split(" - ", 1)
        if kinds is None or right.split()[0] in kinds:
            yield Path(re.sub(r"\\(\d{3})", lambda escape: chr(int(escape[1], 8)), left.split()[4]))


def control_groups(name):
    return [path for root in mount_points({"cgroup", "cgroup2"}) for path in root.glob(name)]


def remove_control_group(path, seconds):
    """False if one is not empty even after so long."""
    deadline = time.monotonic() + seconds
    for directory, _, _ in os.walk(path, topdown=False):
        while True:
            try:
                os.rmdir(directory)
            except FileNotFoundError:
                pass
            except OSError:
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.02)
                continue
            break
    return True


def remove_tree(path):
    """False if it is not gone. Never deletes through a mount: what is mounted is the host's /usr."""
    if any(path == mount or path in mount.parents for mount in mount_points()):
        return False
    shutil.rmtree(path, ignore_errors=True)
    return not path.exists()


def is_orphan(path):
    """Whether it bears our mark and its owner is gone."""
    owner = path.name.removeprefix(MARK).split("-")[0]
    return owner.isdigit() and not os.path.exists(f"/proc/{owner}") and path.lstat().st_uid == os.geteuid()


def sweep():
    """Removes what killed runs have left: they can no longer."""
    for path in filter(is_orphan, control_groups(f"{MARK}*")):
        remove_control_group(path, 0)
    for path in filter(is_orphan, Path(tempfile.gettempdir()).resolve().glob(f"{MARK}*")):
        remove_tree(path)


# The peers


class Peer:
    """`command` is valid between prepare() and close(), for one run at a time."""

    name = ""
    lacks = ""  # what ours does and this does not
    how = ""  # what was chosen of several ways to run it
    programs = []
    versions_of = []  # programs whose versions say what was measured; empty = the first of `programs`
    needs_root = True

    def __init__(self):
        self.place = self.room = None
        self.enter = []

    def is_available(self):
        """Whether it can be tried here, and if not, why."""
        if self.needs_root and os.geteuid() != 0:
            return False, "needs root"
        missing = [program for program in self.programs if not find(program)]
        return not missing, f"not installed: {', '.join(missing)}" if missing else ""

    def prepare(self, directory):
        self.close()
        sweep()
        self.place = Path(directory).resolve() / f"{MARK}{os.getpid()}-{secrets.token_hex(3)}"
        self.place.mkdir()
        try:
            self.set_up()
            self.run_once()
        except BaseException:
            self.close()
            raise

    def close(self):
        """Ends and removes all of it, and says what could not be. Does nothing when there is nothing."""
        if self.room:
            self.room.close()
        self.room, self.enter = None, []
        if not self.place:
            return
        place, self.place = self.place, None
        left = [path for path in control_groups(place.name) if not remove_control_group(path, END_SECONDS)]
        left += [] if remove_tree(place) else [place]
        if left:
            raise PeerFailure(f"{self.name} has left behind: {', '.join(map(str, left))}")

    def told(self):
        """Its name, with the versions that were measured and what was chosen of several ways. For one that is prepared."""
        asked = self.versions_of or self.programs[:1]
        details = [*(version_of(program) for program in asked), self.how]
        shown = ", ".join(filter(None, details))
        return f"{self.name} ({shown})" if shown else self.name

    def run_once(self):
        measure(self, ["/bin/true"], 1, RUN_SECONDS)

    def first_that_runs(self, attribute, choices):
        """Sets the attribute to the first of the choices with which it runs."""
        problems = []
        for choice in choices:
            setattr(self, attribute, choice)
            self.how = f"{attribute} {choice}"
            try:
                return self.run_once()
            except PeerFailure as error:
                problems.append(f"{self.how}: {error}")
        raise PeerFailure("\n".join(problems) or f"no {attribute} to run it with")

    def make_room(self, *more):
        self.room = Room(self.place, *more)
        self.enter = self.room.enter

    def set_up(self):
        pass

    def command(self, argv):
        """What runs this payload once in a fresh sandbox."""
        raise NotImplementedError


class Bare(Peer):
    name = "posix_spawn"
    lacks = "no sandbox"
    needs_root = False

    def command(self, argv):
        return resolved(argv)


class Unshare(Peer):
    name = "unshare"
    lacks = "hides no files, drops no rights, no seccomp, no limits"
    programs = ["unshare"]

    def command(self, argv):
        return [find("unshare"), "--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup", "--fork", "--kill-child",
                "--mount-proc", *resolved(argv)]


class Bwrap(Peer):
    name = "bwrap"
    lacks = "no seccomp, no limits"
    programs = ["bwrap"]
    needs_root = False

    def set_up(self):
        make_root(self.place / "root")

    def command(self, argv):
        binds = [part for path in BOUND for part in ("--ro-bind", path, path)]
        links = [part for name, target in LINKS.items() for part in ("--symlink", target, f"/{name}")]
        return [find("bwrap"), "--unshare-all", "--die-with-parent", *binds, *links, "--ro-bind",
                str(self.place / "root" / "etc"), "/etc", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
                "--remount-ro", "/", "--chdir", "/", "--cap-drop", "ALL", *resolved(argv)]


class Runtime(Peer):
    """An OCI runtime without an engine: its own default bundle, with our root, our limits and no terminal."""

    lacks = "no seccomp, no user namespace"
    before = []

    def __init__(self, name):
        super().__init__()
        self.name, self.programs = name, [name]

    def set_up(self):
        make_root(self.place / "root")
        self.make_room(*self.before)

    def command(self, argv):
        bundle = self.place / hashlib.sha256(json.dumps(argv).encode()).hexdigest()[:12]
        if not bundle.exists():
            bundle.mkdir()
            call([find(self.name), "spec"], cwd=bundle)
            self.adapt(bundle / "config.json", argv)
        return [*self.enter, find(self.name), "run", "--bundle", str(bundle), bundle.name]

    def adapt(self, path, argv):
        config = json.loads(path.read_text())
        config["process"].update(terminal=False, args=resolved(argv))
        config["root"] = {"path": str(self.place / "root"), "readonly": True}
        config["mounts"] += [{"destination": bound, "type": "bind", "source": bound, "options": ["rbind", "ro"]}
                             for bound in BOUND]
        config["mounts"].append(
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"]})
        config["linux"]["cgroupsPath"] = f"/{self.place.name}/{path.parent.name}"
        config["linux"].setdefault("resources", {}).update(memory={"limit": MEMORY}, pids={"limit": PIDS})
        path.write_text(json.dumps(config))


# crun refuses a version 2 hierarchy beside those of version 1 if it has any controller. It is not asked for one there.
ONLY_V1 = "! mountpoint -q /sys/fs/cgroup/unified || umount /sys/fs/cgroup/unified"


class Crun(Runtime):
    before = [ONLY_V1]


class RunscDo(Peer):
    name = "runsc do"
    lacks = "hides no files, no limits"
    platform = "ptrace"

    @property
    def versions_of(self):
        return [self.program()]

    def is_available(self):
        if os.geteuid() != 0:
            return False, "needs root"
        return (True, "") if self.program() else (False, "no runsc on PATH, and ATOLL_RUNSC does not name one")

    @staticmethod
    def program():
        return find(os.environ.get("ATOLL_RUNSC") or "runsc")

    def set_up(self):
        self.make_room()
        self.first_that_runs("platform", ["systrap", "ptrace"])

    def command(self, argv):
        return [*self.enter, self.program(), "--network=none", "--ignore-cgroups", f"--platform={self.platform}", "do",
                "-cwd", "/", *resolved(argv)]


CONTAINER = ["--network", "none", "--read-only", "--tmpfs", "/tmp", "--memory", str(MEMORY), "--pids-limit", str(PIDS),
             "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--log-driver", "none", "--pull", "never",
             *(f"--volume={path}:{path}:ro" for path in BOUND)]
IMAGE = "localhost/atoll-peers"


class PodmanRun(Peer):
    name = "podman run"
    lacks = "no user namespace"
    programs = ["podman", "conmon"]
    runtime = "crun"

    def set_up(self):
        self.make_room(ONLY_V1)
        call([*self.podman(), "import", str(make_image(self.place)), IMAGE])
        self.first_that_runs("runtime", [runtime for runtime in ("crun", "runc") if find(runtime)])
        self.versions_of = ["podman", self.runtime]

    def podman(self):
        return [*self.enter, find("podman"), "--root", str(self.place / "storage"), "--cgroup-manager", "cgroupfs",
                "--events-backend", "none", "--runtime", self.runtime]

    def command(self, argv):
        return [*self.podman(), "run", "--rm", *CONTAINER, "--cgroup-parent", f"/{self.place.name}", "--ulimit", "host",
                IMAGE, *resolved(argv)]


class DockerRun(Peer):
    """With a dockerd of its own in the room. The client, which is what is timed, is outside."""

    name = "docker run"
    lacks = "no user namespace"
    programs = ["dockerd", "containerd", "runc", "docker"]
    versions_of = ["dockerd", "runc"]
    engine = None

    def close(self):
        try:
            super().close()
        finally:
            if self.engine:
                self.engine.wait(timeout=END_SECONDS)  # it ended with the room
            self.engine = None

    def set_up(self):
        image = make_image(self.place)
        self.make_room()
        self.start_engine()
        self.enter = []
        call([*self.docker(), "import", str(image), IMAGE])

    def start_engine(self):
        address = self.place / "docker.sock"
        with open(self.place / "dockerd.log", "wb") as log:
            self.engine = subprocess.Popen(
                [*self.enter, find("dockerd"), "--data-root", str(self.place / "data"), "--host", f"unix://{address}",
                 "--bridge=none", "--iptables=false", "--ip-forward=false", "--ip-masq=false",
                 f"--cgroup-parent=/{self.place.name}", "--exec-opt", "native.cgroupdriver=cgroupfs"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while not answers(address):
            if self.engine.poll() is not None or time.monotonic() > deadline:
                raise PeerFailure(f"dockerd does not start: {tail_of(self.place / 'dockerd.log')}")
            time.sleep(0.05)

    def docker(self):
        # The client that came with the engine, if there are several.
        beside = Path(find("dockerd")).parent.parent / "bin" / "docker"
        program = str(beside) if os.access(beside, os.X_OK) else find("docker")
        return [program, "--config", str(self.place / "client"), "--host", f"unix://{self.place / 'docker.sock'}"]

    def command(self, argv):
        return [*self.docker(), "run", "--rm", *CONTAINER, IMAGE, *resolved(argv)]


class DockerExec(DockerRun):
    name = "docker exec"
    lacks = "no fresh sandbox: all runs share one"

    def set_up(self):
        super().set_up()
        sleep = resolved(["sleep", "infinity"])
        call([*self.docker(), "run", "--detach", "--name", "sleeper", *CONTAINER, IMAGE, *sleep])

    def command(self, argv):
        return [*self.docker(), "exec", "sleeper", *resolved(argv)]


def answers(address):
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1)
        connection.connect(str(address))
        connection.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
        return b" 200 " in connection.recv(4096)
    return False


class Nsjail(Peer):
    name = "nsjail"
    lacks = "no seccomp, no limits but rlimits"
    programs = ["nsjail"]

    def set_up(self):
        make_root(self.place / "root")

    def command(self, argv):
        binds = [part for path in BOUND for part in ("--bindmount_ro", path)]
        return [find("nsjail"), "--mode", "o", "--really_quiet", "--time_limit", "0", "--chroot",
                str(self.place / "root"), *binds, "--tmpfsmount", "/tmp", "--", *resolved(argv)]


class Srt(Peer):
    name = "srt"
    lacks = "hides no files, no limits"
    programs = ["srt", "bwrap", "socat", "rg"]

    def set_up(self):
        self.make_room()
        (self.place / "settings.json").write_text(json.dumps({
            "network": {"allowedDomains": [], "deniedDomains": []},
            "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}}))

    def command(self, argv):
        # It forgets its sockets where temporary files are.
        return [*self.enter, find("env"), f"TMPDIR={self.place}", find("srt"), "--settings",
                str(self.place / "settings.json"), "-c", shlex.join(resolved(argv))]


BARE = Bare()
PEERS = [Unshare(), Bwrap(), Runtime("runc"), Crun("crun"), RunscDo(), PodmanRun(), DockerRun(), DockerExec()]
# Nobody packages these, so they are measured where somebody has installed them.
PEERS += [peer for peer in (Nsjail(), Srt()) if find(peer.programs[0])]


# The table


def row(peer, series):
    cells = [f"{len(samples):5} {summary(samples)['p50']:9,.0f} {summary(samples)['p99']:9,.0f}" for samples in series]
    return f"{peer.name:12} {'  '.join(cells)}  {peer.lacks}" + (f" ({peer.how})" if peer.how else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=f"one of {', '.join(repr(peer.name) for peer in PEERS)}; all if none")
    parser.add_argument("--count", type=int, default=100, help="runs of each payload")
    parser.add_argument("--seconds", type=float, default=5, help="for each payload, at most")
    parser.add_argument("--inside", help=argparse.SUPPRESS)  # how measure() calls itself in a room
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if options.inside:
        try:
            print(json.dumps(time_runs(*json.loads(options.inside))))
        except PeerFailure as error:
            sys.exit(str(error))
        return 0
    unknown = set(options.names) - {peer.name for peer in PEERS}
    if unknown:
        parser.error(f"no peer '{unknown.pop()}'; there are {', '.join(peer.name for peer in PEERS)}")

    failed = False
    print(f"{'µs':12} " + "  ".join(f"{shlex.join(argv):^25.25}" for argv in PAYLOADS))
    print(f"{'':12} " + "  ".join(f"{'n':>5} {'p50':>9} {'p99':>9}" for _ in PAYLOADS), flush=True)
    sweep()
    directory = Path(tempfile.mkdtemp(prefix=f"{MARK}{os.getpid()}-")).resolve()
    try:
        for peer in [BARE, *(peer for peer in PEERS if peer.name in options.names or not options.names)]:
            available, why_not = peer.is_available()
            if not available:
                print(f"{peer.name:12} skipped: {why_not}", flush=True)
                continue
            try:
                peer.prepare(directory)
                try:
                    series = [measure(peer, argv, options.count, options.seconds) for argv in PAYLOADS]
                finally:
                    peer.close()
                print(row(peer, series), flush=True)
            except PeerFailure as error:
                failed = True
                print(f"{peer.name:12} failed: {error}", flush=True)
    finally:
        remove_tree(directory)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
