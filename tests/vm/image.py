"""The guest's root disk and initramfs, made from packages that are installed here, and cached.

The disk is a plain ext4 that a guest fills itself from a tar: so owners and modes are right without root on this host.
It is made anew when a package has changed or another one is wanted.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile
import time

from archives import Initramfs, RootTar
from kernel import ensure_kernel
from packages import GUEST_PACKAGES, Installed

HERE = pathlib.Path(__file__).resolve().parent
ROOT_BYTES = 6 << 30  # sparse
MODULES = ["virtio_pci", "virtio_blk", "virtio_console"]
USERS = "user:x:1000:1000:user:/home/user:/bin/bash\n"
INITTAB = "::once:/usr/bin/python3 -I -S /usr/lib/atoll-guest/agent.py\n"


class Image:
    def __init__(self, cache, kernel):
        self.kernel = kernel
        self.disk = cache / "root.ext4"
        self.initramfs = cache / "initramfs.cpio"


def ensure_image(cache, packages, boot, log):
    """The image with at least these packages. boot(image, payload) runs a guest in mode `fill`, gives its console."""
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache):
        kernel = ensure_kernel(cache)
        image = Image(cache, kernel)
        installed = Installed()
        note = cache / "root.json"
        was = json.loads(note.read_text()) if note.exists() and image.disk.exists() else {"asked": []}
        # What was asked for once stays in, so that two callers do not undo each other's work.
        kept = [name for name in was["asked"] if name in installed.versions]
        asked = sorted({*GUEST_PACKAGES, *packages, *kept})
        names = installed.closure(asked)
        now = {"asked": asked, "kernel": kernel.version, "recipe": recipe(),
               "packages": {name: installed.versions[name] for name in names}}
        write_initramfs(image)
        if now != was:
            begin = time.monotonic()
            log(f"making the guest's disk from {len(names)} packages")
            note.unlink(missing_ok=True)
            fill(image, installed, names, boot)
            note.write_text(json.dumps(now, indent=1))
            log(f"made the guest's disk in {time.monotonic() - begin:.1f} s")
        return image


@contextlib.contextmanager
def locked(cache):
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def recipe():
    """Changes when the way to make a disk does."""
    names = ["image.py", "archives.py", "packages.py", "init.sh"]
    return hashlib.sha256(b"".join((HERE / name).read_bytes() for name in names)).hexdigest()


def write_initramfs(image):
    archive = Initramfs()
    for name in "bin", "sbin", "dev", "proc", "sys", "root", "modules":
        archive.directory(name)
    busybox = pathlib.Path("/bin/busybox").read_bytes()
    archive.file("bin/busybox", busybox)
    archive.add("bin/sh", 0o120777, b"busybox")
    for tool in "cat chroot insmod mount poweroff switch_root sync tar umount".split():
        archive.add(f"bin/{tool}", 0o120777, b"busybox")
    ordered = image.kernel.with_dependencies(*MODULES)
    for path in ordered:
        archive.file(f"modules/{os.path.basename(path)}", (image.kernel.modules / path).read_bytes(), 0o644)
    archive.file("modules/list", "".join(os.path.basename(p) + "\n" for p in ordered).encode(), 0o644)
    archive.file("init", (HERE / "init.sh").read_bytes())
    data = archive.finished()
    if not image.initramfs.exists() or image.initramfs.read_bytes() != data:
        fresh = image.initramfs.with_suffix(".new")
        fresh.write_bytes(data)
        fresh.rename(image.initramfs)


def fill(image, installed, names, boot):
    fresh = image.disk.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with open(fresh, "wb") as file:
        file.truncate(ROOT_BYTES)
    subprocess.run(["/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-E", "nodiscard", fresh], check=True)
    with tempfile.TemporaryFile(dir=image.disk.parent) as payload:
        status, records = installed.records_of(names)
        write_root(payload, image.kernel, installed.files_of(names) + records, status)
        console = boot(with_disk(image, fresh), payload)
    if "init: filled" not in console:
        fresh.unlink()
        raise RuntimeError(f"the guest could not fill its disk; its console:\n{console}")
    fresh.rename(image.disk)


def with_disk(image, disk):
    other = Image(disk.parent, image.kernel)
    other.disk = disk
    return other


def write_root(file, kernel, paths, status):
    root = RootTar(file)
    for name in "bin", "sbin", "lib", "lib64":
        root.link("/" + name, "usr/" + name)
    for path in "/boot", "/dev", "/home", "/media", "/mnt", "/opt", "/proc", "/run", "/srv", "/sys", "/usr/local", \
            "/usr/local/bin", "/usr/local/lib", "/usr/local/libexec", "/var/cache", "/var/lib", "/var/log":
        root.directory(path)
    root.directory("/root", 0o700)
    root.directory("/tmp", 0o1777)
    root.directory("/var/tmp", 0o1777)
    root.directory("/home/user", 0o755, 1000, 1000)
    root.link("/var/run", "/run")
    root.link("/var/lock", "/run/lock")
    for path in paths:
        if not path.startswith(("/var/run", "/var/lock", "/var/tmp")) and path not in OWN_FILES:
            root.copy(path)
    root.copy_tree(kernel.modules, f"/usr/lib/modules/{kernel.version}")
    for path, (mode, text) in OWN_FILES.items():
        root.file(path, text() if callable(text) else text, mode)
    root.file("/var/lib/dpkg/status", status)
    root.link("/etc/mtab", "../proc/self/mounts")
    root.link("/etc/localtime", "/usr/share/zoneinfo/Etc/UTC")
    root.close()


def master(name):
    return pathlib.Path(f"/usr/share/base-passwd/{name}.master").read_text()


def shadow():
    names = [line.split(":")[0] for line in (master("passwd") + USERS).splitlines()]
    return "".join(f"{name}:*:19000:0:99999:7:::\n" for name in names)


OWN_FILES = {
    "/etc/passwd": (0o644, lambda: master("passwd").replace(":*:", ":x:") + USERS),
    "/etc/group": (0o644, lambda: master("group").replace(":*:", ":x:") + "user:x:1000:\n"),
    "/etc/shadow": (0o600, shadow),
    "/etc/subuid": (0o644, "user:100000:65536\n"),
    "/etc/subgid": (0o644, "user:100000:65536\n"),
    "/etc/hostname": (0o644, "guest\n"),
    "/etc/hosts": (0o644, "127.0.0.1\tlocalhost\n127.0.1.1\tguest\n::1\tlocalhost ip6-localhost\n"),
    "/etc/resolv.conf": (0o644, ""),
    "/etc/fstab": (0o644, "/dev/vda / ext4 defaults 0 1\n"),
    "/etc/inittab": (0o644, INITTAB),
    "/etc/machine-id": (0o444, "0123456789abcdef0123456789abcdef\n"),
    "/etc/nsswitch.conf": (0o644, "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"),
}
