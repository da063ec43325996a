"""A terminal of our own with a program in it: typed on, read from, resized."""

import fcntl
import os
import pty
import select
import struct
import termios
import time


class Terminal:
    def __init__(self, argv, rows=24, columns=80, env=None):
        self.shown = b""
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                os.execve(argv[0], argv, {"PATH": os.environ["PATH"], "TERM": "xterm", **(env or {})})
            finally:
                os._exit(99)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def type(self, text):
        os.write(self.fd, text.encode())

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def modes(self):
        """The local modes of the terminal: whether it echoes, and so on."""
        return termios.tcgetattr(self.fd)[3]

    def read(self, seconds=0.1):
        """What has come meanwhile; None at the end."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return b""
        try:
            piece = os.read(self.fd, 65536)
        except OSError:
            return None
        self.shown += piece
        return piece or None

    def expect(self, text, seconds=20):
        """Reads until `text` is shown, and forgets what came before its end."""
        wanted, deadline = text.encode(), time.monotonic() + seconds
        while wanted not in self.shown:
            if self.read() is None or time.monotonic() > deadline:
                raise AssertionError(f"{text!r} is not shown, but {self.shown[-2000:]!r}")
        seen, _, self.shown = self.shown.partition(wanted)
        return seen.decode(errors="replace")

    def wait(self, seconds=20):
        """Its exit code, when all that it shows is read."""
        deadline = time.monotonic() + seconds
        while self.status is None:
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                while self.read(0.05):
                    pass
            elif time.monotonic() > deadline:
                raise AssertionError(f"it does not end; it shows {self.shown[-2000:]!r}")
        return self.status
