"""The host's side of the attacks: what they are after, put out before and looked at afterwards."""

import array
import contextlib
import ctypes
import fcntl
import glob
import json
import os
import pathlib
import pty
import secrets
import select
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import termios

from live import wait_until

# uid and gid of the victim: the same number as the user's in a sandbox or, for `rootless`, whoever the sandbox is outside.
VICTIM_ID = int(os.environ.get("ATOLL_SECURITY_USER", "1000"))

# What the user `VICTIM_ID` of the host can still do; exits with 1 if it cannot.
PROBES = {
    "inotify_exhaustion": "sys.exit(libc.inotify_init1(0) < 0)",
    "key_exhaustion": "sys.exit(libc.syscall(248, b'user', b'atoll-probe', b'x', 1, -2) < 0)",
}


def directory_for_canaries():
    """Where setuid files and device nodes work: otherwise the control of those attacks could not."""
    # Not in /tmp: there a sandbox without a root of its own may write, whatever Landlock does elsewhere.
    for place in ("/var/lib", "/srv", "/var/tmp"):
        flags = os.statvfs(place).f_flag
        if not flags & (os.ST_NOSUID | os.ST_NODEV):
            return tempfile.mkdtemp(prefix="atoll-attack-", dir=place)
    raise RuntimeError("no directory without nosuid and nodev for the canaries")


def handle_of(path):
    """type:hex, as open_by_handle_at wants it."""
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    if libc.name_to_handle_at(-100, path.encode(), buffer, ctypes.byref(mount), 0) != 0:
        return ""
    size, kind = struct.unpack_from("Ii", buffer)
    return f"{kind}:{buffer.raw[8:8 + size].hex()}"


def remove_segment(key):
    libc = ctypes.CDLL(None)
    segment = libc.shmget(key, 0, 0)
    if segment >= 0:
        libc.shmctl(segment, 0, None)


def remove_hierarchy(name, directory):
    """A cgroup hierarchy without controllers goes when it is unmounted and its last group is really gone."""
    def gone():
        if f"name={name}:" not in pathlib.Path("/proc/self/cgroup").read_text():
            return True
        subprocess.run(["mount", "-t", "cgroup", "-o", f"none,name={name}", "cgroup", directory], check=False)
        subprocess.run(["umount", directory], check=False)
        with contextlib.suppress(AssertionError):
            wait_until(lambda: f"name={name}:" not in pathlib.Path("/proc/self/cgroup").read_text(), "", 0.5)
        return False
    wait_until(gone, "the hierarchy is gone")


