"""Attacks on containers of an engine that the suite starts for itself (docker, podman), and their controls.

No directory of the host is shown to a container: what attacks need of it is in the image, at the same path. The control is a
container of the same image with everything that the driver takes away: privileged, as root or as the user, in the host's
namespaces, with the host's files. An attack is run there as the engine runs a command, without an agent of ours.
"""

import contextlib
import json
import os
import pathlib
import struct
import tarfile

from engine import Engine, Verdict, verdict_of_output
from engines import Engine as Server
from host import VICTIM_ID
from live import wait_until

NETWORK = "the engine of the suite has a network of its own, and not the host's"
LEAKS = "the engine leaves nothing open"
# Its control is sharp_test, on the host itself. These are about our agent, its files and its launcher, or about a limit that
# a container would have to be made without; or they take away what the container itself stands on.
WITHOUT_CONTROL = {
    "cgroup_path": "about our own cgroup",
    "umount_root": "it would take the root of the container for all the others",
    "umount_masks": "nothing is masked there",
    "remount_writable": "it is writable there",
    "tcp_to_host": NETWORK, "udp_to_host": NETWORK, "abstract_socket": NETWORK, "netlink_sockets": NETWORK,
    "key_of_victim": "the engine gives every container a session keyring of its own",
    "leaked_descriptors": LEAKS, "leaked_directory": LEAKS,
    "real_time": "the engine's control groups have no real-time budget",
}
# Podman's container that has everything is shown these as any other.
READ_ONLY = "podman shows it read-only there, too"
WITHOUT_CONTROL_ON_PODMAN = {
    "core_pattern": READ_ONLY, "proc_attr_redirect": READ_ONLY, "proc_sys_write": READ_ONLY,
    "timer_list": "podman hides it there, too",
    "cgroup_files": "podman shows no control group of its own there",
}

# Stands for the agent: the engine's own program that starts a command is gone a moment later, or not.
PARENT = ["/bin/sh", "-c", '"$@"; exit $?', "sh"]


def add_shared(directory):
    """For the image: a directory of the host as it is, with setuid bits, device nodes and file capabilities."""
    def add(tar):
        for name in sorted(os.listdir(directory)):
            path = os.path.join(directory, name)
            info = tar.gettarinfo(path, path.lstrip("/"))
            info.uid = info.gid = 0
            with contextlib.suppress(OSError):
                held = os.getxattr(path, "security.capability")
                info.pax_headers["SCHILY.xattr.security.capability"] = held.decode("latin-1")
            if info.isfile():
                with open(path, "rb") as content:
                    tar.addfile(info, content)
            elif info.type in (tarfile.CHRTYPE, tarfile.BLKTYPE):
                tar.addfile(info)
    return add


