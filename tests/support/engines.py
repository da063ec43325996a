"""A real container engine for a test, by itself: own directories, own network namespace, one small image, and nothing left.

    engines.py docker|podman PROGRAM ARGS…     runs a program with the engine and fails if the engine leaves anything
    engines.py docker-tls PROGRAM ARGS…        the same with an engine that is reached over TCP and TLS, like one elsewhere
    engines.py docker-runsc PROGRAM ARGS…      the same with an engine whose own runtime is gVisor's; so with podman-runsc

The program finds the engine by DOCKER_HOST or CONTAINER_HOST and its image by ATOLL_DOCKER_IMAGE or ATOLL_PODMAN_IMAGE. What lies
below ATOLL_ENGINE_MOUNT_ROOTS it may have shown to sandboxes, unless the engine is elsewhere.
"""

import contextlib
import hashlib
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
import urllib.parse

import criu
from live import UnixConnection, wait_until

IMAGE = "atoll-test:latest"
# As podman calls what was imported without a registry's name.
PODMAN_IMAGE = "localhost/atoll-test:latest"
BRIDGE_ADDRESS = "192.0.2.1"  # of a network namespace of the engine's own
# Podman's default network, with nothing of the host's: no rules, and what is given out is noted in the engine's directory.
PODMAN_NETWORK = {"cniVersion": "0.4.0", "name": "podman", "plugins": [{
    "type": "bridge", "bridge": "atoll-bridge", "isGateway": True, "ipMasq": False, "ipam": {
        "type": "host-local", "routes": [{"dst": "0.0.0.0/0"}], "ranges": [[{"subnet": "192.0.2.0/24", "gateway": BRIDGE_ADDRESS}]]}}]}
TLS_PORT = 2376  # in a network namespace of the engine's own
PROGRAMS = """sh bash cat chmod cp cut date dd env false find grep head id kill ln ls mkdir mkfifo mv nproc od printf ps pwd readlink rm
    sed seq setsid sha256sum sleep sort stat stty tail test timeout touch tr true truncate tty uname wc yes""".split()


