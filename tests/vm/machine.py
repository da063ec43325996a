"""A guest of our own: a QEMU machine with Debian's kernel and userland and the products inside, thrown away after use.

    with Guest(products="build/release", cgroups="v2") as vm:
        done = vm.run("atoll", "version")
        assert done.code == 0, done

Needs neither root nor KVM nor a network (once the kernel is in the cache). What runs inside can do no harm here: there
is no network device, the disk is a snapshot, and every file and socket that the two sides share has no name, so that
nothing is left even if this process is killed; QEMU dies with it.
"""

import base64
import fcntl
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

import image as images
from archives import RootTar
from packages import libraries_of, owners_of

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("ATOLL_VM_CACHE", HERE.parent.parent / "build/vm"))
SCRATCH_BYTES = 2 << 30  # sparse; /dev/vdc inside
BOOT_SECONDS = 180
FILL_SECONDS = 600
CGROUPS = ["v2", "v1", "hybrid", "none"]


class GuestError(RuntimeError):
    """The machine did not do what was asked: it did not boot, died, or was too slow."""


class Done:
    """A command that has ended inside."""

    def __init__(self, code, stdout, stderr):
        self.code, self.out, self.err = code, stdout, stderr

    @property
    def stdout(self):
        return self.out.decode(errors="replace")

    @property
    def stderr(self):
        return self.err.decode(errors="replace")

    def __repr__(self):
        return f"exit code {self.code}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"


