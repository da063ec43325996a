"""Runs inside the guest: takes commands from the host over a virtio port, one at a time, and streams what they say.

One JSON object per line each way.
    to here    {"argv": […], "stdin": base64, "env": {…}, "cwd": "…", "user": "…"}
    from here  {"ready": true}; then per command {"1": base64} and {"2": base64} as it writes, {"exit": N} at its end
A command ends when its process does, even if something in the background still holds its output.
"""

import binascii
import json
import os
import pwd
import selectors
import subprocess

PORT = "/dev/vport0p1"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SESSIONS = "/sys/fs/cgroup/user.slice"


def main():
    port = os.open(PORT, os.O_RDWR | os.O_CLOEXEC)
    send(port, {"ready": True})
    with os.fdopen(port, "rb", buffering=65536, closefd=False) as lines:
        for line in lines:
            try:
                code = run(port, json.loads(line))
            except (OSError, LookupError) as problem:
                send(port, {"2": encoded(f"guest: {problem}\n".encode())})
                code = 127
            send(port, {"exit": code})


def run(port, command):
    user = pwd.getpwnam(command["user"])
    environment = {"PATH": PATH, "HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name,
                   "SHELL": user.pw_shell, "LANG": "C.UTF-8", **command["env"]}
    options = {}
    if user.pw_uid != 0:
        environment.setdefault("XDG_RUNTIME_DIR", f"/run/user/{user.pw_uid}")
        options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    with os.fdopen(os.memfd_create("stdin"), "w+b") as stdin:
        stdin.write(binascii.a2b_base64(command["stdin"]))
        stdin.seek(0)
        with Session(user.pw_uid):
            process = subprocess.Popen(command["argv"], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env=environment, cwd=command["cwd"] or user.pw_dir, start_new_session=True,
                                       umask=0o022, **options)
    with process.stdout, process.stderr:
        stream(port, process)
    code = process.wait()
    return code if code >= 0 else 128 - code


class Session:
    """The control group that a command of a user starts in, where control groups are version 2."""

    def __init__(self, uid):
        self.scope = f"{SESSIONS}/user-{uid}.slice/session.scope/cgroup.procs"

    def __enter__(self):
        self.home = None
        if os.path.exists(self.scope):
            with open("/proc/self/cgroup") as file:
                self.home = "/sys/fs/cgroup" + file.read().strip().removeprefix("0::") + "/cgroup.procs"
            move_self(self.scope)

    def __exit__(self, *problem):
        if self.home:
            move_self(self.home)


def move_self(procs):
    with open(procs, "w") as file:
        file.write("0")


def stream(port, process):
    """Passes output on until the process has ended and all that it wrote is read."""
    ended = os.pidfd_open(process.pid)
    with selectors.DefaultSelector() as waiting:
        waiting.register(ended, selectors.EVENT_READ, None)
        for name, pipe in ("1", process.stdout), ("2", process.stderr):
            os.set_blocking(pipe.fileno(), False)
            waiting.register(pipe, selectors.EVENT_READ, name)
        is_over = False
        while not is_over:
            for key, _ in waiting.select():
                if key.data is None:
                    is_over = True
                elif not forward(port, key.data, key.fileobj):
                    waiting.unregister(key.fileobj)
        for name, pipe in ("1", process.stdout), ("2", process.stderr):
            forward(port, name, pipe)
    os.close(ended)


def forward(port, name, pipe):
    """Passes on all that a pipe holds; false at the end, or when it holds nothing."""
    try:
        piece = os.read(pipe.fileno(), 1 << 20)
    except BlockingIOError:
        return False
    if piece:
        send(port, {name: encoded(piece)})
    return bool(piece)


def encoded(data):
    return binascii.b2a_base64(data, newline=False).decode()


def send(port, message):
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(port, data):]


main()