def image_tar(more=None):
    """A root file system of this host's programs and their libraries; `more` may add to it."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.PAX_FORMAT) as tar:
        seen = set()

        def make_directory(path):
            if path in seen or path == "/":
                return
            seen.add(path)
            make_directory(os.path.dirname(path))
            info = tarfile.TarInfo(path.lstrip("/"))
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)

        def add(source, target):
            if target in seen:
                return
            seen.add(target)
            make_directory(os.path.dirname(target))
            info = tarfile.TarInfo(target.lstrip("/"))
            data = pathlib.Path(os.path.realpath(source)).read_bytes()
            info.size, info.mode = len(data), 0o755
            tar.addfile(info, io.BytesIO(data))

        for directory in ("bin", "dev", "etc", "proc", "sys", "tmp", "usr", "usr/bin", "var", "home"):
            make_directory(f"/{directory}")
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
        if more:
            more(tar)
    return held.getvalue()


def add_python(tar):
    """For image_tar(): an interpreter, with what a small server takes."""
    library = pathlib.Path(f"/usr/lib/python3.{sys.version_info.minor}")
    program = os.path.realpath("/usr/bin/python3")
    words = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.split()
    held = {name.lstrip("/") for name in tar.getnames()}
    sources = [(program, "bin/python3"), *((word, word.lstrip("/")) for word in words if word.startswith("/"))]
    for place in (library, *(library / name for name in ("encodings", "collections", "importlib", "re", "lib-dynload"))):
        sources += [(str(path), str(path).lstrip("/")) for path in place.glob("*.*") if path.is_file()]
    for source, target in sources:
        if target in held:
            continue
        data = pathlib.Path(source).read_bytes()
        info = tarfile.TarInfo(target)
        info.size, info.mode = len(data), 0o755
        tar.addfile(info, io.BytesIO(data))


def foreign_image(name):
    """What an engine loads: an image that says it is for another machine than most."""
    layer = image_tar()
    config = {"architecture": "arm64" if os.uname().machine == "x86_64" else "amd64", "os": "linux", "config": {},
              "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}
    parts = {"layer.tar": layer, "config.json": json.dumps(config).encode(),
             "manifest.json": json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()}
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for part, data in parts.items():
            info = tarfile.TarInfo(part)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return held.getvalue()


def make_certificate(place, name, subject):
    """Signed by ca, which signs itself."""
    signed = [] if name in ("ca", "stranger") else ["-CA", f"{place}/ca.pem", "-CAkey", f"{place}/ca.key"]
    constraint = "critical,CA:TRUE" if not signed else "CA:FALSE"
    alternative = ["-addext", "subjectAltName=IP:127.0.0.1"] if name == "server" else []
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    f"/CN={subject}", "-keyout", f"{place}/{name}.key", "-out", f"{place}/{name}.pem", "-addext",
                    f"basicConstraints={constraint}", *alternative, *signed], check=True, capture_output=True)


def make_certificates(place):
    """An authority's, the engine's, and folders for DOCKER_CERT_PATH: a client's, one that trusts another authority, one that another
    has signed, and one without a key."""
    os.mkdir(place)
    for key, subject in (("ca", "authority"), ("server", "127.0.0.1"), ("client", "client"), ("stranger", "stranger")):
        make_certificate(place, key, subject)
    for folder, authority, key in (("client", "ca", "client"), ("distrusts", "stranger", "client"), ("unknown", "ca", "stranger"),
                                   ("none", "ca", None)):
        os.mkdir(f"{place}/{folder}")
        shutil.copy(f"{place}/{authority}.pem", f"{place}/{folder}/ca.pem")
        if key:
            shutil.copy(f"{place}/{key}.pem", f"{place}/{folder}/cert.pem")
            shutil.copy(f"{place}/{key}.key", f"{place}/{folder}/key.pem")


class Engine:
    """Started by start(), and stopped by stop(), which says what was left."""

    def __init__(self, name, disk_mb=0, runsc=False, is_remote=False, has_bridge=False, has_criu=False, own_runtime=None, more=None):
        self.name, self.disk_mb = name, disk_mb  # 0: as much as there is
        self.has_criu = has_criu
        self.runsc, self.is_remote, self.has_bridge = runsc, is_remote, has_bridge
        self.own_runtime, self.more = own_runtime, more  # of the engine; what adds to its image
        self.root = tempfile.mkdtemp(prefix=f"atoll-{name}-")
        self.socket = f"{self.root}/engine.sock"
        self.shown = f"{self.root}/shown"  # what lies below may be shown to sandboxes by a program that main() runs
        self.log_path = f"{self.root}/engine.log"
        self.image = IMAGE if name == "docker" else PODMAN_IMAGE
        self.process = None
        self.groups = self.cgroups()

    @property
    def environment(self):
        variable = "DOCKER_HOST" if self.name == "docker" else "CONTAINER_HOST"
        where = {variable: f"unix://{self.socket}"}
        if self.is_remote:
            where = {variable: f"tcp://127.0.0.1:{TLS_PORT}", "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": f"{self.root}/tls/client"}
        return {**where, f"ATOLL_{self.name.upper()}_IMAGE": self.image, "ATOLL_TEST_ENGINE": self.root}

    @property
    def inside(self):
        """Before a command: in the engine's network namespace, where its TCP port is."""
        return ["nsenter", f"--net=/proc/{self.process.pid}/ns/net"] if self.is_remote else []

    def put_data_on_btrfs(self):
        """Before it starts: its storage can limit the size of a container then."""
        image, data = f"{self.root}/btrfs.img", f"{self.root}/data"
        with open(image, "wb") as file:
            file.truncate(512 << 20)
        subprocess.run(["mkfs.btrfs", "-q", image], check=True)
        os.mkdir(data)
        subprocess.run(["mount", "-t", "btrfs", "-o", "loop", image, data], check=True)

    def command(self):
        if self.name == "docker":
            return ["dockerd", "--data-root", f"{self.root}/data", "--exec-root", f"{self.root}/exec", "--pidfile", f"{self.root}/pid",
                    "--host", f"unix://{self.socket}", *self.bridge_words(), "--iptables=false", "--ip-forward=false", "--ip-masq=false",
                    # One that promises more than it is.
                    "--add-runtime", "kata=runc", "--config-file", f"{self.root}/none.json",
                    # By its own name: engines of others make theirs beside it.
                    "--cgroup-parent", f"/{os.path.basename(self.root)}", *self.runsc_words(), *self.tls_words()]
        return ["podman", "--root", f"{self.root}/data", "--runroot", f"{self.root}/exec", "--tmpdir", f"{self.root}/tmp",
                "system", "service", "--time", "0", f"unix://{self.socket}"]

    def bridge_words(self):
        """An address that is nobody's, in a network namespace of its own."""
        return ["--bip", f"{BRIDGE_ADDRESS}/24", "--userland-proxy=false", "--ip6tables=false"] if self.has_bridge else ["--bridge=none"]

    def runsc_words(self):
        if not self.runsc:
            return []
        own = ["--default-runtime", self.own_runtime] if self.own_runtime else []
        return ["--add-runtime", f"runsc={self.runsc_program()}", *own]

    def runsc_program(self):
        # In a network namespace without a network gVisor's own stack does not start.
        program = pathlib.Path(f"{self.root}/runsc")
        program.write_text('#!/bin/sh\nexec /usr/bin/runsc --network=none "$@"\n')
        program.chmod(0o755)
        return program

    def tls_words(self):
        if not self.is_remote:
            return []
        place = f"{self.root}/tls"
        if not os.path.exists(place):
            make_certificates(place)
        return ["--tlsverify", "--tlscacert", f"{place}/ca.pem", "--tlscert", f"{place}/server.pem", "--tlskey", f"{place}/server.key",
                "--host", f"tcp://127.0.0.1:{TLS_PORT}"]

    def start(self):
        pathlib.Path(f"{self.root}/none.json").write_text("{}")
        # Nobody here may raise a limit, and podman asks for more than it has unless it is told.
        pathlib.Path(f"{self.root}/containers.conf").write_text(
            '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n'
            f'[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\nruntime = "{self.own_runtime or "runc"}"\n'
            # Podman's monitor of a command that was started over the API stays for five minutes otherwise.
            'exit_command_delay = 1\n'
            + self.network_lines()
            + (f'[engine.runtimes]\nrunsc = ["{self.runsc_program()}"]\n' if self.runsc else ""))
        if self.disk_mb and f"{self.root}/data" not in self.mounts():
            os.mkdir(f"{self.root}/data")
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.disk_mb}m", "atoll-small-disk", f"{self.root}/data"], check=True)
        # Registries of tests/support/registry.py have no certificate; docker trusts its loopback by itself.
        pathlib.Path(f"{self.root}/registries.conf").write_text(
            "".join(f'[[registry]]\nlocation = "127.0.0.1:{port}"\ninsecure = true\n' for port in (5000, 5001, 5009, 5010)))
        environment = dict(os.environ, CONTAINERS_CONF=f"{self.root}/containers.conf",
                           CONTAINERS_REGISTRIES_CONF=f"{self.root}/registries.conf")
        if self.has_criu:
            environment["PATH"] = f"{criu.found()}:{environment['PATH']}"
        # A network namespace of its own, which goes with its processes.
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(["unshare", "--net", *self.with_loopback(self.command())], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            # Where podman's monitors note who was out of memory.
                                            cwd=self.root, env=environment, start_new_session=True)
        try:
            wait_until(self.is_ready, f"{self.name} answers", 60)
            if not self.has_image():
                self.import_image(more=self.more)
        except BaseException:
            print(self.log()[-4000:], file=sys.stderr)
            self.stop()
            raise
        return self

    def with_loopback(self, command):
        """A new network namespace has one, which is down. CRIU tries there what sockets can do."""
        needed = self.is_remote or self.has_criu
        words = "ip link set lo up && " if needed else ""
        if self.name == "podman" and self.has_bridge:
            # It would be made with the first container; somebody listens on its address before.
            words += f"ip link add atoll-bridge type bridge && ip addr add {BRIDGE_ADDRESS}/24 dev atoll-bridge && ip link set atoll-bridge up && "
        return ["sh", "-c", f'{words}exec "$@"', "sh", *command] if words else command

    def network_lines(self):
        """Of podman's containers.conf."""
        if not self.has_bridge:
            return ""
        own = {**PODMAN_NETWORK["plugins"][0]["ipam"], "dataDir": f"{self.root}/addresses"}
        os.makedirs(f"{self.root}/networks", exist_ok=True)
        network = {**PODMAN_NETWORK, "plugins": [{**PODMAN_NETWORK["plugins"][0], "ipam": own}]}
        pathlib.Path(f"{self.root}/networks/podman.conflist").write_text(json.dumps(network))
        return f'[network]\nnetwork_backend = "cni"\nnetwork_config_dir = "{self.root}/networks"\n'

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

    def import_image(self, image=None, more=None):
        repository, tag = (image or self.image).rsplit(":", 1)
        status, text = self.ask("POST", f"/v1.41/images/create?fromSrc=-&repo={repository}&tag={tag}", image_tar(more),
                                {"Content-Type": "application/x-tar"})
        if status != 200 or b"error" in text:
            raise AssertionError(f"importing the image: {status} {text!r}")

    def load_foreign_image(self, name):
        status, text = self.ask("POST", "/v1.41/images/load", foreign_image(name), {"Content-Type": "application/x-tar"})
        if status != 200 or b'"error"' in text:
            raise AssertionError(f"loading the image: {status} {text!r}")

    def listed(self, path):
        """Podman's lists fail when one of what is listed goes meanwhile, and are asked for again."""
        for _ in range(50):
            status, text = self.ask("GET", path)
            if status == 200:
                return json.loads(text)
        raise AssertionError(f"{path}: {status} {text!r}")

    def containers(self):
        return self.listed("/v1.41/containers/json?all=1")

    def volumes(self):
        return json.loads(self.ask("GET", "/v1.41/volumes")[1]).get("Volumes") or []

    def snapshot_images(self):
        filters = urllib.parse.quote(json.dumps({"label": ["atoll.snapshot"]}))
        return self.listed(f"/v1.41/images/json?filters={filters}")

    def images_named(self, part):
        images = self.listed("/v1.41/images/json")
        return sorted(name for image in images for name in image["RepoTags"] or () if part in name)

    def own_images(self):
        """What Atoll has made, but for snapshots: images of templates and of trials."""
        images = self.listed("/v1.41/images/json")
        ours = [image for image in images if "atoll.driver" in (image["Labels"] or {}) and "atoll.snapshot" not in image["Labels"]]
        return [image for image in ours if image["RepoTags"]]

    def import_empty(self, name, labels):
        """An image of somebody else's, with nothing in it."""
        held = io.BytesIO()
        tarfile.open(fileobj=held, mode="w").close()
        changes = "".join("&changes=" + urllib.parse.quote(f"LABEL {key}={value}") for key, value in labels.items())
        status, text = self.ask("POST", f"/v1.41/images/create?fromSrc=-&repo={urllib.parse.quote(name, safe='')}{changes}", held.getvalue(),
                                {"Content-Type": "application/x-tar"})
        if status != 200 or b"error" in text:
            raise AssertionError(f"importing {name}: {status} {text!r}")

    @contextlib.contextmanager
    def full_disk(self):
        """Not a byte is left on its disk, which must be a small one."""
        ballast = pathlib.Path(f"{self.root}/data/ballast")
        with open(ballast, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(1 << 16)):
                pass
        try:
            yield
        finally:
            ballast.unlink()

    def make_container(self, name, labels=None, starts=True):
        """One of somebody else's; its id."""
        status, text = self.ask("POST", f"/v1.41/containers/create?name={name}", json.dumps(
            {"Image": self.image, "Entrypoint": ["/bin/sleep"], "Cmd": ["1000"], "Labels": labels or {},
             "HostConfig": {"NetworkMode": "none"}}), {"Content-Type": "application/json"})
        if status != 201:
            raise AssertionError(f"making a container: {status} {text!r}")
        if starts:
            self.ask("POST", f"/v1.41/containers/{name}/start")
        return json.loads(text)["Id"]

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
                left += [f"image {one['RepoTags']}" for one in self.snapshot_images()]
                left += [f"image {one['RepoTags']}" for one in self.own_images()]
                left += [f"volume {one['Name']}" for one in self.volumes()]
                left += [f"network {one['Name']}" for one in json.loads(self.ask("GET", "/v1.41/networks")[1])
                         if one["Name"] not in ("none", "host", "bridge", "podman")]
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
            # The last is for containers in the engine's own network, and stays with the engine.
            if mount != f"{self.root}/data" and not mount.endswith(("/data/overlay", "/data/overlay2", "/netns/default")):
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
                parent = int(pathlib.Path(f"/proc/{name}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()[1])
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
        top = os.path.basename(self.root) if self.name == "docker" else "libpod_parent"
        mine = [*pathlib.Path("/sys/fs/cgroup").glob(f"*/{top}"), *pathlib.Path("/sys/fs/cgroup").glob(top)]
        return {str(path) for top in mine for path in [top, *top.glob("*/")] if path.is_dir()}

    def mounts(self):
        """Deepest first."""
        found = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
        return sorted((path for path in found if path.startswith(self.root)), key=len, reverse=True)


def lacking(name):
    """What this host lacks for such an engine; "" = nothing."""
    programs = {"criu": (), "docker": ("dockerd", "containerd", "runc"), "podman": ("podman", "conmon", "runc"), "btrfs": ("mkfs.btrfs",), "bridge": (),
                "runsc": ("runsc",), "tls": ("openssl", "nsenter", "ip"),
                "registry": ("docker-registry", "htpasswd", "nsenter", "ip", "busybox")}[name]
    if name == "criu":
        return "" if criu.found() else "CRIU 4 (tests/support/criu.py fetches it)"
    if name == "bridge":
        return "" if os.path.exists("/usr/lib/cni/bridge") else "/usr/lib/cni/bridge, of containernetworking-plugins"
    missing = [program for program in (*programs, "unshare") if not shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin")]
    return ", ".join(missing + ([] if os.geteuid() == 0 else ["root"]))


def main():
    name, _, kind = sys.argv[1].partition("-")
    needed = {"": (), "tls": ("tls",), "runsc": ("runsc",)}[kind]
    if missing := ", ".join(filter(None, map(lacking, (name, *needed)))):
        # The program finds none, not even somebody's own, and says so in its own way.
        print(f"there is no {name} here, for lack of {missing}", file=sys.stderr)
        variable = "DOCKER_HOST" if name == "docker" else "CONTAINER_HOST"
        return subprocess.run(sys.argv[2:], env={**os.environ, variable: "unix:///nonexistent/engine.sock"}).returncode
    environment = dict(os.environ)
    takes_criu = name == "podman" and not kind
    if takes_criu and (missing := lacking("criu")):
        print(f"{name} keeps no memory here, for lack of {missing}", file=sys.stderr)
        environment["ATOLL_TEST_LACKS_CRIU"] = f"this host lacks: {missing}"
        takes_criu = False
    engine = Engine(name, is_remote=kind == "tls", has_criu=takes_criu, runsc=kind == "runsc",
                    own_runtime="runsc" if kind == "runsc" else None).start()
    if kind != "tls":
        os.mkdir(engine.shown)
        environment["ATOLL_ENGINE_MOUNT_ROOTS"] = engine.shown
    code = 1
    try:
        code = subprocess.run([*engine.inside, *sys.argv[2:]], env={**environment, **engine.environment}).returncode
    finally:
        left = engine.stop()
        for line in left:
            print(f"{engine.name} has left: {line}", file=sys.stderr)
    return code or (1 if left else 0)


if __name__ == "__main__":
    sys.exit(main())