class Guest:
    """products: a build tree, whose programs are put under /usr/local. bring: files or directories of this host, each
    a path (it is found under the same path inside) or a pair of paths (here, inside); the shared libraries of programs
    among them come along. packages: further Debian packages, which must be installed here. kernel_arguments: a list of
    words. init: what its first process becomes, busybox (quick) or systemd. log: is told what takes a while."""

    def __init__(self, products=None, bring=(), packages=(), cgroups="v2", kernel_arguments=(), memory_mib=1536, cpus=2, init="busybox",
                 accelerator="tcg,thread=multi", log=lambda text: None):
        self.files = dict(here_and_inside(item) for item in bring)
        if products:
            self.files.update(product_files(pathlib.Path(products)))
        self.packages, self.cgroups, self.kernel_arguments = list(packages), cgroups, list(kernel_arguments)
        self.init = init
        if init == "systemd":
            self.packages += ["systemd"]
            # There is no udev that would tell of the devices that it would wait for.
            self.kernel_arguments += ["fstab=no", "systemd.gpt_auto=0", "systemd.getty_auto=0"]
        self.memory_mib, self.cpus, self.accelerator, self.log = memory_mib, cpus, accelerator, log
        self.process = self.port = None
        self.buffer = b""

    # Its life.

    def __enter__(self):
        owners, strays = owners_of(library for file in all_files(self.files) for library in libraries_of(file))
        image = images.ensure_image(CACHE, [*self.packages, *owners], self.fill, self.log)
        begin = time.monotonic()
        try:
            with tempfile.TemporaryFile(dir=CACHE) as payload, tempfile.TemporaryFile(dir=CACHE) as scratch:
                self.write_payload(payload, strays)
                scratch.truncate(SCRATCH_BYTES)
                arguments = [*self.kernel_arguments, f"atoll.cgroups={self.cgroups}", f"atoll.init={self.init}"]
                self.start(image, "run", arguments, [payload, scratch], "snapshot=on")
            self.deadline = begin + BOOT_SECONDS
            first = self.receive()
            assert first == {"ready": True}, first
        except BaseException:
            self.end()
            raise
        self.boot_seconds = time.monotonic() - begin
        self.log(f"booted in {self.boot_seconds:.1f} s")
        return self

    def __exit__(self, *problem):
        self.end()

    def end(self):
        """Nothing inside is worth a farewell."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
        if self.port:
            self.port.close()
            self.console_file.close()
            self.port = None

    def start(self, image, mode, arguments, disks, root_options):
        # Written by the guest's console and by QEMU when it complains: neither overwrites the other.
        self.console_file = tempfile.TemporaryFile(dir=CACHE)
        fcntl.fcntl(self.console_file, fcntl.F_SETFL, os.O_APPEND)
        self.port, theirs = socket.socketpair()
        shared = [theirs, self.console_file, *disks]
        # Without mitigations, as every indirect jump through a thunk costs a translator much.
        line = ["console=ttyS0", "quiet", "panic=-1", "no_timer_check", "mitigations=off", f"atoll.mode={mode}"]
        command = [
            shutil.which("qemu-system-x86_64") or "qemu-system-x86_64", "-M", "pc", "-cpu", "max",
            "-accel", self.accelerator, "-m", str(self.memory_mib), "-smp", str(self.cpus),
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-nic", "none",
            "-kernel", image.kernel.image, "-initrd", image.initramfs, "-append", " ".join(line + arguments),
            "-chardev", f"file,id=console,append=on,path={path_of(self.console_file)}",
            "-serial", "chardev:console",
            "-device", "virtio-serial-pci", "-chardev", f"socket,id=port,fd={theirs.fileno()}",
            "-device", "virtserialport,chardev=port,name=atoll",
            "-drive", f"if=virtio,format=raw,cache=unsafe,file={image.disk},{root_options}",
        ]
        for disk in disks:
            command += ["-drive", f"if=virtio,format=raw,cache=unsafe,file={path_of(disk)}"]
        # QEMU puts what a snapshot changes into a file without a name in TMPDIR.
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", *command], stdin=subprocess.DEVNULL, stdout=self.console_file,
            stderr=self.console_file, pass_fds=[file.fileno() for file in shared],
            env={**os.environ, "TMPDIR": str(CACHE)})
        theirs.close()

    def fill(self, image, payload):
        try:
            self.start(image, "fill", [], [payload], "snapshot=off")
            self.process.wait(timeout=FILL_SECONDS)
            return self.console()
        except subprocess.TimeoutExpired:
            raise GuestError(f"the disk is not made after {FILL_SECONDS} s:\n{self.console()}") from None
        finally:
            self.end()

    def console(self):
        self.console_file.seek(0)
        return self.console_file.read().decode(errors="replace").replace("\r", "")

    def write_payload(self, file, strays):
        root = RootTar(file)
        # Whose the directories are is known already: they are on the disk, or made by the unpacking.
        root.parents.update("/usr /usr/local /usr/lib /home /home/user /opt /tmp /root /var /etc /srv".split())
        root.directory("/usr/lib/atoll-guest")
        root.file("/usr/lib/atoll-guest/start", (HERE / "start.sh").read_bytes(), 0o755)
        root.file("/usr/lib/atoll-guest/agent.py", (HERE / "agent.py").read_bytes())
        if self.init == "systemd":
            root.file("/etc/systemd/system/atoll-guest.service", (HERE / "agent.service").read_bytes())
            root.link("/etc/systemd/system/multi-user.target.wants/atoll-guest.service", "../atoll-guest.service")
        for library in strays:
            root.copy(os.path.realpath(library), library)
        for inside, here in self.files.items():
            if here.is_dir():
                root.copy_tree(here, inside)
            else:
                root.copy(here, inside)
        root.close()

    # Asking it.

    def run(self, *argv, user="root", env=None, cwd=None, stdin=b"", timeout=60, out=None, err=None):
        """Runs a command inside and waits for its end. out and err are binary files that get its output as it comes."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        request = {"argv": [str(word) for word in argv], "user": user, "env": env or {}, "cwd": cwd,
                   "stdin": base64.b64encode(data).decode()}
        self.deadline = time.monotonic() + timeout
        self.port.sendall(json.dumps(request).encode() + b"\n")
        streams, copies = {"1": bytearray(), "2": bytearray()}, {"1": out, "2": err}
        while True:
            message = self.receive()
            if "exit" in message:
                return Done(message["exit"], bytes(streams["1"]), bytes(streams["2"]))
            for name, text in message.items():
                piece = base64.b64decode(text)
                streams[name] += piece
                if copies[name]:
                    copies[name].write(piece)
                    copies[name].flush()

    def script(self, text, *arguments, shell="bash", **more):
        """Runs the text of a script."""
        return self.run(shell, "-c", text, "script", *arguments, **more)

    def put(self, path, data, mode=0o644):
        done = self.script('mkdir -p "$(dirname "$1")" && cat >"$1" && chmod "$2" "$1"', path, f"{mode:o}", stdin=data)
        if done.code != 0:
            raise GuestError(f"cannot write {path}: {done}")

    def get(self, path):
        done = self.run("cat", "--", path)
        if done.code != 0:
            raise GuestError(f"cannot read {path}: {done}")
        return done.out

    def receive(self):
        """The next message of the agent."""
        while b"\n" not in self.buffer:
            left = self.deadline - time.monotonic()
            self.port.settimeout(max(left, 0.001))
            try:
                piece = self.port.recv(1 << 20)
            except TimeoutError:
                raise GuestError(f"not within the time given; the console says:\n{self.console()}") from None
            except ConnectionResetError:
                piece = b""
            if not piece:
                raise GuestError(f"the machine has ended; the console says:\n{self.console()}")
            self.buffer += piece
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)


def here_and_inside(item):
    here, inside = item if isinstance(item, tuple) else (item, os.path.abspath(item))
    return str(inside), pathlib.Path(here).resolve(strict=True)


def product_files(products):
    """Where `cmake --install` with the prefix /usr/local would put the programs."""
    found = {"/usr/local/bin/atoll": products / "bin/atoll"}
    for name in "atoll-launcher", "atoll-agent", "atoll-pool", "atoll-oci", "atoll-attack":
        if (products / "libexec/atoll" / name).exists():
            found[f"/usr/local/libexec/atoll/{name}"] = products / "libexec/atoll" / name
    return found


def all_files(files):
    for here in files.values():
        if here.is_dir():
            yield from (path for path in here.rglob("*") if path.is_file() and os.access(path, os.X_OK))
        else:
            yield here


def path_of(file):
    return f"/proc/self/fd/{file.fileno()}"
