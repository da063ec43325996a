"""The packages of a release tree, made anew, and small roots of other systems to try them in."""

import contextlib
import ctypes
import os
import pathlib
import shutil
import subprocess
import tempfile

ATOLL = pathlib.Path(os.environ.get("ATOLL_BIN", "build/release/bin/atoll")).resolve()
TREE = ATOLL.parent.parent
USER = 61917
TOOLS = "sh cat chmod cp dirname echo env find grep id ls mkdir mv rm sed setsid sleep uname".split()


@contextlib.contextmanager
def packed():
    """A directory with the Debian package and the tarball of what is built now."""
    with tempfile.TemporaryDirectory(prefix="atoll-packed-") as directory:
        done = subprocess.run(["cpack", "--config", TREE / "CPackConfig.cmake", "-B", directory], cwd=TREE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        assert done.returncode == 0, done.stdout
        os.chmod(directory, 0o755)
        yield pathlib.Path(directory)


def only(directory, pattern):
    (found,) = directory.glob(pattern)
    return found


def make_bare_root(root):
    """A system with the C library and busybox, and nothing else."""
    for name in "usr/bin", "usr/lib/x86_64-linux-gnu", "usr/lib64", "etc", "root", "tmp", "proc", "sys", "dev", "run", \
            "var", "home/user":
        (root / name).mkdir(parents=True)
    for name in "bin", "lib", "lib64":
        (root / name).symlink_to(f"usr/{name}")
    for library in "libc.so.6", "libm.so.6":
        shutil.copy(f"/lib/x86_64-linux-gnu/{library}", root / "usr/lib/x86_64-linux-gnu" / library)
    shutil.copy("/lib64/ld-linux-x86-64.so.2", root / "usr/lib64")
    shutil.copy("/bin/busybox", root / "usr/bin")
    for tool in TOOLS:
        (root / "usr/bin" / tool).symlink_to("busybox")
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")


def add_user(root):
    (root / "home/user").mkdir(parents=True, exist_ok=True)
    os.chown(root / "home/user", USER, USER)
    (root / "tmp").chmod(0o1777)
    for name, line in ("passwd", f"user:x:{USER}:{USER}::/home/user:/bin/sh\n"), ("group", f"user:x:{USER}:\n"):
        with open(root / "etc" / name, "a") as file:
            file.write(line)


LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, PIVOT_ROOT = 0x20000, 155
MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 4096, 16384, 1 << 18, 2


def call(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), "entering the other root")


def mount(source, target, kind, flags):
    call(LIBC.mount(source.encode(), str(target).encode(), kind, flags, None))


def enter(root, uid):
    """By pivot_root: in a mere chroot the kernel refuses user namespaces."""
    call(LIBC.unshare(CLONE_NEWNS))
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount(str(root), root, None, MS_BIND)
    mount("proc", root / "proc", b"proc", 0)
    mount("/sys", root / "sys", None, MS_BIND | MS_REC)
    mount("/dev", root / "dev", None, MS_BIND | MS_REC)
    os.chdir(root)
    call(LIBC.syscall(PIVOT_ROOT, b".", b"."))
    call(LIBC.umount2(b".", MNT_DETACH))
    os.chdir("/")
    if uid:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)


def run_in(root, command, uid=0, timeout=120):
    """Runs a shell command with `root` as the root. What was mounted goes with it."""
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/home/user" if uid else "/root"}
    return subprocess.run(["/bin/sh", "-c", f"cd; {command}"], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout,
                          preexec_fn=lambda: enter(root, uid))
