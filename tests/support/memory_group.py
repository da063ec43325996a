"""A control group for a daemon and all that it makes: what they have in memory, with the kernel's part, on both versions."""

import contextlib
import os
import pathlib
import time

V1 = "/sys/fs/cgroup/memory"
# As the launcher calls the group of those who step down, since on version 2 processes and controllers cannot share one.
ASIDE = "atoll-supervisor"
# Those that a sandbox has, where they can be had.
WANTED = ("memory", "pids", "cpu", "cpuset")
PATIENCE = 60


def place_of(controller):
    """Where we are in the tree of a controller of version 1, or with "" in that of version 2; None without one."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        number, names, place = line.split(":", 2)
        if controller in names.split(",") and (controller or number == "0"):
            return place.strip("/")
    return None


def top_of_v2():
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind == "cgroup2":
            return pathlib.Path(place)
    return None


class MemoryGroup:
    """Falsy where none can be had; `reason` says why."""

    def __init__(self):
        self.name, self.path, self.reason = f"atoll-memory-{os.getpid()}-{time.monotonic_ns()}", None, ""
        try:
            if place_of("memory") is not None:
                self.make_v1()
            else:
                self.make_v2()
        except OSError as error:
            with contextlib.suppress(OSError):
                self.remove()
            self.path, self.reason = None, f"no memory controller for us: {error}"

    def __bool__(self):
        return self.path is not None

    def make_v1(self):
        self.home = pathlib.Path(V1, place_of("memory"))
        self.path = self.seat = self.home / self.name
        self.path.mkdir()
        self.told = self.path / "memory.usage_in_bytes"

    def make_v2(self):
        top = top_of_v2()
        if top is None:
            raise FileNotFoundError("no control groups are mounted")
        self.home = top / (place_of("") or "")
        offered = (top / "cgroup.controllers").read_text().split()
        if "memory" not in offered:
            raise FileNotFoundError(f"none of memory in {top}")
        (top / "cgroup.subtree_control").write_text(" ".join("+" + one for one in WANTED if one in offered))
        self.path = top / self.name
        self.path.mkdir()
        # So marked, it is where a launcher that we start puts its sandboxes; root's would put them at the top.
        os.setxattr(self.path, "trusted.delegate", b"1")
        self.seat = self.path / ASIDE
        self.seat.mkdir()
        self.told = self.path / "memory.current"

    @contextlib.contextmanager
    def inside(self):
        """Whoever is started meanwhile is counted, and what it starts; we are outside again afterwards."""
        if not self:
            yield
            return
        (self.seat / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (self.home / "cgroup.procs").write_text(str(os.getpid()))

    def used(self):
        return int(self.told.read_text()) if self else 0

    def remove(self):
        """Once those in it have ended; the last of them may be about to."""
        if not self or not self.path.exists():
            return
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                for path, _, _ in os.walk(self.path, topdown=False):
                    os.rmdir(path)
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
