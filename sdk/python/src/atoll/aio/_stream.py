"""Bytes to and from a daemon over asyncio, and what else the rest of the client needs of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import socket
from typing import Any, AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, TypeVar, Union

from .._patience import Patience
from .._target import Target
from ..errors import ConnectionLostError, UnavailableError

PIECE = 256 * 1024

Source = Union[bytes, Iterable[bytes], AsyncIterable[bytes]]
T = TypeVar("T")
Lock = asyncio.Lock


async def sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


async def pieces_of(source: Source) -> AsyncIterator[bytes]:
    """Of a file that is open, an iterator, or one of asyncio's."""
    if isinstance(source, bytes):
        yield source
    elif hasattr(source, "read"):
        while piece := source.read(PIECE):
            yield piece
    elif hasattr(source, "__aiter__"):
        async for piece in source:
            yield piece
    else:
        for piece in source:
            yield piece


class Stream:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._loop, self._process = asyncio.get_running_loop(), os.getpid()

    async def read(self, patience: Patience) -> bytes:
        """Some bytes; none at the end."""
        return await within(patience, lambda: self._reader.read(PIECE))

    async def write(self, data: bytes, patience: Patience) -> None:
        self._writer.write(data)
        await within(patience, self._writer.drain)

    async def write_end(self) -> None:
        """No more comes from here. TLS cannot say that without closing, and does not."""
        if self._writer.can_write_eof():
            self._writer.write_eof()

    def is_fresh(self) -> bool:
        """Whether it can be used again: of this loop and process, and with nothing to read, not even its end."""
        if self._loop is not asyncio.get_running_loop() or self._process != os.getpid():
            return False
        if self._writer.is_closing() or self._reader.at_eof():
            return False
        return not is_readable(self._writer.get_extra_info("socket"))

    def close(self) -> None:
        with contextlib.suppress(RuntimeError):  # its loop has ended
            self._writer.close()


def is_readable(connection: Any) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


async def within(patience: Patience, work: Callable[[], Awaitable[T]]) -> T:
    left = patience.remaining()
    try:
        return await asyncio.wait_for(work(), left)
    except asyncio.TimeoutError:
        raise patience.exhausted() from None
    except OSError as broken:
        raise ConnectionLostError(f"the connection to the daemon broke: {broken}", code="unavailable", stage="client",
                                  hint="ask again, if asking twice does no harm") from broken


async def connect(target: Target, patience: Patience) -> Stream:
    left = patience.remaining()
    try:
        reader, writer = await asyncio.wait_for(open_connection(target), left)
    except asyncio.TimeoutError:
        raise patience.exhausted() from None
    except OSError as refused:
        raise UnavailableError(f"no daemon answers on {target}: {refused.strerror or refused}", code="unavailable",
                               stage="connect", hint="start one with: atoll serve   (or name another: ATOLL_URL)",
                               retryable=True) from refused
    return Stream(reader, writer)


async def open_connection(target: Target) -> Any:
    if not target.socket:
        return await asyncio.open_connection(target.host, target.port, ssl=target.tls, limit=PIECE)
    connection = socket.socket(socket.AF_UNIX)
    connection.setblocking(False)
    # However long the path is: the directory's descriptor stands for it.
    directory = os.open(os.path.dirname(target.socket), os.O_PATH)
    try:
        await asyncio.get_running_loop().sock_connect(
            connection, f"/proc/self/fd/{directory}/{os.path.basename(target.socket)}")
    except BaseException:
        connection.close()
        raise
    finally:
        os.close(directory)
    return await asyncio.open_connection(sock=connection, limit=PIECE)
