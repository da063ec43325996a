"""An extension for Atoll: sandboxes made of Linux namespaces, by an ordinary user. Standard library only.

    namespaces.py --socket PATH --state DIR [--mode OCTAL]

A sandbox is a process in user, mount, pid, network, IPC and UTS namespaces of its own, in a root that has the host's /usr
read-only and else nothing of it. Its first process is Atoll's agent; everything else (commands, files, terminals, ports)
Atoll does itself, over one connection to it. What is here is: make that, hand out the connection, end it, and find it again.

    DIR/sbx…/record.json   whose it is, and which process
    DIR/sbx…/door/         shown read-only in the sandbox: the socket that its agent calls
"""

import argparse
import ctypes
import fcntl
import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import sys
import threading
import time

import atoll_extension
from atoll_extension import Refused

NAME = "namespaces"
VERSION = "1"
CAPABILITIES = {
    "isolation": "container",
    "limits": {"disk": "enforced"},
    "kill_tree": "sure",
    "network": "deny",
    "own_root": True,
    "reset": True,
    "pty": True,
    "ports": True,
    "watch": True,
    "typical_start_ms": 60,
    "not_protected": [
        "sandboxes share the host's kernel: a bug in it is a way out",
        "processors, and the number of processes, have no limit; memory has one per process",
        "files live in memory and are gone with the sandbox",
        "all sandboxes run as the user that this extension runs as",
    ],
}
ID = re.compile(r"sbx[a-z0-9]{20}")
AGENT_PATIENCE_S = 20
MOST_STRANGERS = 64

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (
    0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 24, 36, 38
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
HOST_FILES = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl/certs", "/etc/localtime", "/etc/nsswitch.conf",
              "/etc/services", "/etc/protocols", "/etc/mime.types", "/etc/terminfo", "/etc/os-release", "/etc/python3.11")


# --- inside: what becomes the sandbox ---------------------------------------------------------------------------------

def must(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source, target, kind, flags, options=""):
    must(libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()),
         f"mounting {target}")


def show(source, target):
    """A file or directory of the host, read-only."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        open(target, "w").close()
    mount(source, target, "none", MS_BIND | MS_REC)
    # What the host has forbidden there stays forbidden: the kernel lets nobody take such a flag off.
    kept = os.statvfs(target).f_flag & 0b1111
    mount("none", target, "none", MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | kept)


def be_user(outside_user, outside_group, user):
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {outside_user} 1"), ("gid_map", f"{user} {outside_group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def make_root(root, door, agent, disk_mb):
    mount("none", "/", "none", MS_REC | MS_PRIVATE)
    mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, f"mode=0755,size={disk_mb}m,nr_inodes={disk_mb * 256}")
    for name in ("dev/pts", "dev/shm", "etc", "home/user", "opt/atoll", "proc", "run", "sys", "tmp", "var/tmp", "workspace", ".old"):
        os.makedirs(f"{root}/{name}")
    os.chmod(f"{root}/tmp", 0o1777)
    os.chmod(f"{root}/var/tmp", 0o1777)
    show("/usr", f"{root}/usr")
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if os.path.islink(f"/{name}"):
            os.symlink(os.readlink(f"/{name}"), f"{root}/{name}")
        elif os.path.isdir(f"/{name}"):
            show(f"/{name}", f"{root}/{name}")
    for path in HOST_FILES:
        if os.path.exists(path):
            show(os.path.realpath(path), f"{root}{path}")
    write(f"{root}/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n")
    write(f"{root}/etc/group", "root:x:0:\nuser:x:1000:\n")
    write(f"{root}/etc/hosts", "127.0.0.1 localhost\n")
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        open(f"{root}/dev/{name}", "w").close()
        mount(f"/dev/{name}", f"{root}/dev/{name}", "none", MS_BIND)
    mount("devpts", f"{root}/dev/pts", "devpts", MS_NOSUID, "newinstance,ptmxmode=0666,mode=0620")
    for link, target in (("ptmx", "pts/ptmx"), ("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"),
                         ("stdout", "/proc/self/fd/1"), ("stderr", "/proc/self/fd/2")):
        os.symlink(target, f"{root}/dev/{link}")
    mount("proc", f"{root}/proc", "proc", MS_NOSUID | MS_NODEV)
    show(agent, f"{root}/opt/atoll/agent")
    show(door, f"{root}/opt/atoll/door")


def become_sandbox(arguments):
    """Process 1 of the new namespaces; does not return."""
    root, door, agent, disk_mb = arguments
    loopback = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    fcntl.ioctl(loopback, 0x8914, struct.pack("16sh14x", b"lo", 0x1))  # SIOCSIFFLAGS, IFF_UP
    loopback.close()
    make_root(root, door, agent, int(disk_mb))
    os.chdir(root)
    must(libc.syscall(SYS_PIVOT_ROOT[os.uname().machine], b".", b".old"), "entering the root")
    must(libc.umount2(b"/.old", MNT_DETACH), "leaving the host's files")
    os.rmdir("/.old")
    os.chdir("/workspace")
    socket.sethostname("sandbox")
    # A second user namespace: nobody in it has a right over the mounts that were made in the first.
    must(libc.unshare(CLONE_NEWUSER), "leaving the first user namespace")
    be_user(0, 0, 1000)
    for capability in range(64):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    must(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "giving up new rights")
    os.closerange(3, 1024)
    # As user 1000 it keeps no capability across this; the agent refuses to serve otherwise.
    os.execve("/opt/atoll/agent", ["atoll-agent", "call", "/opt/atoll/door/agent.sock"], {"PATH": "/usr/local/bin:/usr/bin:/bin"})


def inside(arguments):
    """Makes process 1, tells its number on stdout and leaves: the extension, which adopts it, waits for it."""
    user, group = os.geteuid(), os.getegid()
    must(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS),
         "making namespaces")
    be_user(user, group, 0)
    os.setsid()
    told, tell = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        try:
            os.close(told)
            nothing = os.open("/dev/null", os.O_RDWR)
            for number in range(3):
                os.dup2(nothing, number)
            become_sandbox(arguments)
        except BaseException as why:  # whatever it was: the parent has to know
            os.write(tell, str(why).encode()[:4000])
            os._exit(1)
    os.close(tell)
    trouble = os.read(told, 4096)  # ends when the agent is executed
    print(json.dumps({"trouble": trouble.decode(errors="replace")} if trouble else {"pid": child}))
    return 1 if trouble else 0


# --- outside: the driver ----------------------------------------------------------------------------------------------

def started_at(pid):
    """Tells one process from another that has its number later."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[19]


