"""Bytes to and from a daemon over a socket, and what else the rest of the client needs without asyncio."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import ssl
import threading
import time
from typing import Any, Iterable, Iterator, Union

from .._patience import Patience
from .._target import Target
from ..errors import ConnectionLostError, DeadlineExceededError, UnavailableError

PIECE = 256 * 1024

Source = Union[bytes, Iterable[bytes]]
Lock = threading.Lock


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def pieces_of(source: Source) -> Iterator[bytes]:
    """Of a file that is open, or an iterator."""
    if isinstance(source, bytes):
        yield source
    elif hasattr(source, "read"):
        while piece := source.read(PIECE):
            yield piece
    else:
        yield from source


class Stream:
    """One thread may read while another writes."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket, self._process = connection, os.getpid()
        self._secure = isinstance(connection, ssl.SSLSocket)

    def read(self, patience: Patience) -> bytes:
        """Some bytes; none at the end."""
        with told(patience):
            if self._secure:
                self._socket.settimeout(patience.remaining())
            else:
                self._wait(select.POLLIN, patience)
            return self._socket.recv(PIECE)

    def write(self, data: bytes, patience: Patience) -> None:
        with told(patience):
            if self._secure:
                self._socket.settimeout(patience.remaining())
                self._socket.sendall(data)
                return
            rest = memoryview(data)
            while rest:
                self._wait(select.POLLOUT, patience)
                with contextlib.suppress(BlockingIOError):
                    rest = rest[self._socket.send(rest, socket.MSG_DONTWAIT):]

    def _wait(self, kind: int, patience: Patience) -> None:
        poll = select.poll()
        poll.register(self._socket, kind)
        left = patience.remaining()
        if not poll.poll(None if left is None else left * 1000):
            raise patience.exhausted()

    def write_end(self) -> None:
        """No more comes from here. TLS cannot say that without closing, and does not."""
        if not self._secure:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_WR)

    def is_fresh(self) -> bool:
        """Whether it can be used again: of this process, and with nothing to read, not even its end."""
        return self._process == os.getpid() and not is_readable(self._socket)

    def close(self) -> None:
        if self._process == os.getpid():
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)  # wakes whoever reads
        self._socket.close()


@contextlib.contextmanager
def told(patience: Patience) -> Iterator[None]:
    """What the socket says, in words of ours."""
    try:
        yield
    except DeadlineExceededError:
        raise
    except socket.timeout:
        raise patience.exhausted() from None
    except (OSError, ValueError) as broken:  # ValueError: somebody has closed it meanwhile
        raise ConnectionLostError(f"the connection to the daemon broke: {broken}", code="unavailable", stage="client",
                                  hint="ask again, if asking twice does no harm") from broken


def is_readable(connection: Any) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def connect(target: Target, patience: Patience) -> Stream:
    left = patience.remaining()
    try:
        return Stream(open_connection(target, left))
    except socket.timeout:
        raise patience.exhausted() from None
    except OSError as refused:
        raise UnavailableError(f"no daemon answers on {target}: {refused.strerror or refused}", code="unavailable",
                               stage="connect", hint="start one with: atoll serve   (or name another: ATOLL_URL)",
                               retryable=True) from refused


def open_connection(target: Target, seconds: Any) -> socket.socket:
    if not target.socket:
        connection = socket.create_connection((target.host, target.port), seconds)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if target.tls:
            connection = target.tls.wrap_socket(connection, server_hostname=target.host)
        connection.settimeout(None)
        return connection
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(seconds)
    # However long the path is: the directory's descriptor stands for it.
    directory = os.open(os.path.dirname(target.socket), os.O_PATH)
    try:
        connection.connect(f"/proc/self/fd/{directory}/{os.path.basename(target.socket)}")
    except BaseException:
        connection.close()
        raise
    finally:
        os.close(directory)
    connection.settimeout(None)
    return connection
