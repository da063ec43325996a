"""A real container engine for a test, by itself: own directories, own network namespace, one small image, and nothing left.

    engines.py docker|podman PROGRAM ARGS…     runs a program with the engine and fails if the engine leaves anything

The program finds the engine by DOCKER_HOST or CONTAINER_HOST and its image by ATOLL_DOCKER_IMAGE or ATOLL_PODMAN_IMAGE.
"""

import contextlib
import http.client
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile

from live import UnixConnection, wait_until

IMAGE = "atoll-test:latest"
# As podman calls what was imported without a registry's name.
PODMAN_IMAGE = "localhost/atoll-test:latest"
PROGRAMS = """sh bash cat chmod cp cut date dd env false find grep head id kill ln ls mkdir mkfifo mv nproc od printf ps pwd readlink rm
    sed seq setsid sha256sum sleep sort stat stty tail test timeout touch tr true truncate tty uname wc yes""".split()


def image_tar():
    """A root file system of this host's programs and their libraries."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        seen = set()

        def add(source, target):
            if target in seen:
                return
            seen.add(target)
            info = tarfile.TarInfo(target.lstrip("/"))
            data = pathlib.Path(os.path.realpath(source)).read_bytes()
            info.size, info.mode = len(data), 0o755
            tar.addfile(info, io.BytesIO(data))

        for directory in ("bin", "dev", "etc", "proc", "sys", "tmp", "usr", "usr/bin", "var", "home"):
            info = tarfile.TarInfo(directory)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
        for name in PROGRAMS:
            program = shutil.which(name, path="/bin:/usr/bin")
            add(program, f"/bin/{name}")
            for word in subprocess.run(["ldd", program], capture_output=True, text=True).stdout.split():
                if word.startswith("/"):
                    add(word, word)
        for name in ("sh", "env"):
            info = tarfile.TarInfo(f"usr/bin/{name}")
            info.type, info.linkname = tarfile.SYMTYPE, f"/bin/{name}"
            tar.addfile(info)
        for name, text in (("passwd", "root:x:0:0:root:/root:/bin/sh\n"), ("group", "root:x:0:\n")):
            info = tarfile.TarInfo(f"etc/{name}")
            info.size, info.mode = len(text), 0o644
            tar.addfile(info, io.BytesIO(text.encode()))
    return held.getvalue()


class Engine:
    """Started by start(), and stopped by stop(), which says what was left."""

    def __init__(self, name):
        self.name = name
        self.root = tempfile.mkdtemp(prefix=f"atoll-{name}-")
        self.socket = f"{self.root}/engine.sock"
        self.log_path = f"{self.root}/engine.log"
        self.image = IMAGE if name == "docker" else PODMAN_IMAGE
        self.process = None
        self.groups = self.cgroups()

    @property
    def environment(self):
        variable = "DOCKER_HOST" if self.name == "docker" else "CONTAINER_HOST"
        return {variable: f"unix://{self.socket}", f"ATOLL_{self.name.upper()}_IMAGE": self.image, "ATOLL_TEST_ENGINE": self.root}

    def command(self):
        if self.name == "docker":
            return ["dockerd", "--data-root", f"{self.root}/data", "--exec-root", f"{self.root}/exec", "--pidfile", f"{self.root}/pid",
                    "--host", f"unix://{self.socket}", "--bridge=none", "--iptables=false", "--ip-forward=false", "--ip-masq=false",
                    "--config-file", f"{self.root}/none.json"]
        return ["podman", "--root", f"{self.root}/data", "--runroot", f"{self.root}/exec", "--tmpdir", f"{self.root}/tmp",
                "system", "service", "--time", "0", f"unix://{self.socket}"]

    def start(self):
        pathlib.Path(f"{self.root}/none.json").write_text("{}")
        # Nobody here may raise a limit, and podman asks for more than it has unless it is told.
        pathlib.Path(f"{self.root}/containers.conf").write_text(
            '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n'
            '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\nruntime = "runc"\n')
        environment = dict(os.environ, CONTAINERS_CONF=f"{self.root}/containers.conf")
        # A network namespace of its own, which goes with its processes.
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(["unshare", "--net", *self.command()], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=environment, start_new_session=True)
        try:
            wait_until(self.is_ready, f"{self.name} answers", 60)
            if not self.has_image():
                self.import_image()
        except BaseException:
            print(self.log()[-4000:], file=sys.stderr)
            self.stop()
            raise
        return self

    def log(self):
        return pathlib.Path(self.log_path).read_text(errors="replace")

    def ask(self, method, path, body=None, headers=None):
        connection = UnixConnection(self.socket)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"{self.name} ended: {self.process.returncode}")
        try:
            return self.ask("GET", "/_ping")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def has_image(self):
        return self.ask("GET", f"/v1.41/images/{self.image}/json")[0] == 200

    def import_image(self):
        repository, tag = self.image.rsplit(":", 1)
        status, text = self.ask("POST", f"/v1.41/images/create?fromSrc=-&repo={repository}&tag={tag}", image_tar(),
                                {"Content-Type": "application/x-tar"})
        if status != 200 or b"error" in text:
            raise AssertionError(f"importing the image: {status} {text!r}")

    def containers(self):
        return json.loads(self.ask("GET", "/v1.41/containers/json?all=1")[1])

    def kill(self):
        """As if it had crashed: containers stay, nobody answers."""
        self.process.kill()  # unshare has become it
        self.process.wait(30)
        # Its containerd dies with it. Where nobody reaps that, the next one would wait for it for ever.
        pathlib.Path(f"{self.root}/exec/containerd/containerd.pid").unlink(missing_ok=True)

    def stop(self):
        """Ends it, removes everything of its and returns what should not have been left."""
        left = []
        if self.process and self.process.poll() is None:
            try:
                left += [f"container {one['Names']} {one['State']}" for one in self.containers()]
                for one in self.containers():
                    self.ask("DELETE", f"/v1.41/containers/{one['Id']}?force=1&v=1")
            except (OSError, http.client.HTTPException) as trouble:
                left.append(f"the engine did not list its containers: {trouble}")
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                left.append("the engine did not stop")
                self.process.kill()
                self.process.wait()
        try:
            wait_until(lambda: not self.processes(), "its processes are gone", 10)
        except AssertionError:
            for pid, words in self.processes():
                left.append(f"process {pid} {words}")
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for mount in self.mounts():
            if mount != f"{self.root}/data" and not mount.endswith(("/data/overlay", "/data/overlay2")):
                left.append(f"mount {mount}")
            subprocess.run(["umount", "--lazy", mount], capture_output=True)
        # The engine makes one above those of its containers, and leaves it.
        made = self.cgroups() - self.groups
        for group in sorted(made, key=len, reverse=True):
            with contextlib.suppress(OSError):
                os.rmdir(group)
        left += [f"cgroup {group}" for group in made if os.path.isdir(group)]
        shutil.rmtree(self.root, ignore_errors=True)
        if os.path.exists(self.root):
            left.append(f"directory {self.root}")
        return left

    def processes(self):
        """Everybody whose arguments name the engine's directory (servers, shims, monitors), and whoever is below them."""
        seen = {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = pathlib.Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                parent = int(pathlib.Path(f"/proc/{name}/stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            if words and int(name) != os.getpid():
                seen[int(name)] = (parent, words[:200])
        ours = {pid for pid, (_, words) in seen.items() if self.root in words}
        while more := {pid for pid, (parent, _) in seen.items() if parent in ours} - ours:
            ours |= more
        return [(pid, seen[pid][1]) for pid in sorted(ours)]

    def cgroups(self):
        """What an engine of this kind has made, empty or not."""
        tops = [*pathlib.Path("/sys/fs/cgroup").glob("*/docker"), *pathlib.Path("/sys/fs/cgroup").glob("*/libpod_parent"),
                *pathlib.Path("/sys/fs/cgroup").glob("docker"), *pathlib.Path("/sys/fs/cgroup").glob("libpod_parent")]
        mine = [top for top in tops if top.name == ("docker" if self.name == "docker" else "libpod_parent")]
        return {str(path) for top in mine for path in [top, *top.glob("*/")] if path.is_dir()}

    def mounts(self):
        """Deepest first."""
        found = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
        return sorted((path for path in found if path.startswith(self.root)), key=len, reverse=True)


def lacking(name):
    """What this host lacks for such an engine; "" = nothing."""
    programs = {"docker": ("dockerd", "containerd", "runc"), "podman": ("podman", "conmon", "runc")}[name]
    missing = [program for program in (*programs, "unshare") if not shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin")]
    return ", ".join(missing + ([] if os.geteuid() == 0 else ["root"]))


def main():
    name = sys.argv[1]
    if missing := lacking(name):
        # The program finds none, not even somebody's own, and says so in its own way.
        print(f"there is no {name} here, for lack of {missing}", file=sys.stderr)
        variable = "DOCKER_HOST" if name == "docker" else "CONTAINER_HOST"
        return subprocess.run(sys.argv[2:], env={**os.environ, variable: "unix:///nonexistent/engine.sock"}).returncode
    engine = Engine(name).start()
    code = 1
    try:
        code = subprocess.run(sys.argv[2:], env=dict(os.environ, **engine.environment)).returncode
    finally:
        left = engine.stop()
        for line in left:
            print(f"{engine.name} has left: {line}", file=sys.stderr)
    return code or (1 if left else 0)


if __name__ == "__main__":
    sys.exit(main())
