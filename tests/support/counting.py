"""What can be counted of a daemon, its launcher and their sandboxes, from outside."""

import contextlib
import os
import pathlib

from live import all_pids, parent_of, stat_of

IDS = "/run/atoll/ids"


def rss_of(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"process {pid} tells no VmRSS")


def family_of(ancestors):
    """They and everything below them."""
    parents = {pid: parent_of(pid) for pid in all_pids()}
    family = set(ancestors)
    grown = True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in family} - family
        grown = bool(more)
        family |= more
    return {pid for pid in family if stat_of(pid)}


def marked_with(ids):
    """Processes of our sandboxes, whoever their parent is."""
    found = set()
    for pid in all_pids():
        with contextlib.suppress(OSError):
            for entry in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                name, _, value = entry.partition(b"=")
                if name == b"ATOLL_SANDBOX_ID" and value.decode(errors="replace") in ids:
                    found.add(pid)
    return found


def namespaces_of(pids):
    """Namespaces that they are in, or that they hold open."""
    found = set()
    for pid in pids:
        for directory in (f"/proc/{pid}/ns", f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                for name in os.listdir(directory):
                    with contextlib.suppress(OSError):
                        target = os.readlink(f"{directory}/{name}")
                        if directory.endswith("ns") or target.startswith(("user:[", "net:[", "mnt:[", "pid:[")):
                            found.add(target)
    return found


def networks_held_by(pid):
    """Network namespaces that it holds open, one for each descriptor."""
    found = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            if target.startswith("net:["):
                found.append(target)
    return found


def locks_of(pids):
    """How many ranges of ids are locked by these processes, or by what they have started."""
    ranges = {entry.inode() for entry in os.scandir(IDS)} if os.path.isdir(IDS) else set()
    held = 0
    for line in pathlib.Path("/proc/locks").read_text().splitlines():
        fields = line.split()
        if "FLOCK" in fields:
            at = fields.index("FLOCK")
            if int(fields[at + 3]) in pids and int(fields[at + 4].split(":")[2]) in ranges:
                held += 1
    return held


def cgroups_of(ids):
    return sum(name in ids for _, directories, _ in os.walk("/sys/fs/cgroup") for name in directories)


def memory_of(pid, kind):
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(kind + ":"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"process {pid} tells no {kind}")


def pss_of(pid):
    """What a process has in memory, with its part of what it shares."""
    return memory_of(pid, "Pss")


def private_of(pid):
    """What it has written itself: nobody else has to do with it."""
    return memory_of(pid, "Private_Dirty")


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))