class Sandbox:
    def __init__(self, directory, record):
        self.directory = directory
        self.id = record["id"]
        self.instance = record["instance"]
        self.pid = record["pid"]
        self.process = os.pidfd_open(self.pid)
        self.lock = threading.Lock()  # of whoever waits for the agent
        self.is_destroyed = False
        path = f"{directory}/door/agent.sock"
        if os.path.exists(path):
            os.unlink(path)
        self.door = socket.socket(socket.AF_UNIX)
        # The path may be longer than an address.
        place = os.open(f"{directory}/door", os.O_PATH | os.O_DIRECTORY)
        self.door.bind(f"/proc/self/fd/{place}/agent.sock")
        os.close(place)
        os.chmod(path, 0o666)
        self.door.listen(MOST_STRANGERS)

    def await_agent(self):
        """The agent's next call. What else runs in the sandbox can call, too, and is sent away."""
        until = time.monotonic() + AGENT_PATIENCE_S
        strangers = 0
        with self.lock:
            while strangers < MOST_STRANGERS:
                left = until - time.monotonic()
                ready, _, _ = select.select([self.door, self.process], [], [], max(left, 0))
                if self.process in ready:
                    raise Refused("not_found", f"sandbox {self.id} has ended")
                if not ready:
                    raise Refused("deadline_exceeded", "the sandbox's agent does not call")
                caller, _ = self.door.accept()
                pid, _, _ = struct.unpack("3i", caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
                if pid == self.pid and self._is_open(caller):
                    return caller
                strangers += pid != self.pid
                caller.close()
        raise Refused("unavailable", "others in the sandbox keep its agent from calling", "what runs in it is hostile: remove it")

    @staticmethod
    def _is_open(caller):
        # The first byte comes with the call; an end instead means that the agent has given it up.
        try:
            caller.settimeout(5)
            seen = caller.recv(1, socket.MSG_PEEK)
            caller.settimeout(None)
            return bool(seen)
        except OSError:
            return False

    def wait(self):
        """Until it has ended; its exit code, if it is known: another's child leaves none."""
        select.select([self.process], [], [])
        try:
            ended = os.waitid(os.P_PIDFD, self.process, os.WEXITED)
            return ended.si_status if ended and ended.si_code == os.CLD_EXITED else None
        except ChildProcessError:
            return None

    def end(self):
        # The kernel ends everything in a pid namespace with its first process.
        try:
            signal.pidfd_send_signal(self.process, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Driver:
    def __init__(self, directory, events):
        self.directory = os.path.abspath(directory)
        self.events = events
        self.lock = threading.Lock()
        self.sandboxes = {}
        self.coming = set()
        os.makedirs(self.directory, mode=0o700, exist_ok=True)
        # Who makes a sandbox leaves at once; its first process becomes ours, and we learn how it ends.
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for name in os.listdir(self.directory):
            if ID.fullmatch(name):
                self._take_up(name)

    def _take_up(self, name):
        """What an earlier process of this extension has made, if it still runs."""
        directory = f"{self.directory}/{name}"
        try:
            with open(f"{directory}/record.json") as file:
                record = json.load(file)
            sandbox = Sandbox(directory, record)
            if started_at(record["pid"]) == record["started_at"]:
                return self._keep(sandbox)
        except (OSError, ValueError, KeyError):
            pass
        shutil.rmtree(directory, ignore_errors=True)

    def _keep(self, sandbox):
        with self.lock:
            self.sandboxes[sandbox.id] = sandbox
        threading.Thread(target=self._watch, args=(sandbox,), daemon=True).start()

    def _watch(self, sandbox):
        exit_code = sandbox.wait()
        self._forget(sandbox)
        if not sandbox.is_destroyed:
            self.events.tell_ended(sandbox.id, exit_code)

    def _forget(self, sandbox):
        with self.lock:
            if self.sandboxes.get(sandbox.id) is not sandbox:
                return
            shutil.rmtree(sandbox.directory, ignore_errors=True)
            del self.sandboxes[sandbox.id]
        sandbox.door.close()

    def _find(self, sandbox):
        with self.lock:
            found = self.sandboxes.get(sandbox)
        if found is None:
            raise Refused("not_found", f"no sandbox {sandbox}")
        return found

    # What Atoll calls.

    def hello(self, _configuration):
        if os.geteuid() == 0:
            raise Refused("unavailable", "this extension must not run as root", "start it as an ordinary user")
        return {"name": NAME, "version": VERSION, "capabilities": CAPABILITIES}

    def create(self, id, instance, agent, configuration, resources=None, **_):
        if not ID.fullmatch(id):
            raise Refused("invalid_argument", "malformed sandbox id")
        with self.lock:
            if id in self.sandboxes or id in self.coming:
                raise Refused("already_exists", f"sandbox {id} exists already")
            self.coming.add(id)
        directory = f"{self.directory}/{id}"
        try:
            self._make(directory, id, instance, agent, int((resources or {}).get("disk_mb", configuration.get("disk_mb", 256))))
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        finally:
            with self.lock:
                self.coming.discard(id)

    def _make(self, directory, id, instance, agent, disk_mb):
        for path in (directory, f"{directory}/root", f"{directory}/door"):
            os.mkdir(path, 0o755)
        told, tell = os.pipe2(os.O_CLOEXEC)
        # Not subprocess: between fork and exec nothing of ours may run in a process with threads.
        made = os.posix_spawn(sys.executable, [sys.executable, "-E", "-S", os.path.abspath(__file__), "--inside",
                                               f"{directory}/root", f"{directory}/door", agent, str(disk_mb)], {},
                              file_actions=[(os.POSIX_SPAWN_DUP2, tell, 1)], setsigmask=())
        os.close(tell)
        with os.fdopen(told) as answer:
            text = answer.read()
        os.waitpid(made, 0)
        said = json.loads(text or '{"trouble": "the sandbox could not be started"}')
        if "pid" not in said:
            raise Refused("unavailable", said["trouble"], "user namespaces may be switched off on this host")
        try:
            record = {"id": id, "instance": instance, "pid": said["pid"], "started_at": started_at(said["pid"])}
            write(f"{directory}/record.json.part", json.dumps(record))
            os.rename(f"{directory}/record.json.part", f"{directory}/record.json")
            self._keep(Sandbox(directory, record))
        except BaseException:
            os.kill(said["pid"], signal.SIGKILL)
            raise

    def open(self, sandbox):
        return self._find(sandbox).await_agent(), "calls"

    def list(self):
        with self.lock:
            return {"sandboxes": [{"id": one.id, "instance": one.instance} for one in self.sandboxes.values()]}

    def destroy(self, id):
        try:
            sandbox = self._find(id)
        except Refused:
            return
        sandbox.is_destroyed = True
        sandbox.end()
        select.select([sandbox.process], [], [])
        self._forget(sandbox)


def main():
    if sys.argv[1:2] == ["--inside"]:
        return inside(sys.argv[2:])
    parser = argparse.ArgumentParser(description="Sandboxes of Linux namespaces, for Atoll.")
    parser.add_argument("--socket", required=True)
    parser.add_argument("--state", required=True)
    parser.add_argument("--mode", default="600", help="of the socket, in octal")
    options = parser.parse_args()
    events = atoll_extension.Events()
    driver = Driver(options.state, events)
    atoll_extension.serve(driver, options.socket, events, int(options.mode, 8))


if __name__ == "__main__":
    sys.exit(main())
