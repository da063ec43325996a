# Generated from aio/_terminal.py by sdk/generate.py. Change that.
"""A command at a terminal, over a WebSocket (RFC 6455, protocol atoll.exec.v1)."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from typing import Any, Dict, Mapping, Optional, Union

from .._operation import Operation
from .._patience import Patience
from ..errors import ConnectionLostError, InternalError, from_problem
from ..results import Result, result_of
from ._http import Connection
from ._stream import Lock
from ._transport import Transport

PROTOCOL = "atoll.exec.v1"
MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
LONGEST_MESSAGE = 4 * 1024 * 1024
LARGEST_WRITE = 256 * 1024


def masked(payload: bytes, mask: bytes) -> bytes:
    size = len(payload)
    pad = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(pad, "big")).to_bytes(size, "big")


def open_terminal(transport: Transport, operation: Operation, path: Mapping[str, Any], query: Mapping[str, Any],
                        first: Optional[Dict[str, Any]]) -> Terminal:
    key = base64.b64encode(os.urandom(16)).decode()
    connection, headers = transport.upgrade(
        operation, "websocket", path=path, query=query,
        header={"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key, "Sec-WebSocket-Protocol": PROTOCOL})
    expected = base64.b64encode(hashlib.sha1((key + MAGIC).encode()).digest()).decode()
    if headers.get("sec-websocket-accept") != expected:
        connection.close()
        raise InternalError("the answer is not that of a WebSocket", stage="client")
    terminal = Terminal(connection, transport.timeout)
    try:
        if first is not None:
            terminal.send_json({"exec": first})
        terminal.begin()
    except BaseException:
        terminal.close()
        raise
    return terminal


class Terminal:
    """Iterate to see what it shows; write what is typed. `result` is there once it has ended."""

    def __init__(self, connection: Connection, timeout: float) -> None:
        self._connection, self._timeout = connection, timeout
        self._lock = Lock()
        self._read_patience = Patience(math.inf, whole=False)
        self.process = 0
        self.pid = 0
        self.result: Optional[Result] = None

    def begin(self) -> None:
        kind, payload = self._frame(Patience(self._timeout, whole=True))
        start = json.loads(payload) if kind == TEXT else {}
        if start.get("type") == "error":
            raise from_problem(start["problem"])
        if start.get("type") != "start":
            raise InternalError("a terminal does not begin with its start", stage="client")
        self.process, self.pid = start.get("process", 0), start.get("pid", 0)

    # Frames.

    def _send(self, kind: int, payload: bytes) -> None:
        size = len(payload)
        if size < 126:
            head = bytes([0x80 | kind, 0x80 | size])
        elif size < 65536:
            head = bytes([0x80 | kind, 0x80 | 126]) + size.to_bytes(2, "big")
        else:
            head = bytes([0x80 | kind, 0x80 | 127]) + size.to_bytes(8, "big")
        mask = os.urandom(4)
        with self._lock:
            self._connection.stream.write(head + mask + masked(payload, mask), Patience(self._timeout, whole=False))

    def _frame(self, patience: Patience) -> Any:
        """(kind, payload) of the next message; pings are answered on the way."""
        message, kind = b"", 0
        while True:
            first, second = self._connection.exactly(2, patience)
            size = second & 0x7F
            if size >= 126:
                size = int.from_bytes(self._connection.exactly(2 if size == 126 else 8, patience), "big")
            if second & 0x80 or first & 0x70 or size + len(message) > LONGEST_MESSAGE:
                raise InternalError("the daemon sent a frame that no server may send", stage="client")
            payload = self._connection.exactly(size, patience)
            opcode = first & 0x0F
            if opcode == PING:
                self._send(PONG, payload)
            elif opcode in (CLOSE, PONG):
                if opcode == CLOSE:
                    return CLOSE, payload
            else:
                kind, message = opcode or kind, message + payload
                if first & 0x80:
                    return kind, message

    def send_json(self, message: Mapping[str, Any]) -> None:
        self._send(TEXT, json.dumps(message).encode())

    # What people do.

    def write(self, data: Union[str, bytes]) -> None:
        data = data.encode() if isinstance(data, str) else data
        for at in range(0, len(data), LARGEST_WRITE):
            self._send(BINARY, data[at:at + LARGEST_WRITE])

    def resize(self, rows: int, cols: int) -> None:
        self.send_json({"resize": {"rows": rows, "cols": cols}})

    def signal(self, signal: str) -> None:
        self.send_json({"signal": signal})

    def close_stdin(self) -> None:
        self.send_json({"eof": True})

    def __iter__(self) -> Terminal:
        return self

    def __next__(self) -> bytes:
        while self.result is None:
            kind, payload = self._frame(self._read_patience)
            if kind == BINARY:
                return bytes(payload[1:])
            if kind == CLOSE:
                raise ConnectionLostError("the terminal was closed before its command ended", code="unavailable",
                                          stage="client", hint="attach to the process again")
            event = json.loads(payload)
            if event.get("type") == "exit":
                self.result = result_of(event)
                self.close()
            elif event.get("type") == "error":
                self.close()
                raise from_problem(event["problem"])
        raise StopIteration

    def wait(self) -> Result:
        """Passes over what it still shows, and tells how it ended."""
        while self.result is None:
            try:
                self.__next__()
            except StopIteration:
                break
        assert self.result is not None
        return self.result

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()
