"""Atoll's extension protocol, version 1, for Python: everything that is not about sandboxes. Standard library only.

A driver is an object with the methods create, open, list and destroy, and pause, resume, resize if its manifest says so:

    serve(driver, "/run/user/1000/mine.sock")

docs/extensions.md has every message. Each connection is a thread of its own.
"""

import contextlib
import json
import os
import selectors
import signal
import socket
import threading

PROTOCOL = 1
LONGEST_LINE = 1 << 20
PIECE = 256 * 1024


class Refused(Exception):
    """What Atoll is told instead of an answer. The codes are those of docs/extensions.md."""

    def __init__(self, code, message, hint=""):
        super().__init__(message)
        self.told = {"code": code, "message": message, "hint": hint}


class Events:
    """Tells every connection that listens that a sandbox has ended by itself."""

    def __init__(self):
        self._lock = threading.Lock()
        self._listeners = set()

    def listen(self, connection):
        with self._lock:
            self._listeners.add(connection)
        try:
            connection.recv(1)  # nothing comes but the end
        except OSError:
            pass
        with self._lock:
            self._listeners.discard(connection)

    def tell_ended(self, sandbox, exit_code=None):
        told = {"ended": sandbox} if exit_code is None else {"ended": sandbox, "exit_code": exit_code}
        line = json.dumps(told).encode() + b"\n"
        with self._lock:
            for connection in self._listeners:
                try:
                    if connection.send(line, socket.MSG_DONTWAIT) != len(line):
                        raise OSError("half of a line")
                except OSError:
                    # Who does not listen comes again, and looks at the list then.
                    with contextlib.suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)


def _send(connection, message):
    connection.sendall(json.dumps(message).encode() + b"\n")


def _read_line(connection):
    """One line, and nothing behind it: after `open` what follows is the agent's."""
    line = bytearray()
    while True:
        seen = connection.recv(64 * 1024, socket.MSG_PEEK)
        if not seen:
            return None
        end = seen.find(b"\n")
        line += connection.recv(len(seen) if end < 0 else end + 1)
        if end >= 0:
            return bytes(line)
        if len(line) > LONGEST_LINE:
            raise Refused("too_large", "a line has at most 1 MiB")


def _carry(left, right):
    """Bytes in both directions until either end closes."""
    with selectors.DefaultSelector() as ready:
        ready.register(left, selectors.EVENT_READ, right)
        ready.register(right, selectors.EVENT_READ, left)
        while True:
            for key, _ in ready.select():
                try:
                    piece = key.fileobj.recv(PIECE)
                    if not piece:
                        return
                    key.data.sendall(piece)
                except OSError:
                    return


class _Server:
    def __init__(self, driver, events):
        self.driver = driver
        self.events = events

    def answer(self, call):
        name = call.pop("call", None)
        if name == "hello":
            if PROTOCOL not in call.get("protocols", []):
                raise Refused("unsupported", f"this extension speaks protocol {PROTOCOL}")
            return {"protocol": PROTOCOL, **self.driver.hello(call.get("configuration", {}))}
        if call.pop("protocol", None) != PROTOCOL:
            raise Refused("unsupported", f"this extension speaks protocol {PROTOCOL}")
        if name not in ("create", "list", "destroy", "pause", "resume", "resize") or not hasattr(self.driver, name):
            raise Refused("unsupported", f"no call {name!r}")
        return getattr(self.driver, name)(**call) or {}

    def serve(self, connection):
        with connection:
            try:
                while (line := _read_line(connection)) is not None:
                    if not self.one_call(connection, line):
                        return
            except Refused as refused:
                _send(connection, {"error": refused.told})
            except OSError:
                pass  # whoever called has left

    def one_call(self, connection, line):
        """False when the connection has served its purpose."""
        try:
            call = json.loads(line)
            if not isinstance(call, dict):
                raise ValueError("a call is an object")
            if call.get("protocol") == PROTOCOL and call.get("call") == "events":
                _send(connection, {"ok": {}})
                self.events.listen(connection)
                return False
            if call.get("protocol") == PROTOCOL and call.get("call") == "open":
                agent, way = self.driver.open(call["id"])
                with agent:
                    _send(connection, {"ok": {"agent": way}})
                    _carry(connection, agent)
                return False
            _send(connection, {"ok": self.answer(call)})
        except Refused as refused:
            _send(connection, {"error": refused.told})
        except (ValueError, TypeError, KeyError) as wrong:
            _send(connection, {"error": {"code": "invalid_argument", "message": f"malformed call: {wrong}", "hint": ""}})
        return True


def serve(driver, path, events, mode=0o600):
    """Until SIGTERM. Sandboxes go on."""
    listener = socket.socket(socket.AF_UNIX)
    if os.path.exists(path):
        os.unlink(path)
    before = os.umask(0o777 & ~mode)
    listener.bind(path)
    os.umask(before)
    listener.listen(128)

    # Awaited, not handled: a handler is only run by this thread, which would not wake up for a signal that another one got.
    # Threads inherit what is blocked; so do programs, which a driver starts with an empty mask.
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    server = _Server(driver, events)
    threading.Thread(target=_accept, args=(listener, server), daemon=True).start()
    signal.sigwait(ends)
    os.unlink(path)
    os._exit(0)


def _accept(listener, server):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=server.serve, args=(connection,), daemon=True).start()