class Host:
    """Canaries in a directory of their own, and the victim. A context: all is gone afterwards."""

    def __init__(self, program):
        self.program = program
        self.token = secrets.token_hex(8)
        self.canary = f"canary:{self.token}"
        self.victim = None

    def __enter__(self):
        self.directory = directory_for_canaries()
        os.chmod(self.directory, 0o755)
        self.make_files()
        self.master, self.slave = pty.openpty()
        os.chmod(os.ttyname(self.slave), 0o666)
        self.start_victim()
        return self

    def __exit__(self, *_):
        self.end_victim()
        os.close(self.master)
        os.close(self.slave)
        remove_segment(self.left_key())
        self.remove_leftovers()
        for place in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock", "/usr/share", "/etc", "/opt", "/srv",
                      "/home", "/workspace", "/"):
            with contextlib.suppress(OSError):
                os.unlink(f"{place}/atoll-left-{self.token}")
        shutil.rmtree(self.directory)

    def remove_leftovers(self):
        """What a sandbox without a root of its own left on the host."""
        for place in ("/tmp", "/var/tmp", "/dev/shm", "/"):
            for name in (f"atoll-scratch-{self.token}-*", f"atoll-swap-{self.token}"):
                for left in glob.glob(os.path.join(place, name)):
                    shutil.rmtree(left)

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def make_files(self):
        old = os.umask(0)
        try:
            pathlib.Path(self.path("secret")).write_text(self.canary)
            os.chmod(self.path("secret"), 0o644)
            os.mkdir(self.path("root"), 0o700)
            pathlib.Path(self.path("root", "secret")).write_text(self.canary)
            os.chmod(self.path("root", "secret"), 0o600)
            os.mkdir(self.path("outside"), 0o777)
            self.reset_outside()
            self.shared = self.path("shared")
            os.mkdir(self.shared, 0o755)
            for name in ("atoll-attack", "setuid", "setcap"):
                shutil.copy(self.program, os.path.join(self.shared, name))
                os.chmod(os.path.join(self.shared, name), 0o755)
            os.chmod(os.path.join(self.shared, "setuid"), 0o4755)
            # CAP_NET_BIND_SERVICE, permitted and effective, in the kernel's second format.
            os.setxattr(os.path.join(self.shared, "setcap"), "security.capability",
                        struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0))
            os.mknod(os.path.join(self.shared, "device"), stat.S_IFCHR | 0o666, os.makedev(1, 5))
            script = pathlib.Path(self.shared, "atoll-agent-script")
            script.write_text("#!/proc/self/exe\n")
            os.chmod(script, 0o755)
            pathlib.Path(self.shared, "alive").touch(0o644)
            helper = pathlib.Path(self.path("helper"))
            helper.write_text(f"#!/bin/sh\necho ran > {self.path('helper-ran')}\n")
            os.chmod(helper, 0o755)
        finally:
            os.umask(old)

    def reset_outside(self):
        """OUTSIDE as the file API must not find it, and must leave it."""
        outside = pathlib.Path(self.path("outside"))
        for entry in outside.iterdir():
            if entry.name == "victim.sock":
                continue
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        for name in ("file", "only_outside", "removable"):
            (outside / name).write_text(self.canary)
            os.chmod(outside / name, 0o666)

    def in_outside(self, name):
        return os.path.lexists(self.path("outside", name))

    # The victim.

    def start_victim(self):
        environment = {"ATOLL_ATTACK_TOKEN": self.token, "ATOLL_ATTACK_OUTSIDE": self.path("outside")}
        self.victim = subprocess.Popen(
            [os.path.join(self.shared, "atoll-attack"), "--victim"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=environment, user=VICTIM_ID, group=VICTIM_ID, extra_groups=[], cwd="/")
        self.victim_facts = json.loads(self.victim.stdout.readline())

    def end_victim(self):
        self.victim.stdin.close()
        self.victim.wait(timeout=10)
        self.victim.stdout.close()

    def revive_victim(self):
        """A new one, if the last was killed. What it could not remove is removed here."""
        if self.victim.poll() is None:
            return
        self.victim.stdin.close()
        self.victim.stdout.close()
        facts = self.victim_facts
        for path in (facts["SHM_FILE"], facts["SOCKET"], f"/dev/mqueue{facts['QUEUE']}"):
            with contextlib.suppress(OSError):
                os.unlink(path)
        ctypes.CDLL("librt.so.1").mq_unlink(facts["QUEUE"].encode())
        remove_segment(facts["SHM_KEY"])
        self.start_victim()

    # What attacks are told.

    def environment(self):
        told = {
            "TOKEN": self.token, "IN_BOX": "1", "SECRET": self.path("secret"),
            "SECRET_ROOT": self.path("root", "secret"), "SECRET_HANDLE": handle_of(self.path("root", "secret")),
            "SHARED": self.shared, "OUTSIDE": self.path("outside"), "PTY": os.ttyname(self.slave),
            "MOUNTS": os.readlink("/proc/self/ns/mnt"), "HOSTNAME": socket.gethostname(),
            "KERNEL": " ".join(pathlib.Path("/proc/version").read_text().split()[:3]),
            "RELEASE_HELPER": self.path("helper"), "LEFT_KEY": str(self.left_key()),
        }
        told.update({f"VICTIM_{name}": str(value) for name, value in self.victim_facts.items()})
        return {f"ATOLL_ATTACK_{name}": value for name, value in told.items()}

    def left_key(self):
        return 0x43000000 | int(self.token[:6], 16)

    # Looking afterwards.

    def survivor_lives(self):
        """It holds a lock, through all the pids that it has."""
        with open(os.path.join(self.shared, "alive"), "rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def end_survivor(self):
        stop = pathlib.Path(self.shared, "stop")
        stop.touch()
        wait_until(lambda: not self.survivor_lives(), "the survivor stops", 40)
        stop.unlink()

    def probe(self, attack, uid=VICTIM_ID):
        """Whether a user of the host can still have what the attack tries to use up."""
        code = f"import ctypes, sys; libc = ctypes.CDLL(None); {PROBES[attack]}"
        return subprocess.run([sys.executable, "-c", code], user=uid, group=uid, extra_groups=[], cwd="/",
                              timeout=20).returncode == 0

    def forget(self):
        """What an earlier attack, or its control, left where the next one looks for its own."""
        if self.in_outside("written"):
            os.unlink(self.path("outside", "written"))

    def evidence(self, attack, reached):
        """What the host itself sees of it: text, or "" if nothing. What was done is undone."""
        if attack == "signal_victim":
            if reached:  # the signal is on its way
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.victim.wait(timeout=5)
            if self.victim.poll() is not None:
                self.revive_victim()
                return "the victim is dead"
        if attack == "oom_score_victim":
            path = pathlib.Path(f"/proc/{self.victim.pid}/oom_score_adj")
            if path.read_text().strip() == "900":
                path.write_text("0")
                return "the victim's oom_score_adj is 900"
        if attack == "release_agent":
            if reached:
                with contextlib.suppress(AssertionError):
                    wait_until(lambda: os.path.exists(self.path("helper-ran")), "the helper runs", 5)
            remove_hierarchy(f"atoll-attack-{self.token}", self.path("root"))
            if os.path.exists(self.path("helper-ran")):
                os.unlink(self.path("helper-ran"))
                return "the kernel ran the helper"
        if attack == "write_outside" and self.in_outside("written"):
            os.unlink(self.path("outside", "written"))
            return "the file is there"
        if attack == "host_terminal" and select.select([self.master], [], [], 0)[0]:
            return f"the terminal shows {os.read(self.master, 1000)!r}"
        return ""


# Attacks of which the host must see the trace before `reached` is believed.
NEEDS_EVIDENCE = {"signal_victim", "oom_score_victim", "release_agent", "write_outside", "host_terminal"}


def typed_into(terminal):
    """What was typed into it and waits to be read: b"" if nothing."""
    waiting = array.array("i", [0])
    fcntl.ioctl(terminal, termios.FIONREAD, waiting)
    return os.read(terminal, waiting[0]) if waiting[0] else b""