class Contained(Engine):
    shows_directories = False
    image = "atoll-attack:latest"

    def __init__(self, host, driver, atoll, libexec, without=(), user=None):
        if driver == "podman":
            self.image = f"localhost/{self.image}"
        self.weak = {}
        self.server = Server(driver).start()
        try:
            self.server.import_image(self.image, add_shared(host.shared))
            super().__init__(host, driver, atoll, libexec, without, user)
        except BaseException:
            self.server.stop()
            raise

    def more(self):
        return {**self.server.environment, f"ATOLL_{self.server.name.upper()}_IMAGE": self.image}

    def end(self):
        try:
            super().end()
        finally:
            for container in self.weak.values():
                self.server.ask("DELETE", f"/v1.41/containers/{container}?force=1&v=1")
            left = self.server.stop()
        if left:
            raise AssertionError(f"{self.driver} has left: {left}")

    def master_pid(self):
        return self.server.process.pid

    def container(self, box):
        return json.loads(self.server.ask("GET", f"/v1.41/containers/atoll-{box}/json")[1])

    def survivor_of(self, box):
        """Anybody in its process namespace: nobody can leave it, whatever pids he takes."""
        agent = self.container(box)["State"]["Pid"]
        namespace = os.readlink(f"/proc/{agent}/ns/pid")

        def lives():
            for pid in filter(str.isdigit, os.listdir("/proc")):
                with contextlib.suppress(OSError):
                    if os.readlink(f"/proc/{pid}/ns/pid") == namespace:
                        return True
            return False
        return lives

    def run_against_limit(self, box, attack, told):
        group = memory_group(self.container(box)["State"]["Pid"])
        verdict = super().run_against_limit(box, attack, told)
        # The limit has held, and all of the sandbox has ended with it.
        if verdict.outcome == "broken" and "infra" in verdict.detail:
            told = lambda: self.daemon.call("GET", f"/v1/sandboxes/{box}").json.get("failure")
            with contextlib.suppress(AssertionError):
                wait_until(told, "its end is known", 10)
            if failure := told():
                return Verdict("reached", f"the sandbox has ended: {failure}")
        # The agent cannot see why a command was killed; the kernel can.
        killed = group and "oom_kill 0" not in group.read_text()
        if verdict.outcome == "broken" and "exit code 137" in verdict.detail and killed:
            return Verdict("denied", "killed for its memory")
        return verdict

    # The container without walls.

    def has_control(self, attack):
        if self.driver == "podman" and attack["name"] in WITHOUT_CONTROL_ON_PODMAN:
            return False
        return attack["setting"] in ("plain", "twice", "beside") and attack["name"] not in WITHOUT_CONTROL \
            and not attack["name"].startswith("sudo_")

    def play_weak(self, attack):
        self.host.forget()
        phases = [{}] if attack["setting"] == "plain" else [{"PHASE": "leave"}, {"PHASE": "look"}]
        verdict = None
        for told in phases:
            verdict = self.exec_weak(attack, self.request(attack, **told))
        seen = self.host.evidence(attack["name"], verdict.outcome == "reached")
        return Verdict("reached", seen) if seen else verdict

    def exec_weak(self, attack, request):
        wish = {"AttachStdout": True, "AttachStderr": True, "Cmd": [*PARENT, *request["argv"]], "WorkingDir": "/tmp",
                "Env": [f"{name}={value}" for name, value in request["env"].items()],
                "User": "0:0" if attack["user"] == "root" else f"{VICTIM_ID}:{VICTIM_ID}"}
        made = self.ask("POST", f"/v1.41/containers/{self.weak_container()}/exec", wish)
        status, stream = self.server.ask("POST", f"/v1.41/exec/{made['Id']}/start", json.dumps({"Detach": False, "Tty": False}),
                                         {"Content-Type": "application/json"})
        if status != 200:
            return Verdict("broken", f"{status} {stream[:300]!r}")
        return verdict_of_output(unframed(stream))

    def ask(self, method, path, body):
        status, text = self.server.ask(method, path, json.dumps(body), {"Content-Type": "application/json"})
        if status not in (200, 201, 204):
            raise AssertionError(f"{path}: {status} {text!r}")
        return json.loads(text) if text else {}

    def weak_container(self):
        """Made once. It may see what the host has: each attack is to find its canary."""
        if "one" not in self.weak:
            shared = ["/dev", "/tmp", "/sys", "/var/tmp", self.host.directory]
            made = self.ask("POST", "/v1.41/containers/create?name=weak", {
                "Image": self.image, "Entrypoint": ["/bin/sleep", "1000"], "User": "0:0",
                "HostConfig": {"CapAdd": capabilities_here(), "DeviceCgroupRules": ["a *:* rwm"], "MaskedPaths": [], "ReadonlyPaths": [],
                               "PidMode": "host", "IpcMode": "host", "UTSMode": "host", "NetworkMode": "host", "CgroupnsMode": "host",
                               "Binds": [f"{path}:{path}" for path in shared],
                               "SecurityOpt": ["seccomp=unconfined", "label=disable"]}})
            self.weak["one"] = made["Id"]
            self.ask("POST", f"/v1.41/containers/{made['Id']}/start", {})
        return self.weak["one"]


def memory_group(pid):
    """The file that counts whom the kernel has killed in a process's control group for lack of memory."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for candidate in (f"/sys/fs/cgroup/memory{path}/memory.oom_control", f"/sys/fs/cgroup{path}/memory.events"):
            if controllers in ("memory", "") and os.path.exists(candidate):
                return pathlib.Path(candidate)
    return None


# By their numbers, from 0 on. Later ones are parts of SYS_ADMIN, and Docker 20.10 does not know them.
CAPABILITIES = """CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE
    NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE
    SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM
    BLOCK_SUSPEND AUDIT_READ""".split()


def capabilities_here():
    """All that this host's root has: `Privileged` asks for those, too, that it may lack."""
    status = pathlib.Path("/proc/self/status").read_text()
    bits = int(status.split("CapBnd:")[1].split()[0], 16)
    return [name for number, name in enumerate(CAPABILITIES) if bits >> number & 1]


def unframed(stream):
    """What a command wrote, out of the engine's frames: a byte that names the stream, and four of length."""
    text, at = b"", 0
    while at + 8 <= len(stream):
        kind, length = struct.unpack_from(">BxxxI", stream, at)
        if kind == 1:
            text += stream[at + 8:at + 8 + length]
        at += 8 + length
    return text.decode(errors="replace")
