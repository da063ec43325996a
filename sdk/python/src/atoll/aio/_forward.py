"""A port of this machine that stands for one of a sandbox, over asyncio."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Awaitable, Callable, Optional, Set

from ..errors import AtollError

if TYPE_CHECKING:
    from ._ports import PortConnection


class Forward:
    """`error` is why the latest visitor could not be connected, if one could not."""

    def __init__(self, dial: Callable[[], Awaitable[PortConnection]], host: str, port: int) -> None:
        self._dial, self.host, self.port = dial, host, port
        self._visits: Set[asyncio.Task[None]] = set()
        self._server: Optional[asyncio.AbstractServer] = None
        self.error: Optional[AtollError] = None

    async def begin(self) -> None:
        server = await asyncio.start_server(self._visit, self.host, self.port)
        self._server, self.port = server, server.sockets[0].getsockname()[1]

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._visits.add(task)
        try:
            async with await self._dial() as port:
                await both(self._inwards(reader, port), self._outwards(port, writer))
        except AtollError as error:
            self.error = error
        except (OSError, asyncio.CancelledError):
            pass  # the visitor has left, or everybody has to
        finally:
            self._visits.discard(task)
            writer.close()

    async def _inwards(self, reader: asyncio.StreamReader, port: PortConnection) -> None:
        while piece := await reader.read(65536):
            await port.write(piece)
        await port.write_end()

    async def _outwards(self, port: PortConnection, writer: asyncio.StreamWriter) -> None:
        while piece := await port.read():
            writer.write(piece)
            await writer.drain()
        with contextlib.suppress(OSError):
            writer.write_eof()

    async def __aenter__(self) -> Forward:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stops listening and ends every connection."""
        if self._server:
            self._server.close()
        visits = list(self._visits)
        for task in visits:
            task.cancel()
        await asyncio.gather(*visits, return_exceptions=True)


async def both(one: Awaitable[None], other: Awaitable[None]) -> None:
    """Until both are done; when one fails, the other is given up."""
    tasks = [asyncio.ensure_future(one), asyncio.ensure_future(other)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
